"""What gives estimators a method `save`."""

from ssgp._utils.whole_file import FilePath

__all__ = ["SaveMixin"]


class SaveMixin:
    """An estimator that can be written to a file."""

    def save(self, path: FilePath) -> None:
        """Write the fitted model to one file, which `ssgp.load` reads; see `ssgp.save`.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced once the new one is whole.
        """
        from ssgp.saving.model_files import save

        save(self, path)
