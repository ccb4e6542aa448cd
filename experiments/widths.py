"""When it helps to average over more draws: predictions from the prior, on the way, and at the end of learning."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.local_predictions import BlockedRows
from experiments.protocols import BlockLabels
from experiments.study import Row
from ssgp import SVBSSGPRegressor
from ssgp.datasets import Split
from ssgp.metrics import rmse

__all__ = ["AVERAGED", "unlearned", "width_rows"]

Array = NDArray[np.float64]

# Numbers of draws that are averaged, and steps after which they are.
AVERAGED = (1, 2, 5, 10, 20)
STEPS = (30, 100, 300, 1000)
# A step of this size leaves parameters where they are.
NO_RATE = 1e-12
DRAW_SEED = 0


def unlearned(model: SVBSSGPRegressor, fit: Callable[[Any], Any]) -> SVBSSGPRegressor:
    """The regressor that a model of one step is before it: the step is made too short to be one."""
    return fit(model.set_params(learn_hyperparameters=False, learning_rate=NO_RATE))


def width_rows(
    data: Split, blocks: BlockLabels, n_draws: int, make: Callable[[int], Any], fit: Callable[..., Any]
) -> list[Row]:
    """Errors at gamma = 0 by the number of draws that are averaged and the width of what they are drawn from.

    The column ``width`` is the deviation of a frequency relative to that of its prior, a root mean square; ``averaged``
    the number of draws. Errors are means over as many disjoint groups of draws as there are. Iteration 0 has draws from
    the prior, iterations from then on are steps, and -1 is the end.

    Parameters
    ----------
    data, blocks
        Rows in their blocks.
    n_draws : int
        Draws in all.
    make, fit : callable
        Take a number of steps to an estimator, and that to the fitted one.
    """
    rows, found = BlockedRows.of(data, blocks), list[Row]()
    for steps, model, frequencies, width in _states(n_draws, make, fit):
        ridge = model.n_frequencies * model.noise_variance_ / model.signal_variance_
        means = np.array([rows.local_moments(draw, ridge)[0] for draw in frequencies])
        common = {"gamma": 0.0, "iteration": steps, "steps": int(model.n_iter_), "converged": steps < 0}
        common |= {"width": width, "mnlp": np.nan, "coverage": np.nan, "train_s": 0.0}
        found += [{**common, "averaged": r, "rmse": _error(rows.y_test, means, r)} for r in AVERAGED if r <= n_draws]
    return found


def _error(y: Array, means: Array, r: int) -> float:
    """RMSE of the mean of r predictions, averaged over the groups of r among all (draws, n*)."""
    groups = means[: len(means) // r * r].reshape(-1, r, len(y)).mean(axis=1)
    return float(np.mean([rmse(y, group) for group in groups]))


def _states(
    n_draws: int, make: Callable[[int], Any], fit: Callable[..., Any]
) -> Iterator[tuple[int, Any, Array, float]]:
    """Steps, model, frequencies (draws, m, d) and their width: of the prior, on the way, and at the end."""
    start, rng = unlearned(make(1), fit), np.random.default_rng(DRAW_SEED)
    size = (n_draws, start.n_frequencies, len(start.lengthscale_))
    yield 0, start, rng.standard_normal(size) * _prior_deviation(start), 1.0
    seen = list[tuple[int, Any]]()

    def monitor(n_steps: int, snapshot: Callable[[], Any]) -> None:
        if n_steps in STEPS:
            seen.append((n_steps, snapshot()))

    end = fit(make(0), monitor=monitor)
    for steps, model in [*seen, (-1, end)]:
        posterior = model.posterior_
        frequencies, _ = posterior.split(posterior.sample(n_draws, np.random.default_rng(DRAW_SEED)))
        yield steps, model, frequencies, _width(model)


def _prior_deviation(model: Any) -> Array:  # noqa: ANN401  a fitted sVBSSGP
    """Deviations (d,) of a frequency under the prior."""
    return 1.0 / (2.0 * np.pi * model.lengthscale_)


def _width(model: Any) -> float:  # noqa: ANN401
    """Deviation of the frequencies under the posterior over that under the prior, a root mean square."""
    deviation = np.sqrt((model.posterior_.scale**2).sum(axis=1))
    m, d = model.n_frequencies, len(model.lengthscale_)
    relative = deviation[: m * d].reshape(m, d) / _prior_deviation(model)
    return float(np.sqrt(np.mean(relative**2)))
