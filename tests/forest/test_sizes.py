"""Sizes that nobody has to choose."""

import re
from itertools import pairwise

import pytest

from ssgp.forest.sizes import AmountOfMemory, ForestSizes, MemoryShares, choose_sizes

ROWS = [1, 2, 3, 10, 19, 20, 21, 50, 99, 100, 400, 1999, 2000, 2001, 3000, 10_000, 99_999, 100_000, 10**6, 10**8]

PLENTY = MemoryShares(model_bytes=2**40, sampled_rows=10**9, part_bytes=2**30)


def sizes(n_rows, n_inputs=8, memory=PLENTY, **given) -> ForestSizes:
    return choose_sizes(n_rows, n_inputs, memory, **given)


@pytest.mark.parametrize("n_inputs", [1, 8, 90])
def test_more_rows_never_mean_a_smaller_model(n_inputs):
    found = [sizes(n, n_inputs) for n in ROWS]
    for smaller, larger in pairwise(found):
        assert larger.n_frequencies >= smaller.n_frequencies
        assert larger.n_held_out >= smaller.n_held_out


@pytest.mark.parametrize("n_inputs", [1, 8, 90])
@pytest.mark.parametrize("n_rows", ROWS)
def test_every_size_is_within_bounds(n_rows, n_inputs):
    found = sizes(n_rows, n_inputs)
    assert 30 <= found.n_frequencies <= 100
    assert 4 <= found.n_trees <= 32
    assert 1 <= found.n_draws <= found.n_trees
    assert found.depth >= 0
    assert 2**found.depth <= max(1, n_rows)
    assert found.max_iter >= 1
    assert found.n_held_out <= max(1, n_rows // 10)


@pytest.mark.parametrize("n_inputs", [1, 2, 8, 20, 90])
@pytest.mark.parametrize("n_sketches", [1, 3])
@pytest.mark.parametrize("n_rows", [10_000, 50_000, 10**6, 10**7])
def test_models_take_at_most_half_of_the_table_or_four_megabytes(n_rows, n_sketches, n_inputs):
    """Two bytes for each entry of each leaf's weights and sketches, against eight for each of the table's."""
    found = sizes(n_rows, n_inputs, n_sketches=n_sketches)
    entries = found.n_trees * 2**found.depth * (1 + n_sketches) * (2 * found.n_frequencies + 1 + n_inputs)
    assert 2 * entries <= max(0.5 * 8 * n_rows * (n_inputs + 1), 4e6)


@pytest.mark.parametrize("n_rows", [10_000, 10**6])
def test_what_is_set_is_kept(n_rows):
    found = sizes(n_rows, n_frequencies=17, n_trees=5, leaf_size=333, max_iter=42)
    assert (found.n_frequencies, found.n_trees, found.max_iter) == (17, 5, 42)
    assert 333 <= n_rows / 2**found.depth < 666
    assert found.n_draws <= 5


def test_leaves_are_as_many_as_fit_and_a_power_of_two():
    for n_rows, leaf_size, depth in [(1000, 1000, 0), (1000, 500, 1), (1000, 501, 0), (2048, 2, 10), (10, 100, 0)]:
        assert sizes(n_rows, leaf_size=leaf_size).depth == depth


def test_every_leaf_can_have_a_row_though_a_tenth_is_held_out():
    assert [sizes(n_rows, leaf_size=1).depth for n_rows in (1024, 1136, 1137)] == [9, 9, 10]


def test_trees_share_features_on_large_tables_only():
    few, many = sizes(50_000), sizes(10**6)
    assert few.n_draws == few.n_trees
    assert many.n_draws < many.n_trees


def test_folds_are_of_different_rows():
    for n_rows in range(1, 6000):
        found = sizes(n_rows)
        assert found.n_folds * found.n_held_out <= n_rows


def test_one_row_is_not_held_out():
    one = sizes(1)
    assert (one.depth, one.n_held_out, one.n_folds) == (0, 0, 0)


def test_more_sketches_mean_larger_leaves():
    assert sizes(10**6, n_sketches=20).depth < sizes(10**6).depth


@pytest.mark.parametrize("n_rows", [10**7, 10**8, 10**9])
@pytest.mark.parametrize("n_inputs", [1, 8, 90])
def test_a_model_keeps_to_its_memory_whatever_the_rows(n_rows, n_inputs):
    found = sizes(n_rows, n_inputs, MemoryShares(2**29, 4_000_000, 2**26))
    numbers = found.n_trees * 2**found.depth * 2 * (2 * found.n_frequencies + 1 + n_inputs)
    assert 2 * numbers <= 2**29
    assert n_rows == 10**7 or 2**27 <= 2 * numbers


@pytest.mark.parametrize("n_inputs", [1, 8, 90, 1000])
@pytest.mark.parametrize("memory", [2**26, 2**31, 2**36])
def test_memory_is_shared_out(memory, n_inputs):
    shares = MemoryShares.of(memory, n_inputs)
    assert shares.model_bytes + 4 * shares.part_bytes <= memory / 2
    least = min(50_000, 50_000 * 300 // n_inputs)
    assert least <= shares.sampled_rows <= 4_000_000
    assert shares.sampled_rows == least or 4 * (n_inputs + 1) * shares.sampled_rows <= memory / 8


@pytest.mark.parametrize("leaf_size", ["auto", 1, 20])
def test_every_leaf_has_sampled_rows_to_be_placed_by(leaf_size):
    found = sizes(10**8, 20, MemoryShares(2**40, 50_000, 2**20), leaf_size=leaf_size)
    assert 50_000 / 2**found.depth >= 8
    assert sizes(3000, 20, MemoryShares(2**40, 50_000, 2**20), leaf_size=1).depth == 11


@pytest.mark.parametrize("n_rows", [2000, 20_000, 200_000])
@pytest.mark.parametrize("n_inputs", [301, 1000, 5000, 50_000])
def test_models_of_wide_tables_take_at_most_half_of_the_table_or_four_megabytes(n_rows, n_inputs):
    """Leaves of at most 100 linear functions, cuts and frequencies of four bytes per input."""
    found = sizes(n_rows, n_inputs, MemoryShares.of(2**36, n_inputs))
    leaves = found.n_trees * 2**found.depth * (2 * 2 * (2 * found.n_frequencies + 101) + 4 * n_inputs)
    draws = 4 * found.n_draws * (n_inputs + 1) * (2 * found.n_frequencies + 1)
    half = max(0.5 * 8 * n_rows * (n_inputs + 1), 4e6)
    assert leaves <= half or found.depth == 0
    assert draws <= half or found.n_draws == 1


def test_fewer_frequencies_are_taken_where_memory_is_short():
    plenty, little = (sizes(10**6, 90, MemoryShares.of(memory, 90)) for memory in (2**31, 2**26))
    assert plenty.n_frequencies == 100
    assert 30 <= little.n_frequencies < 100
    assert little.trees_at_once == 1 < plenty.trees_at_once


def number_after(words, error):
    found = re.search(rf"{words} ([\d,]+)", str(error.value))
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize(
    ("n_inputs", "given", "memory"), [(8, {"n_frequencies": 2000, "leaf_size": 5000}, 2**31), (5000, {}, 2**26)]
)
def test_what_needs_more_memory_is_refused_with_a_way_out_that_works(n_inputs, given, memory):
    with pytest.raises(ValueError, match="max_memory") as error:
        sizes(20_000, n_inputs, MemoryShares.of(memory, n_inputs), **given)
    enough = number_after("raise max_memory to", error)
    assert sizes(20_000, n_inputs, MemoryShares.of(enough, n_inputs), **given).trees_at_once == 1
    if given:
        fewer = number_after("set n_frequencies to at most", error)
        sizes(20_000, n_inputs, MemoryShares.of(memory, n_inputs), **given | {"n_frequencies": fewer})
        with pytest.raises(ValueError, match="max_memory"):
            sizes(20_000, n_inputs, MemoryShares.of(memory, n_inputs), **given | {"n_frequencies": fewer + 1})
    else:
        assert "give fewer columns" in str(error.value)


@pytest.mark.parametrize(
    ("text", "n_bytes"), [("64MiB", 2**26), ("2 GB", 2e9), ("1.5gib", 3 * 2**29), ("70000 kB", 7e7)]
)
def test_memory_may_have_a_unit(text, n_bytes):
    assert MemoryShares.of(text, 8) == MemoryShares.of(n_bytes, 8)
    assert AmountOfMemory().is_satisfied_by(text)


@pytest.mark.parametrize(
    "text", ["", "4", "63MiB", "512 kB", "-4GB", "1e9", "1..5GB", ".GB", "4GiBs", "9" * 400 + "TB"]
)
def test_amounts_that_are_none(text):
    assert not AmountOfMemory().is_satisfied_by(text)


@pytest.mark.parametrize("n_inputs", [301, 1000, 5000])
@pytest.mark.parametrize("n_rows", ROWS)
def test_the_least_memory_of_wide_tables_is_what_the_documentation_says(n_rows, n_inputs):
    least = max(2**26, min(640 * 2**20, 32 * n_rows * n_inputs + 2**25))
    assert sizes(n_rows, n_inputs, MemoryShares.of(least, n_inputs)).trees_at_once >= 1


@pytest.mark.parametrize(
    ("memory", "n_rows", "n_inputs", "left_out"),
    [
        (2**31, 10**7, 8, 1_200_000),
        (2**27, 10**7, 8, 2**25 // 328),
        (2**31, 10**7, 90, 2**29 // 1640),
        (2**30, 10**7, 1000, 50_000),
        (2**30, 40_000, 1000, 1_200_000),
    ],
    ids=["plenty", "little memory", "many inputs", "least", "few rows"],
)
def test_as_many_rows_are_left_out_in_turn_as_a_quarter_of_the_memory_holds(memory, n_rows, n_inputs, left_out):
    assert sizes(n_rows, n_inputs, MemoryShares.of(memory, n_inputs)).n_left_out == left_out
