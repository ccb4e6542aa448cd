"""Which values of a target are atoms: found by how often they are there, and kept if held-out rows are better off."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, seconds_of
from ssgp.distributions.atoms import AtomDistribution
from ssgp.distributions.base import Distribution
from ssgp.forest.atoms import Atoms, LabelledRows, at_atoms, fit_atoms
from ssgp.forest.fitted import FittedForest
from ssgp.forest.settings import ForestSettings
from ssgp.forest.target_choice import LEAST_ROWS, TIME_SHARE, ChoosingRows, in_units, small_forest
from ssgp.forest.targets import Target, in_single_precision, possible_maps
from ssgp.rows.isolated_values import clean_range
from ssgp.rows.target_maps import TargetMap

__all__ = ["AtomOptions", "AtomSetting", "find_atoms", "given_values", "kind_elsewhere"]

# What the parameter `atoms` may be.
AtomSetting = Literal["auto"] | float | list[float] | tuple[float, ...] | None

# Values are looked at that have so large a share of the weight, so many times that of the most frequent other, up to so
# many of them, if other rows are so many, and so many different ones.
LEAST_SHARE, LEAST_TIMES, MOST_ATOMS = 0.1, 3.0, 3
LEAST_ELSEWHERE, LEAST_DISTINCT = 100, 5
# Rows held out must have a lower CRPS by so many standard errors. Means may be worse by chance, or by little: not by as
# many standard errors and by so large a share of the squared error.
LEAST_ERRORS, WORSE_SHARE = 2.0, 0.05


class AtomOptions(StrOptions):
    """A number or several, or "auto"."""

    def __init__(self) -> None:
        super().__init__({"auto"})

    def is_satisfied_by(self, val: Any) -> bool:  # noqa: ANN401
        """Whether it is one."""
        return super().is_satisfied_by(val) or (not isinstance(val, str) and given_values(val) is not None)

    def __str__(self) -> str:
        return f"{super().__str__()}, a number, or a list of different numbers"


def given_values(setting: Any) -> Array | None:  # noqa: ANN401
    """Values that a setting names, ascending; none for "auto", and None where it is something else."""
    numbers = [] if setting is None or isinstance(setting, str) else setting
    numbers = list(numbers) if isinstance(numbers, list | tuple | np.ndarray) else [numbers]
    if not all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in numbers):
        return None
    values = np.unique(np.array(numbers, dtype=float))
    return values if np.isfinite(values).all() and len(values) == len(numbers) else None


def find_atoms(
    setting: AtomSetting,
    rows: LabelledRows,
    places: Indices,
    target: Target,
    settings: ForestSettings,
    budget: Budget,
    last: Atoms | None,
) -> Atoms | None:
    """Atoms of a target, with their trees, told from some rows; None where there are none.

    Parameters
    ----------
    setting : AtomSetting
        As the parameter.
    rows : LabelledRows
        Rows of the table.
    places : int array of shape (n,)
        Numbers of those to look at, in random order.
    target : Target
        What targets are.
    settings : ForestSettings
        Those of the fit.
    budget : Budget
        Time of the fit.
    last : Atoms or None
        Those of the fit that this one goes on from.
    """
    y = rows.y[places]
    if last is not None:
        values = last.values
    elif isinstance(setting, str):
        values = _frequent_values(y, None if rows.weight is None else rows.weight[places])
    else:
        given = given_values(setting)
        values = np.empty(0) if given is None else np.unique(_as_targets_have_them(given, y))
    values = values[np.isin(values, y)]
    if not len(values):
        return None
    if at_atoms(values, y).all():
        raise ValueError(f"all targets are among atoms={values.tolist()}: other rows are needed to learn from")
    rows = rows.take(places)
    if last is None and isinstance(setting, str) and not _are_better(values, rows, target, settings, budget):
        return None
    return fit_atoms(values, rows, settings.seed, settings.n_jobs, budget.limited)


def _as_targets_have_them(values: Array, y: Array) -> Array:
    """Values (k,) that a user names, those in single precision that are not among targets y (n,) otherwise."""
    return np.where(np.isin(values, y), values, in_single_precision(values))


def kind_elsewhere(target: Target, y: Array, least: float) -> Target:
    """What targets y (n,) are that are at no atom, the least of which in all of the table is `least`.

    Of values that repeat densities do not tell which map is best: as large as one likes around a frequent value, they
    choose a map that makes means and CRPS worse.
    """
    if target == "non-negative" and least > 0.0:
        return "positive"
    repeated = np.unique(y, return_counts=True)[1].max(initial=0)
    return "any" if target == "auto" and repeated > LEAST_SHARE * len(y) else target


def _frequent_values(y: Array, weight: Array | None) -> Array:
    """Values that may be atoms of targets y (n,), ascending: few that are far more frequent than all others."""
    values, which = np.unique(y, return_inverse=True)
    share = np.bincount(which, weight) / (len(y) if weight is None else weight.sum())
    order = np.argsort(-share, kind="stable")
    for count in range(1, min(MOST_ATOMS, len(values) - LEAST_DISTINCT) + 1):
        least, following = share[order[count - 1]], share[order[count]]
        if least >= LEAST_SHARE and least >= LEAST_TIMES * following:
            chosen = np.sort(values[order[:count]])
            return chosen if len(y) - at_atoms(chosen, y).sum() >= LEAST_ELSEWHERE else np.empty(0)
    return np.empty(0)


@dataclass(frozen=True)
class _Trial:
    """Small forests with atoms and without, of some rows, judged by others."""

    values: Array
    judges: ChoosingRows
    learners: ChoosingRows
    target: Target
    settings: ForestSettings

    def plain(self) -> FittedForest:
        """The forest without atoms."""
        return small_forest(self._map(self.learners.y, unasked=True), self.learners, self.settings, None)

    def with_atoms(self, plain: FittedForest) -> Distribution:
        """Predictions of the judging rows with atoms; frequencies are those of the forest without."""
        learners = self.learners
        rest = learners.take(np.flatnonzero(~at_atoms(self.values, learners.y)))
        forest = small_forest(self._map(rest.y, unasked=False), rest, self.settings, plain.parameters)
        labelled = LabelledRows(learners.X, learners.y, learners.weight, learners.groups)
        atoms = fit_atoms(self.values, labelled, self.settings.seed, 1, limited=True)
        return AtomDistribution(in_units(forest, self.judges.X), atoms.values, atoms.probability(self.judges.X))

    def _map(self, y: Array, unasked: bool) -> TargetMap | None:
        """A map that suits targets y (n,), without a choice by small forests."""
        within = np.clip(y, *(clean_range(y) or (-np.inf, np.inf)))
        least = float(within.min())
        target = self.target if unasked else kind_elsewhere(self.target, within, least)
        maps = possible_maps(target, within, least)
        return None if unasked and maps[0] is None else maps[-1]


def _are_better(values: Array, rows: LabelledRows, target: Target, settings: ForestSettings, budget: Budget) -> bool:
    """Whether held-out rows of a part of the table are predicted better with atoms of these values."""
    groups = None if rows.ordered else rows.label
    halves = ChoosingRows.of(rows.X, rows.y, rows.weight, groups, np.arange(len(rows.y))).halves()
    if len(rows.y) < LEAST_ROWS or halves is None:
        return False
    judges, learners = halves
    elsewhere = learners.take(np.flatnonzero(~at_atoms(values, learners.y)))
    if not len(elsewhere.y) or elsewhere.are_of_one_group or not np.isin(values, learners.y).all():
        return False
    trial, forests = _Trial(values, judges, learners, target, settings), list[FittedForest]()
    seconds = seconds_of(lambda: forests.append(trial.plain()))
    # The other forest, and trees, take about three times as long.
    if 4.0 * seconds > TIME_SHARE * budget.seconds_left():
        budget.left_out.append("the search for atoms of the target")
        return False
    without, with_them = in_units(forests[0], judges.X), trial.with_atoms(forests[0])
    return _gains(without, with_them, judges)


def _gains(without: Distribution, with_them: Distribution, judges: ChoosingRows) -> bool:
    """Whether the second predictions have a clearly lower CRPS, and means that are no worse."""
    y, weight = judges.y, np.ones(len(judges.y)) if judges.weight is None else judges.weight
    before = (without.mean() - y) ** 2
    worse, its_error = _mean_and_error((with_them.mean() - y) ** 2 - before, weight)
    if worse > LEAST_ERRORS * its_error and worse > WORSE_SHARE * np.average(before, weights=weight):
        return False
    gain, error = _mean_and_error(without.crps(y) - with_them.crps(y), weight)
    return gain > LEAST_ERRORS * error


def _mean_and_error(values: Array, weight: Array) -> tuple[float, float]:
    """Mean of values (n,), and its standard error."""
    mean = float(np.average(values, weights=weight))
    return mean, float(np.sqrt(np.sum((weight * (values - mean)) ** 2)) / weight.sum())
