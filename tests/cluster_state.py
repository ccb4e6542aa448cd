"""What a scheduler knows of fits."""

import time

# A scheduler learns of what is taken back some moments later.
MOST_SECONDS = 120.0


def tasks_of_fits(client):
    """Names of the tasks of fits that a scheduler knows."""
    return client.run_on_scheduler(
        lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks if str(key).startswith("ssgp-")]
    )


def assert_no_task_is_left(client):
    """Nor any that could be run again."""
    wait_until(lambda: not tasks_of_fits(client))
    assert tasks_of_fits(client) == []


def wait_until(true):
    """Wait for a condition; go on where it does not come true."""
    deadline = time.monotonic() + MOST_SECONDS
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
