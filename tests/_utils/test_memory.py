"""How much memory there is, as control groups tell."""

import pytest

from ssgp._utils import memory
from ssgp._utils.memory import available_memory


@pytest.fixture
def group(tmp_path, monkeypatch):
    """Write what a control group says."""
    monkeypatch.setattr(memory, "CONTROL_GROUP", str(tmp_path))

    def say(most, used, cached):
        (tmp_path / "memory.max").write_text(f"{most}\n")
        (tmp_path / "memory.current").write_text(f"{used}\n")
        (tmp_path / "memory.stat").write_text(f"anon {used - cached}\nfile {cached}\ninactive_file {cached}\n")

    return say


def test_files_in_the_cache_make_room(group):
    group(most=10_000_000, used=9_000_000, cached=8_000_000)
    assert available_memory() == 9_000_000


def test_there_is_never_less_than_none(group):
    group(most=1_000_000, used=2_000_000, cached=0)
    assert available_memory() == 0


def test_a_group_without_a_limit(group):
    group(most="max", used=10, cached=0)
    assert available_memory() > 10_000_000
