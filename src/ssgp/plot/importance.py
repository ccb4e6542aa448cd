"""Importances: which inputs the predictions need, and which ones their width depends on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_target
from ssgp._utils.wording import literal, quantity, with_unit
from ssgp.metrics import rmse
from ssgp.plot.display import Display
from ssgp.plot.exchange import importances_of_inputs
from ssgp.plot.inputs import InputTable
from ssgp.plot.style import GREY, MUTED, name_ticks
from ssgp.tables.input_warnings import untold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ImportanceDisplay", "SpreadImportanceDisplay"]


MAX_ROWS = 2000
MOST_SHOWN = 12


class _BarDisplay(Display):
    """A bar for each input, the longest first."""

    axis: ClassVar[str]

    def __init__(self, names: Sequence[str], importances: ArrayLike, rows: str = "", target: str = "target") -> None:
        order = np.argsort(-np.asarray(importances), kind="stable")
        self.names: list[str] = [names[int(i)] for i in order]
        self.importances = np.asarray(importances, dtype=float)[order]
        self.rows, self.target = rows, target

    def _shown(self) -> str:
        """How many inputs are shown, in words."""
        return f" The first {MOST_SHOWN} of {len(self.names)} inputs." if len(self.names) > MOST_SHOWN else ""

    def _axis(self) -> str:
        """Label of the axis along which bars go."""
        return self.axis

    def draw(self, ax: "Axes") -> None:
        """Draw a bar for each input, the longest at the top."""
        names, rises = self.names[:MOST_SHOWN], self.importances[:MOST_SHOWN]
        at = np.arange(len(names))[::-1]
        ax.barh(at, rises, 0.7, color=MUTED)
        for height, rise in zip(at, rises, strict=True):
            ax.annotate(
                quantity(rise, 2), (max(rise, 0.0), height), (4, 0), textcoords="offset points", va="center", color=GREY
            )
        name_ticks(ax.yaxis, at, names)
        ax.set_xlabel(literal(self._axis()))
        ax.set_ylim(-0.6, len(names) - 0.4)
        low, high = min(0.0, rises.min()), max(0.0, rises.max())
        ax.set_xlim(low, high + 0.15 * (high - low) if high > low else 1.0)


class ImportanceDisplay(_BarDisplay):
    """Permutation importances: by how much the error grows when an input is shuffled among the rows.

    Unlike a forest's `feature_importances_`, which speak of its learned metric, these are of the whole
    prediction, are the same for every regressor, and are of the original columns where there is an encoder.

    Parameters
    ----------
    names : sequence of str, k of them
        Names of the inputs.
    importances : array-like of shape (k,)
        Importances of the inputs, in the target's units.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    axis = "rise of the RMSE when shuffled"

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        *,
        n_repeats: int = 2,
        target: str = "target",
        feature_names: Sequence[str] | None = None,
        max_rows: int = MAX_ROWS,
        random_state: int = 0,
    ) -> Self:
        """Shuffle one input after another.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted. With a `TableEncoder` the original columns are shuffled.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        y : array-like of shape (n,)
            Targets.
        n_repeats : int, default=2
            How many times each input is shuffled.
        target : str, default="target"
            Name and unit of the target.
        feature_names : sequence of str, optional
            Names of the columns of an array.
        max_rows : int, default=2000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw and of the shuffling.
        """
        inputs, rows = InputTable.draw(model, X, max_rows, random_state, feature_names)
        return cls.of_inputs(model, inputs, check_target(y, X)[rows], n_repeats, target, random_state)

    @classmethod
    def of_inputs(
        cls,
        model: Any,  # noqa: ANN401
        inputs: InputTable,
        y: Array,
        n_repeats: int = 2,
        target: str = "target",
        random_state: int = 0,
    ) -> Self:
        """Shuffle the inputs of rows that have been drawn already."""
        rng, unshuffled = np.random.default_rng(random_state), rmse(y, model.predict(inputs.for_model()))
        rises = []
        for name in inputs.informative:
            column = inputs.column(name)
            shuffled = [column.take(pa.array(rng.permutation(len(y)))) for _ in range(n_repeats)]
            with untold():
                means = model.predict(inputs.repeated(name, shuffled).for_model()).reshape(n_repeats, -1)
            rises.append(np.mean([rmse(y, mean) for mean in means]) - unshuffled)
        return cls(inputs.informative, rises, inputs.description, target)

    def _axis(self) -> str:
        return with_unit(self.axis, self.target)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            "By how much the error (RMSE) grows when an input is shuffled among the rows, so that it says "
            f"nothing any more. Inputs with the same information share their importance.{self.of_rows()}{self._shown()}"
        )


class SpreadImportanceDisplay(_BarDisplay):
    """What the width of predictions depends on: changes of deviations when an input is exchanged with another row's.

    Parameters
    ----------
    names : sequence of str, k of them
        Names of the inputs.
    importances : array-like of shape (k,)
        Root mean squares of the changes of predicted deviations, in percent.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    axis = "change of the predicted deviation when exchanged (%)"

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        *,
        target: str = "target",
        feature_names: Sequence[str] | None = None,
        max_rows: int = MAX_ROWS,
        random_state: int = 0,
    ) -> Self:
        """Exchange one input after another.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted. With a `TableEncoder` the original columns are exchanged.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        target : str, default="target"
            Name and unit of the target.
        feature_names : sequence of str, optional
            Names of the columns of an array.
        max_rows : int, default=2000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw and of the exchange.
        """
        inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
        return cls.of_inputs(model, inputs, target, random_state)

    @classmethod
    def of_inputs(cls, model: Any, inputs: InputTable, target: str = "target", random_state: int = 0) -> Self:  # noqa: ANN401
        """Exchange the inputs of rows that have been drawn already."""
        found = importances_of_inputs(model, inputs, random_state)
        return cls(found.columns, 100.0 * found.spread, found.rows, target)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            "By how much the predicted deviation changes, up or down, when an input is exchanged with another row's: "
            f"inputs that decide how certain a prediction can be have long bars.{self.of_rows()}{self._shown()}"
        )
