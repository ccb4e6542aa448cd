"""Regressors that take a user's rows: arrays and tables of numbers as they are, all other tables encoded."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, cast

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils._param_validation import StrOptions

from ssgp._utils.arrays import Array
from ssgp._utils.checks import COLUMNS, check_blocks, check_inputs, check_rows, check_target, check_weights
from ssgp.distributions.filled import InputRows, encoded_rows
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.saving.contents import Relations, Rule, Sizes, either, made_of, mapping_of, optional, plain, text
from ssgp.saving.mixin import SaveMixin, stored_estimator
from ssgp.tables.arrow_columns import given_rows, needs_encoding, selected_rows
from ssgp.tables.encoder import TableEncoder

__all__ = ["Encoder", "TableRegressor", "checked_copy", "stored_regressor"]

# What the parameter `encoder` may be.
Encoder = TableEncoder | Literal["auto"] | None

# Rows to learn from: inputs (n, d), targets (n,), weights (n,) or None, and labels of blocks (n,) or None.
TrainingArrays = tuple[Array, Array, Array | None, NDArray[Any] | None]


class TableRegressor(DistributionRegressor, SaveMixin, RegressorMixin, BaseEstimator):
    """A regressor that learns from finite floats and takes any table: an encoder makes these of it where it has to.

    Subclasses get the rows to learn from by `_training_rows` and `_more_rows`, and those to predict by `_input_rows`.
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {"encoder": [StrOptions({"auto"}), TableEncoder, None]}

    encoder: Encoder
    encoder_: TableEncoder | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _training_rows(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        blocks: ArrayLike | None = None,
        growing: bool = False,
    ) -> TrainingArrays:
        """Rows to fit to, without those of weight zero, in numbers; to a table that is `growing` more may come."""
        X = given_rows(X)
        encoder = self._new_encoder(X)
        if encoder is None:
            rows = check_rows(self, X, y, sample_weight, blocks, reset=True, whole=not growing)
        else:
            rows = _encoded_rows(encoder.fit_encoded, X, y, sample_weight, blocks, whole=not growing)
        self._set_encoder(encoder)
        return rows

    def _more_rows(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        blocks: ArrayLike | None = None,
    ) -> TrainingArrays:
        """Rows that are added to those of `fit`, without those of weight zero, in numbers."""
        X, encoder = given_rows(X), self._fitted_encoder
        if encoder is None:
            return check_rows(self, X, y, sample_weight, blocks, reset=False, whole=False)
        return _encoded_rows(lambda rows, _: encoder.encoded(rows), X, y, sample_weight, blocks, whole=False)

    def _input_rows(self, X: Any) -> InputRows:  # noqa: ANN401
        """Rows to predict, in numbers, and what they do not tell."""
        if isinstance(X, InputRows):
            # Encoded already, by its own encoder or by that of a pipeline.
            return X if self._fitted_encoder is not None else replace(X, X=check_inputs(self, X.X))
        X, encoder = given_rows(X), self._fitted_encoder
        if encoder is None:
            return InputRows(check_inputs(self, X))
        rows = encoded_rows(encoder, X)
        if not len(rows):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: X has no rows")
        return rows

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Set parameters, as every scikit-learn estimator; those of an encoder make one where it was "auto"."""
        if isinstance(self.encoder, str) and any(name.startswith("encoder__") for name in params):
            self.encoder = TableEncoder()
        return super().set_params(**params)

    @property
    def _fitted_encoder(self) -> TableEncoder | None:
        """The encoder of the rows, None where they are numbers as they are."""
        return getattr(self, "encoder_", None)

    @property
    def _n_inputs(self) -> int:
        """Numbers that a row is to the model."""
        encoder = self._fitted_encoder
        return self.n_features_in_ if encoder is None else len(encoder.get_feature_names_out())

    def _new_encoder(self, X: Any) -> TableEncoder | None:  # noqa: ANN401
        """An encoder to fit, None where rows are taken as they are."""
        if isinstance(self.encoder, TableEncoder):
            return checked_copy(self.encoder)
        return TableEncoder() if self.encoder == "auto" and needs_encoding(X) else None

    def _set_encoder(self, encoder: TableEncoder | None) -> None:
        """Keep a fitted encoder, and speak of its table's columns where there is one."""
        self.encoder_ = encoder
        if encoder is not None:
            self.n_features_in_ = encoder.n_features_in_
            vars(self).pop("feature_names_in_", None)
            if hasattr(encoder, "feature_names_in_"):
                self.feature_names_in_ = encoder.feature_names_in_

    def _summary_entries(self) -> dict[str, Any]:
        """What becomes of each column, where they are encoded."""
        encoder = self._fitted_encoder
        return {} if encoder is None else encoder._summary_entries()

    def _input_names(self) -> list[str]:
        """Names of the numbers that a row is to the model."""
        encoder = self._fitted_encoder
        if encoder is not None:
            return encoder.get_feature_names_out().tolist()
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _stored_settings(self) -> dict[str, Any]:
        """Settings as files hold them: an encoder by its own, and none where it is chosen, as in earlier files."""
        settings = super()._stored_settings()
        encoder = settings.pop("encoder")
        if isinstance(encoder, TableEncoder):
            return {**settings, "encoder": encoder._stored_settings()}
        return settings if encoder == "auto" else {**settings, "encoder": encoder}

    @classmethod
    def _settings_of_file(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, from what files hold of them."""
        encoder = settings.get("encoder")
        return {**settings, **({"encoder": _checked_encoder(encoder)} if isinstance(encoder, dict) else {})}

    def _stored_attributes(self) -> dict[str, Any]:
        """Fitted attributes as files hold them: the numbers of a row are counted, and columns are the encoder's."""
        return _columns_for_file(super()._stored_attributes(), self._n_inputs)

    def _restore_attributes(self, attributes: dict[str, Any]) -> None:
        """Take over what `_stored_attributes` gave."""
        super()._restore_attributes(attributes)
        self._set_encoder(attributes.get("encoder_"))


def checked_copy(encoder: TableEncoder) -> TableEncoder:
    """An encoder to fit, with the same settings: scikit-learn checks those of nobody within another's fit."""
    encoder._validate_params()
    return cast(TableEncoder, clone(encoder))


def _columns_for_file(attributes: dict[str, Any], n_inputs: int) -> dict[str, Any]:
    """Attributes without what is the encoder's, or without the encoder where there is none."""
    encoder = attributes.get("encoder_")
    if encoder is None:
        return {name: part for name, part in attributes.items() if name != "encoder_"} | {"n_features_in_": n_inputs}
    # Last, in one order: fits of streamed rows set them in another.
    others = {name: part for name, part in attributes.items() if name not in COLUMNS}
    return {**others, "n_features_in_": n_inputs, "encoder_": encoder}


def _checked_encoder(settings: dict[str, Any]) -> TableEncoder:
    encoder = TableEncoder(**settings)
    encoder._validate_params()
    return encoder


def _encoded_rows(
    encode: Callable[[Any, Array], Array],
    X: Any,  # noqa: ANN401
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blocks: ArrayLike | None,
    whole: bool,
) -> TrainingArrays:
    """Rows to learn from, encoded; those of weight zero are left out before, for an encoder counts every row."""
    target = check_target(y, X)
    weight = None if sample_weight is None else check_weights(sample_weight, X, whole)
    labels = None if blocks is None else check_blocks(blocks, X)
    if weight is not None and not weight.all():
        kept = weight > 0
        X, target, weight = selected_rows(X, kept), target[kept], weight[kept]
        labels = None if labels is None else labels[kept]
    return encode(X, target), target, weight, labels


def stored_regressor(
    fitted: Mapping[str, Rule],
    *,
    settings: Mapping[str, Rule] | None = None,
    optional_parts: Mapping[str, Rule] | None = None,
    relations: Relations | None = None,
) -> Callable[[Any], Any]:
    """`stored_estimator` for regressors that may have an encoder, whose features are the inputs that rules speak of."""

    def check(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
        encoder = parts.encoder_
        yield encoder is None or parts.feature_names_in_ is None, "columns must be those of the encoder"
        yield from () if relations is None else relations(parts)

    encoder_setting = either(text("auto"), optional(mapping_of(_encoder_setting)))
    n_features = {"d": lambda encoder: len(encoder.get_feature_names_out())}
    return stored_estimator(
        fitted,
        settings={"encoder": encoder_setting, **(settings or {})},
        optional_parts={"encoder_": made_of(TableEncoder, **n_features), **(optional_parts or {})},
        relations=check,
    )


def _encoder_setting(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """A plain value, or kinds of columns by name."""
    either(plain, mapping_of(text()))(value, sizes)
