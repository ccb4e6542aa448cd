"""Pipelines that predict distributions, as their last step does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import sklearn.pipeline
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.metaestimators import available_if

from ssgp._utils.arrays import Array
from ssgp._utils.whole_file import FilePath
from ssgp.distributions.base import Distribution, RandomState
from ssgp.distributions.filled import InputRows, encoded_rows
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.saving.foreign import FOREIGN
from ssgp.saving.kinds import Kind
from ssgp.tables.encoder import TableEncoder

__all__ = ["Pipeline", "encoder_of", "last_inputs", "predict_encoded", "steps_of"]


def _last_step_has(name: str) -> Callable[[Any], bool]:
    """Check, as scikit-learn's pipelines make it, that a method is there if the last step has it."""

    def check(pipeline: Any) -> bool:  # noqa: ANN401
        getattr(pipeline.steps[-1][1], name)
        return True

    return check


class Pipeline(sklearn.pipeline.Pipeline):
    """Scikit-learn's `Pipeline`, with the methods of the regressors of this library.

    For steps of your own before a regressor: a data frame alone needs none. Rows go through the `transform` of all
    steps but the last, which predicts. All else is as in `sklearn.pipeline.Pipeline`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> import ssgp
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> steps = [("powers", PolynomialFeatures(2)), ("model", ssgp.ExactGPRegressor(random_state=0))]
    >>> model = ssgp.Pipeline(steps).fit(X, X[:, 0] ** 2)
    >>> low, high = model.predict_interval([[0.5]], coverage=0.9)[0]
    >>> bool(low < 0.25 < high)
    True
    """

    # Files have one kind of pipelines, whoever made them: what is read predicts distributions.
    __stored__: ClassVar[Kind] = replace(
        FOREIGN[sklearn.pipeline.Pipeline],
        make=lambda parts: Pipeline(parts["steps"], verbose=parts.get("verbose", False)),
    )

    @available_if(_last_step_has("predict"))
    def predict(self, X: Any, **keywords: Any) -> Any:  # noqa: ANN401
        """Predictive means of observations at X (n, d), shape (n,); with ``return_std=True`` deviations as well."""
        if get_config()["enable_metadata_routing"]:
            return super().predict(X, **keywords)
        return self.steps[-1][1].predict(last_inputs(self, X), **keywords)

    @available_if(_last_step_has("predict_distribution"))
    def predict_distribution(self, X: Any, **keywords: Any) -> Distribution:  # noqa: ANN401
        """Predictive distributions of observations at X (n, d); keywords are those of the last step's method."""
        return self.steps[-1][1].predict_distribution(last_inputs(self, X), **keywords)

    @available_if(_last_step_has("predict_quantiles"))
    def predict_quantiles(
        self,
        X: Any,  # noqa: ANN401
        quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        **keywords: Any,  # noqa: ANN401
    ) -> Array:
        """Quantiles of an observation at X (n, d), of k levels, shape (n, k)."""
        return self.steps[-1][1].predict_quantiles(last_inputs(self, X), quantiles, **keywords)

    @available_if(_last_step_has("predict_interval"))
    def predict_interval(self, X: Any, coverage: float = 0.95, **keywords: Any) -> Array:  # noqa: ANN401
        """Lower and upper ends of central intervals of an observation at X (n, d), shape (n, 2)."""
        return self.steps[-1][1].predict_interval(last_inputs(self, X), coverage, **keywords)

    @available_if(_last_step_has("log_prob"))
    def log_prob(self, X: Any, y: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
        """Log densities of observations y (n,) at X (n, d), shape (n,)."""
        return self.steps[-1][1].log_prob(last_inputs(self, X), y, **keywords)

    @available_if(_last_step_has("cdf"))
    def cdf(self, X: Any, y: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
        """Predictive probabilities of an observation at most y (n,) at X (n, d), shape (n,)."""
        return self.steps[-1][1].cdf(last_inputs(self, X), y, **keywords)

    @available_if(_last_step_has("sample_y"))
    def sample_y(
        self,
        X: Any,  # noqa: ANN401
        n_samples: int = 1,
        random_state: RandomState = 0,
        **keywords: Any,  # noqa: ANN401
    ) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        return self.steps[-1][1].sample_y(last_inputs(self, X), n_samples, random_state, **keywords)

    def save(self, path: FilePath) -> None:
        """Write the fitted pipeline to one file, which `ssgp.load` reads; see `ssgp.save`.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced once the new one is whole.
        """
        # Imported where a model is saved, as in `SaveMixin.save`.
        from ssgp.saving.model_files import save

        save(self, path)


def steps_of(model: Any) -> list[Any]:  # noqa: ANN401
    """The steps of a pipeline, or the model itself."""
    return [step for _, step in model.steps] if isinstance(model, sklearn.pipeline.Pipeline) else [model]


def encoder_of(model: Any) -> TableEncoder | None:  # noqa: ANN401
    """The encoder of a user's table, first step of a pipeline or inside the regressor; None where there is none."""
    first = steps_of(model)[0]
    return first if isinstance(first, TableEncoder) else getattr(first, "encoder_", None)


def predict_encoded(model: Any, rows: Array) -> Distribution:  # noqa: ANN401
    """Predictive distributions of rows (n, d) that `encoder_of` the model has encoded."""
    inputs, steps = InputRows(rows), steps_of(model)
    for step in steps[1:-1]:
        if step is not None and step != "passthrough":
            inputs = inputs.transformed(lambda rows, step=step: np.asarray(step.transform(rows)))
    return steps[-1].predict_distribution(inputs)


def last_inputs(model: Any, X: Any) -> Any:  # noqa: ANN401
    """Rows as the last step of a pipeline gets them; as they are where the model is none.

    They are `InputRows` where a `TableEncoder` finds values that it never saw, and the last step is a regressor of this
    library, which then predicts mixtures.
    """
    steps = [step for step in steps_of(model) if step is not None and step != "passthrough"]
    for i, step in enumerate(steps[:-1]):
        if isinstance(X, InputRows):
            X = X.transformed(lambda rows, step=step: np.asarray(step.transform(rows)))
        elif isinstance(step, TableEncoder) and _fills(steps[i + 1 :]):
            rows = encoded_rows(step, X)
            X = rows.X if rows.unknown is None else rows
        else:
            X = step.transform(X)
    return X


def _fills(steps: list[Any]) -> bool:
    """Whether steps after an encoder take arrays, and the last of them mixtures."""
    named = any(hasattr(step, "feature_names_in_") for step in steps)
    return isinstance(steps[-1], DistributionRegressor) and getattr(steps[-1], "encoder_", None) is None and not named
