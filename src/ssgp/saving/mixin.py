"""The methods of estimators that can be saved."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from ssgp._utils.warning import DEPRECATED
from ssgp._utils.whole_file import FilePath
from ssgp.saving.kinds import stored_by

__all__ = ["SaveMixin", "stored_estimator"]

Class = TypeVar("Class", bound=type)

# Belong to a session, not to a model: callbacks, and who asked for which arguments of `fit`.
TRANSIENT = {"_skl_callbacks", "_parent_callback_ctx", "_metadata_request"}


class SaveMixin:
    """An estimator that can be written to a file; its class is decorated with `stored_estimator`."""

    # Settings without effect any more, and the value with which earlier versions do the same as this one.
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
        settings = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: self._removed_settings.get(name, value) for name, value in settings.items()}

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


def stored_estimator() -> Callable[[Class], Class]:
    """Decorator of an estimator that files may hold: its settings and its fitted attributes."""

    def decorate(cls: Class) -> Class:
        def parts(model: Any) -> dict[str, Any]:  # noqa: ANN401
            return {"settings": model._stored_settings(), "fitted": model._stored_attributes()}

        def make(stored_parts: dict[str, Any]) -> Any:  # noqa: ANN401
            model = cls(**_without_removed(cls, stored_parts["settings"]))
            model._restore_attributes(stored_parts["fitted"])
            return model

        return stored_by(parts, make)(cls)

    return decorate


def _without_removed(cls: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a file, less those that have no effect any more; one that had an effect is refused."""
    removed = cls._removed_settings  # type: ignore[attr-defined]
    for name, value in removed.items():
        if settings.get(name, value) not in (value, DEPRECATED):
            raise ValueError(f"{cls.__name__} has no {name}={settings[name]!r} any more")
    return {name: value for name, value in settings.items() if name not in removed}
