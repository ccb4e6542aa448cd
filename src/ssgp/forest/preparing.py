"""What a fit does with rows before a forest is fitted to them: it looks for atoms, chooses units and draws a sample."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget
from ssgp._utils.checks import WeightTotals, check_total_weight
from ssgp._utils.checksums import checksum
from ssgp._utils.progress import RowCounter
from ssgp._utils.sampling import random_rows
from ssgp._utils.warning import warn_user
from ssgp._version import __version__
from ssgp.forest.atom_choice import find_atoms, kind_elsewhere
from ssgp.forest.atoms import Atoms, LabelledRows
from ssgp.forest.builder import LEAST_ROWS
from ssgp.forest.fit import MakeHooks, fit_forest, learn_more, refit_forest
from ssgp.forest.fitted import FittedForest
from ssgp.forest.settings import ForestParameters, ForestSettings, shares_of, sizes_of
from ssgp.forest.target_choice import ChoosingRows, choose_map
from ssgp.forest.targets import possible_maps
from ssgp.rows.isolated_values import clean_range
from ssgp.rows.repeats import repeats_together
from ssgp.rows.row_files import StoredTable
from ssgp.rows.row_tables import MemoryTable, RowTable
from ssgp.rows.standardizer import Standardizer
from ssgp.rows.training_rows import TrainingRows
from ssgp.spectrum.parameters import Parameters

__all__ = ["MakeTable", "Preparation", "Stored", "fit_more_rows"]

# Rows are kept for `partial_fit` where they take no more, and `keep_rows` is "auto".
KEPT_BYTES = 4_000_000
# Rows that are not in memory, and what makes a table of them that trees can be fitted to.
Stored = TypeVar("Stored", bound=StoredTable)
MakeTable = Callable[[Stored, Standardizer, int, Callable[[int], Any]], RowTable]
# Settings that change nothing in what is learned.
NOT_IN_THE_MODEL = {"encoder", "keep_rows", "n_jobs", "random_state", "verbose", "warm_start"}


class FoundAtoms(NamedTuple):
    """Seed of a fit, and the atoms of its target, None where it has none."""

    seed: int
    atoms: Atoms | None = None


@dataclass(frozen=True)
class Preparation:
    """A fit to rows in the user's units that have been checked and are in numbers.

    Attributes
    ----------
    asked : ForestParameters
        Parameters of the estimator.
    budget : Budget
        Time, and what is kept.
    make_hooks : callable
        See `ssgp.forest.fit.fit_forest`.
    last : FittedForest or None
        The forest that the fit goes on from.
    keep_rows : bool or "auto"
        Whether the forest keeps its rows, where they are in memory.
    kind : "groups", "time" or None
        What labels of rows are.
    """

    asked: ForestParameters
    budget: Budget
    make_hooks: MakeHooks
    last: FittedForest | None = None
    keep_rows: bool | Literal["auto"] = "auto"
    kind: Literal["groups", "time"] | None = None

    def fit_stored(
        self, stored: Stored, make_table: MakeTable[Stored], found: FoundAtoms | None = None
    ) -> FittedForest:
        """Fit to rows that are not in memory.

        Parameters
        ----------
        stored : StoredTable
            The rows.
        make_table : callable
            Takes them, their units, bytes that sorted rows may take, and who is told how many rows have been fitted,
            to a table that trees can be fitted to.
        found : FoundAtoms or None
            Seed of the fit and atoms, where they are known, and the rows none of theirs.
        """
        shares = shares_of(self.asked, stored.n_inputs)
        if stored.n_rows <= shares.sampled_rows:
            label = stored.labels_of(np.arange(stored.n_rows)) if stored.labelled else None
            return self.fit_rows(*stored.read(0, stored.n_rows), label, found)
        seed = self._draw_seed() if found is None else found.seed
        places = random_rows(stored.n_rows, shares.sampled_rows, seed)
        X, y, weight = stored.take(places)
        labels_of_sample = stored.labels_of(places) if stored.labelled else None
        if found is None:
            found = self._find_atoms(X, y, weight, labels_of_sample, np.arange(len(y)), seed)
            if found.atoms is not None:
                del X, y, weight
                with stored.elsewhere(found.atoms.values) as others:
                    return self.fit_stored(others, make_table, found)
        chosen_by = ChoosingRows.of(X, y, weight, self._groups(labels_of_sample), np.arange(len(y)))
        units = self._choose_units(X, y, weight, chosen_by, found, places, stored.extremes)
        sample = units.rows(X, y, weight)
        del X, y, weight, chosen_by
        sizes = sizes_of(self.asked, stored.n_rows, stored.n_inputs)
        n_fitted = sizes.n_trees * stored.n_rows * (1 + sizes.refits(stored.n_rows))
        table = make_table(stored, units, shares.part_bytes, RowCounter(n_fitted))
        training = TrainingRows(sample, table, places)
        if labels_of_sample is not None:
            training = training.labelled(self.kind, labels_of_sample, stored.labels)
        return self._fit(training, units, found)[0]

    def fit_rows(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        label: Array | None = None,
        found: FoundAtoms | None = None,
    ) -> FittedForest:
        """Fit to rows in memory; to those elsewhere, where atoms are found."""
        shares = shares_of(self.asked, X.shape[1])
        if found is None:
            seed = self._draw_seed()
            sampled = random_rows(len(y), min(len(y), shares.sampled_rows), seed)
            found = self._find_atoms(X, y, weight, label, sampled, seed)
        # Numbers of the rows at no atom, and of a sample of these.
        numbers = np.arange(len(y)) if found.atoms is None else np.flatnonzero(~found.atoms.are_at(y))
        places = random_rows(len(numbers), min(len(numbers), shares.sampled_rows), found.seed)
        chosen_by = ChoosingRows.of(X, y, weight, self._groups(label), numbers[places])
        label = None if label is None else label[numbers]

        def taken(rows: Indices) -> tuple[Array, Array, Array | None]:
            return X[rows], y[rows], None if weight is None else weight[rows]

        if len(places) == len(numbers):
            all_of_them = (X, y, weight) if found.atoms is None else taken(numbers)
            units = self._choose_units(*all_of_them, chosen_by, found, numbers)
            rows = units.rows(X, y, weight, numbers[places], np.array([0, len(places)]))
            training = TrainingRows.in_random_order(rows)
            label = None if label is None else label[places]
        else:
            extremes = float(y[numbers].min()), float(y[numbers].max())
            units = self._choose_units(*taken(numbers[places]), chosen_by, found, numbers[places], extremes)
            rows = units.rows(X, y, weight, numbers, np.array([0, len(numbers)]))
            training = TrainingRows.of(MemoryTable(rows), places)
        if label is not None:
            training = training.labelled(self.kind, label[training.places], lambda: [label])
        fitted, table = self._fit(training, units, found)
        rows = table.rows if isinstance(table, MemoryTable) else rows
        keep = rows.X.nbytes + rows.y.nbytes <= KEPT_BYTES if self.keep_rows == "auto" else self.keep_rows
        return replace(fitted, rows=rows if keep else None)

    def _groups(self, label: Array | None) -> Array | None:
        """Labels that are groups."""
        return label if self.kind == "groups" else None

    def _draw_seed(self) -> int:
        """Seed of the fit."""
        seed = check_random_state(self.asked.random_state).randint(np.iinfo(np.int32).max)
        return self.budget.kept.same_seed(seed) if self.asked.random_state is None else seed

    def _settings(self, n_rows: int, n_inputs: int, seed: int, start: Parameters | None = None) -> ForestSettings:
        return ForestSettings.of(self.asked, n_rows, n_inputs, seed, start)

    def _find_atoms(
        self, X: Array, y: Array, weight: Array | None, label: Array | None, places: Indices, seed: int
    ) -> FoundAtoms:
        """Atoms of the target, told from rows of these places, in random order."""
        last = None if self.last is None else self.last.atoms
        if self.asked.atoms is None or (self.last is not None and last is None):
            return FoundAtoms(seed)
        rows = LabelledRows(X, y, weight, label, self.kind == "time")
        settings = self._settings(len(places), X.shape[1], seed)
        return FoundAtoms(
            seed, find_atoms(self.asked.atoms, rows, places, self.asked.target, settings, self.budget, last)
        )

    def _choose_units(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        chosen_by: ChoosingRows,
        found: FoundAtoms,
        places: Indices,
        extremes: tuple[float, ...] = (),
    ) -> Standardizer:
        """Units of the last fit, where this one goes on from it, or of these rows.

        They have `places` in their table; where they are a sample of it, its least and largest targets are `extremes`.
        """
        if self.last is not None:
            return self.last.units
        settings = self._settings(len(chosen_by.y), X.shape[1], found.seed)
        y_range = clean_range(y, extremes) or (-np.inf, np.inf)
        within = np.clip(y, *y_range)
        least = max(y_range[0], min((*extremes, float(y.min()))))
        chosen_by = replace(chosen_by, y=np.clip(chosen_by.y, *y_range))
        target = self.asked.target if found.atoms is None else kind_elsewhere(self.asked.target, within, least)
        target_map = choose_map(possible_maps(target, within, least), chosen_by, settings, self.budget)
        return Standardizer.fit(X, y, weight, True, target_map, places, extremes)

    def _fit(self, rows: TrainingRows, units: Standardizer, found: FoundAtoms) -> tuple[FittedForest, RowTable]:
        """A forest, and the table it was fitted to: the one that was given, or each row once where some are copies."""
        given, start = rows, None if self.last is None else self.last.parameters
        self.budget.kept.begin(lambda: self._identity(given, found))
        rows = repeats_together(rows) if rows.groups is None else rows
        _warn_of_few_rows(rows.table.n_rows)
        settings = self._settings(rows.table.n_rows, rows.sample.X.shape[1], found.seed, start)
        fitted = fit_forest(rows, units, settings, self.budget, start, self.make_hooks, found.atoms)
        kind = None if given.groups is None else "time" if given.ordered else "groups"
        return replace(fitted, held_out_by=kind), rows.table

    def _identity(self, rows: TrainingRows, found: FoundAtoms) -> dict[str, Any]:
        """Facts that have to be the same for a fit to go on from a checkpoint."""
        asked = {name: value for name, value in self.asked.get_params(False).items() if name not in NOT_IN_THE_MODEL}
        return {
            "seed": int(found.seed),
            "number of rows": rows.table.n_rows,
            **asked,
            "checksums of inputs, targets and weights": rows.table.checksums(),
            "checksum of groups": checksum(rows.groups),
            "checksum of the start": None if self.last is None else checksum(self.last.parameters.flat),
            "version of ssgp": __version__,
        }


def fit_more_rows(
    last: FittedForest,
    X: Array,
    y: Array,
    weight: Array | None,
    asked: ForestParameters,
    n_steps: int,
    make_hooks: MakeHooks,
) -> FittedForest:
    """The last forest, which has kept its rows, with more of them; after so many more learning steps, another one."""
    assert last.rows is not None
    if last.atoms is not None:
        elsewhere = ~last.atoms.are_at(y)
        X, y, weight = X[elsewhere], y[elsewhere], None if weight is None else weight[elsewhere]
    rows = last.rows.append(last.units.rows(X, y, weight))
    if rows.weight is not None:
        check_total_weight(WeightTotals.of(rows.weight), growing=True)
    settings = ForestSettings.of(asked, len(rows.y), rows.X.shape[1], last.seed, last.parameters)
    if not n_steps:
        return refit_forest(last, rows, settings)
    # New rows join at random places: what is held out must not be the newest.
    rows = rows.reorder(np.random.default_rng(last.seed).permutation(len(rows.y)), rows.bounds)
    most_sampled = shares_of(asked, rows.X.shape[1]).sampled_rows
    training = repeats_together(TrainingRows.in_random_order(rows, most_sampled))
    rows = training.table.rows if isinstance(training.table, MemoryTable) else rows
    return replace(learn_more(last, training, settings, n_steps, make_hooks), rows=rows)


def _warn_of_few_rows(n_rows: int) -> None:
    if n_rows < LEAST_ROWS:
        warn_user(
            f"the forest is fitted to {n_rows} {'row' if n_rows == 1 else 'rows'}: of fewer than {LEAST_ROWS} none are "
            "held out to learn from how far predictions are off, and intervals may be much too narrow"
        )
