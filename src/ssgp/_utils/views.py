"""Fitted attributes of estimators that live in one object."""

from typing import Any

__all__ = ["View"]


class View:
    """A fitted attribute that is read from the estimator's `_fitted`: ``lengthscale_`` from ``_fitted.lengthscale``."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the attribute."""
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:  # noqa: ANN401  whatever it is a view of
        """The attribute of a fitted estimator."""
        if estimator is None:
            return self
        if "_fitted" not in vars(estimator):
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self._name!r} before fit")
        return getattr(estimator._fitted, self._name.removesuffix("_"))
