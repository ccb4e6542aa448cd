"""The methods of estimators that can be saved."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ssgp._utils.whole_file import FilePath
from ssgp.saving.contents import (
    Contents,
    ContentsError,
    Relations,
    Rule,
    Sizes,
    anything,
    check_part,
    either,
    integer,
    made_of,
    mapping_of,
    plain,
    strings,
)
from ssgp.saving.kinds import stored_by

__all__ = ["SaveMixin", "stored_estimator"]

Class = TypeVar("Class", bound=type)

# Belong to a session, not to a model: callbacks, and who asked for which arguments of `fit`.
TRANSIENT = {"_skl_callbacks", "_parent_callback_ctx", "_metadata_request"}

SEED = either(plain, made_of(np.random.RandomState))


class SaveMixin:
    """An estimator that can be written to a file; its class is decorated with `stored_estimator`."""

    # Settings that files have and the class has no more, and the one value of each that can be read.
    _removed_settings: ClassVar[dict[str, Any]] = {}

    def save(self, path: FilePath) -> None:
        """Write the fitted model to one file, which `ssgp.load` reads; see `ssgp.save`.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced once the new one is whole.
        """
        # That module is imported where a model is saved: it needs safetensors and more, which predictions do not.
        from ssgp.saving.model_files import save

        save(self, path)

    def _stored_settings(self) -> dict[str, Any]:
        """Settings as files hold them."""
        return self.get_params(deep=False)  # type: ignore[attr-defined]

    @classmethod
    def _settings_of_file(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, from what files hold of them."""
        return dict(settings)

    def _stored_attributes(self) -> dict[str, Any]:
        """Everything else that a fitted estimator has, as files hold it."""
        settings = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: part for name, part in vars(self).items() if name not in TRANSIENT | set(settings)}

    def _restore_attributes(self, attributes: dict[str, Any]) -> None:
        """Take over what `_stored_attributes` gave."""
        vars(self).update(attributes)

    def _summarized(self) -> Self:
        """The estimator whose settings and training a summary tells of."""
        return self

    def _summary_entries(self) -> dict[str, Any]:
        """Further entries of a summary."""
        return {}


def stored_estimator(
    fitted: Mapping[str, Rule],
    *,
    settings: Mapping[str, Rule] | None = None,
    optional_parts: Mapping[str, Rule] | None = None,
    relations: Relations | None = None,
    has_columns: bool = True,
) -> Callable[[Class], Class]:
    """Decorator of an estimator that files may hold: its settings and its fitted attributes.

    Parameters
    ----------
    fitted : dict of Rule
        What each fitted attribute may be; the size d is the number of inputs.
    settings : dict of Rule, optional
        What settings may be, where that is not a plain value; the class's own constraints hold as well.
    optional_parts : dict of Rule, optional
        Fitted attributes that may be missing in a file.
    relations : Relations, optional
        What must hold between the fitted attributes.
    has_columns : bool
        Whether the number and names of inputs are among the attributes.
    """
    rules, may_miss = dict(fitted), dict(optional_parts or {})
    if has_columns:
        rules["n_features_in_"], may_miss["feature_names_in_"] = integer(1, size="d"), strings("d")
    attributes = Contents(rules, may_miss, relations)

    def decorate(cls: Class) -> Class:
        def parts(model: Any) -> dict[str, Any]:  # noqa: ANN401
            settings = model._stored_settings() | cls._removed_settings  # type: ignore[attr-defined]
            return {"settings": settings, "fitted": model._stored_attributes()}

        def check_settings(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
            _check_settings(cls, value, dict(settings or {}))

        def check_fitted(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
            attributes.check(value)

        def make(stored_parts: dict[str, Any]) -> Any:  # noqa: ANN401
            model = _unfitted(cls, stored_parts["settings"])
            model._restore_attributes(stored_parts["fitted"])
            return model

        return stored_by(parts, make, Contents({"settings": check_settings, "fitted": check_fitted}))(cls)

    return decorate


def _check_settings(cls: Any, settings: Any, rules: dict[str, Rule]) -> None:  # noqa: ANN401
    """Refuse what the class would refuse in `fit`, and whatever is no plain value."""
    mapping_of(anything)(settings, {})
    known = {**dict.fromkeys([*cls._get_param_names(), *cls._removed_settings], plain), "random_state": SEED, **rules}
    for name, value in settings.items():
        if name not in known:
            raise ContentsError(f"{cls.__name__} has no parameter {name!r}")
        check_part(name, known[name], value, {})
    _unfitted(cls, settings)._validate_params()


def _unfitted(cls: Any, settings: dict[str, Any]) -> Any:  # noqa: ANN401
    """An estimator with the settings of a file."""
    return cls(**cls._settings_of_file(_without_removed(cls, settings)))


def _without_removed(cls: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a file, less those that the class has no more; one that had an effect is refused."""
    removed = cls._removed_settings  # type: ignore[attr-defined]
    for name, value in removed.items():
        if name in settings and settings[name] != value:
            raise ContentsError(f"{cls.__name__} has no {name}={settings[name]!r:.40} any more")
    return {name: value for name, value in settings.items() if name not in removed}
