"""The estimators of a suite, and the rows that one of their steps takes in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.suites import Fit, Suite
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    SpectralForestRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    VSSGPRegressor,
)

__all__ = ["METHODS", "Method", "most_steps"]

BATCH = 1000
# Far above what sVBSSGP takes: it stops when its bound does.
MOST_STEPS = 20_000
# The forest's default, written out: a run tells whether it has taken all of them.
FOREST_STEPS = 1500


@dataclass(frozen=True)
class Method:
    """How a method is run.

    Attributes
    ----------
    make : callable
        Takes suite, fit, number of steps (0 for the method's default) and seed to an estimator.
    rows_per_step : callable
        Takes suite and number of training rows to the rows that a step takes in; None for methods without steps.
    stops_by_itself : bool
        Whether it may stop before it has taken all its steps; others do so only when something went wrong.
    n_blocks : callable or None
        Takes a suite to the number of blocks; None for methods without blocks.
    """

    make: Callable[[Suite, Fit, int, int], Any]
    rows_per_step: Callable[[Suite, int], float] | None = None
    stops_by_itself: bool = False
    n_blocks: Callable[[Suite], int] | None = None


def _sparse_spectrum(suite: Suite, cell: Fit, n_steps: int, seed: int, **more: Any) -> SVBSSGPRegressor:  # noqa: ANN401
    """A traced run takes all its steps; one to convergence stops when the bound does."""
    length = {"max_iter": n_steps, "tol": None} if n_steps else {"max_iter": MOST_STEPS}
    return SVBSSGPRegressor(
        suite.n_frequencies,
        n_blocks=suite.n_blocks,
        n_draws=cell.n_draws,
        batch_size=BATCH,
        random_state=seed,
        **{"partition": "tree", **length, **more},
    )


def _blocks(suite: Suite) -> int:
    return suite.n_blocks


METHODS: dict[str, Method] = {
    "sVBSSGP": Method(_sparse_spectrum, lambda suite, n: min(BATCH, n), stops_by_itself=True, n_blocks=_blocks),
    "sVBSSGP, even k-means": Method(
        lambda suite, cell, steps, seed: _sparse_spectrum(suite, cell, steps, seed, partition="kmeans"),
        stops_by_itself=True,
    ),
    "sVBSSGP, fixed hyperparameters": Method(
        lambda suite, cell, steps, seed: _sparse_spectrum(
            suite, cell, steps, seed, learn_hyperparameters=False, **suite.fixed
        ),
        stops_by_itself=True,
        n_blocks=_blocks,
    ),
    "sVBSSGP, local objective": Method(
        lambda suite, cell, steps, seed: _sparse_spectrum(suite, cell, steps, seed, objective="local"),
        stops_by_itself=True,
    ),
    "PIC+": Method(
        lambda suite, cell, steps, seed: PICRegressor(
            suite.n_inducing, n_blocks=suite.pic_blocks, max_iter=steps, random_state=seed
        ),
        lambda suite, n: n / suite.pic_blocks,
        n_blocks=lambda suite: suite.pic_blocks,
    ),
    "DTC+": Method(
        lambda suite, cell, steps, seed: DTCRegressor(
            suite.n_inducing, batch_size=BATCH, max_iter=steps, random_state=seed
        ),
        lambda suite, n: min(BATCH, n),
    ),
    "VSSGP": Method(
        lambda suite, cell, steps, seed: VSSGPRegressor(
            2 * suite.n_frequencies, batch_size=BATCH, max_iter=steps, random_state=seed
        ),
        lambda suite, n: min(BATCH, n),
    ),
    "SSGP": Method(
        lambda suite, cell, steps, seed: SSGPRegressor(suite.n_frequencies, max_iter=steps, random_state=seed),
        stops_by_itself=True,
    ),
    "exact GP, some rows": Method(
        lambda suite, cell, steps, seed: ExactGPRegressor(random_state=seed), stops_by_itself=True
    ),
    "spectral forest": Method(lambda suite, cell, steps, seed: _forest(steps, seed), stops_by_itself=True),
}


def _forest(n_steps: int, seed: int) -> SpectralForestRegressor:
    """The default forest, or a small one of few steps."""
    size: dict[str, Any] = {"max_iter": FOREST_STEPS}
    if n_steps:
        size = {"max_iter": n_steps, "n_trees": 4, "leaf_size": 100}
    return SpectralForestRegressor(**size, n_jobs=1, random_state=seed)


def most_steps(model: Any) -> int | None:  # noqa: ANN401  any regressor
    """Upper limit of a model's steps; None for the exact GP, which takes none."""
    return None if isinstance(model, ExactGPRegressor) else model.max_iter
