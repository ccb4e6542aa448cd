"""One BLAS thread inside small steps: parallelism here is over blocks and chunks of rows."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking the libraries up costs milliseconds."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Context in which the linear algebra libraries use one thread."""
    return _controller().limit(limits=1, user_api="blas")
