"""What gives estimators a method `save`."""

import os

__all__ = ["SaveMixin"]


class SaveMixin:
    """An estimator that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `ssgp.load` reads; see `ssgp.save`.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced once the new one is whole.
        """
        from ssgp.saved_models import save

        save(self, path)
