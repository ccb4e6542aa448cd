"""The paper's regressor: stochastic variational Bayesian sparse spectrum GP regression."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import interruptible
from ssgp._utils.checks import N_JOBS, WeightTotals, check_total_weight, columns_unchanged_on_error
from ssgp._utils.progress import Monitor, StepHooks
from ssgp.distributions.table_regressor import Encoder, stored_regressor
from ssgp.rows.blocking import Blocking, choose_n_blocks
from ssgp.rows.blocks import even_bounds, sorted_labels
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import either, made_of, text
from ssgp.spectrum.bases import BASE_NAMES, STANDARD_BASES, Base, check_base, resolve_base
from ssgp.spectrum.learner import Learner
from ssgp.spectrum.noise import LEARNING_PRIOR
from ssgp.spectrum.objectives import GlobalObjective, LocalObjective
from ssgp.spectrum.optimizers import Adam, RobbinsMonro
from ssgp.spectrum.parameters import Layout, Parameters, PosteriorKind, initial_hyperparameters
from ssgp.spectrum.posterior import check_memory
from ssgp.spectrum.trainer import NOISE_RANGE, Schedule
from ssgp.svbssgp.block_regressor import BlockRegressor
from ssgp.svbssgp.conditional import check_gamma
from ssgp.svbssgp.fit import Fit, automatic_start, train_more
from ssgp.svbssgp.fitted import CONTENTS, Context, check_contents, fitted_attributes
from ssgp.svbssgp.local_models import check_local_memory

__all__ = ["SVBSSGPRegressor"]


@stored_regressor(
    CONTENTS, settings={"base": either(text(*BASE_NAMES), made_of(*STANDARD_BASES))}, relations=check_contents
)
class SVBSSGPRegressor(BlockRegressor):
    """Sparse spectrum GP regression with a variational posterior over its frequencies (sVBSSGP).

    A Gaussian process is approximated by cosines and sines of ``m`` frequencies. These, and one
    weight per feature, 2m of them, have a joint posterior q(alpha) that is learned by
    stochastic ascent of a lower bound of the marginal likelihood, at a cost per step that does
    not depend on the number of rows. Predictions average over draws from it, and use
    the training rows of the test row's block.

    Parameters
    ----------
    n_frequencies : int, default=20
        m, the number of spectral frequencies.
    objective : {"global", "local"}, default="global"
        ``"global"`` is the paper's bound, in which all blocks share one vector of weights.
        ``"local"`` has one vector of weights and one noise variance per block and integrates them out,
        which is the model that predicts at ``gamma=0``, the only gamma it has.
    posterior : {"triangular", "full", "block", "diagonal"}, default="triangular"
        Structure of the affine map M in alpha = M z + b: ``"full"`` is any invertible matrix,
        ``"triangular"`` the same family for a normal base at a fraction of the cost,
        ``"block"`` keeps frequencies and weights independent, ``"diagonal"`` everything.
    base : {"normal", "student-t", "laplace", "logistic"} or Base, default="normal"
        psi, the distribution of z. Any object with the methods of `ssgp.spectrum.bases.Base` will do.
    gamma : float in [-1, 1], default=0.0
        Test conditional of Proposition 1, from global (1) to local (0).
    n_draws : int, default=10
        r, the number of draws of alpha that a prediction averages over.
    n_blocks : int or "auto", default="auto"
        p, the number of blocks. ``"auto"`` aims at 25 rows per feature.
    partition : {"auto", "kmeans", "tree"}, default="auto"
        Even k-means, or an exactly even bisecting tree in n log p time; ``"auto"`` takes
        the tree above 20,000 rows. `fit` also takes blocks of your choice.
    partition_metric : {"learned", "standardized"}, default="learned"
        Whether distances are measured in lengthscales or in standardised inputs.
    minibatch : {"rows", "blocks"}, default="rows"
        What a gradient is estimated from: uniformly drawn rows, or the partition's blocks
        (the paper's; a larger variance). The local objective always takes blocks.
    batch_size : int, default=1000
        Rows in a random block, for ``minibatch="rows"``.
    blocks_per_step : int or "auto", default="auto"
        a, the number of blocks in one stochastic gradient; ``"auto"`` takes enough of them for
        about `batch_size` rows.
    draws_per_step : int, default=1
        b, the number of z in one stochastic gradient.
    optimizer : {"adam", "robbins-monro"}, default="adam"
        Robbins-Monro is plain gradient ascent with steps ``learning_rate (1 + t/100)^-decay``, in which no entry moves
        by more than one unit: convergence is guaranteed from where none is clipped any more.
    learning_rate : float or "auto", default="auto"
        0.02 for Adam, 1.6 for Robbins-Monro.
    decay : float in (0.5, 1], default=0.6
        Exponent of the Robbins-Monro schedule.
    max_iter : int, default=3000
        Upper limit of the steps.
    tol : float or None, default=1e-3
        Training ends, after a last part in which the steps become small, when the bound on ten fixed blocks has not
        risen by this many nats per row for 1,000 steps. It is checked in the first three fifths of the steps: a
        `max_iter` below about 1,850 is never cut short, nor one below 2,750 where gradients are estimated from
        blocks in a learned metric, which makes two rounds of the steps, a third and two thirds. None never stops
        early.
    learn_hyperparameters : bool, default=True
        Whether lengthscales, signal and noise variance follow the bound, or stay where they start.
    lengthscale : float, array-like of shape (d,) or "auto", default="auto"
        Start (or fixed value) in the units of the inputs; half the square root of d
        standard deviations by default. Where a third of the steps lead from a start of yours to a constant, as from one
        that is far too short, the others begin again from the default, with a warning.
    signal_variance, noise_variance : float or "auto", default="auto"
        Start (or fixed value) in squared units of the target; 1 and 1/2 of its variance by default, or of its
        mean square where `normalize` is False.
        For ``objective="local"`` their ratio alone matters.
    normalize : bool, default=True
        Whether the target is centred, and distances of ``partition_metric="standardized"`` are in
        standardised inputs. False keeps the prior mean at zero and raw distances. Lengthscales,
        variances and predictions are in the table's units either way.
    encoder : "auto", TableEncoder or None, default="auto"
        What makes numbers of a data frame's columns: by default a `TableEncoder`, where they are not all numbers, or
        some are missing. One with settings of its own is used for all rows, and None for none.
    warm_start : bool, default=False
        Whether `fit` goes on from the last solution.
    n_jobs : int or None, default=None
        Threads for the local models and predictions. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1 prints about ten lines, 2 a hundred.

    Attributes
    ----------
    posterior_ : AffinePosterior
        q(alpha), frequencies and weights in the units of inputs and target: the function is
        ``target_mean_ + features(X - input_mean_, frequencies) @ weights``.
    input_mean_ : array of shape (d,)
        Mean that is subtracted from the inputs.
    target_mean_ : float
        Prior mean, which is added to the function.
    lengthscale_ : array of shape (d,)
        Lengthscales in the units of the inputs.
    signal_variance_, noise_variance_ : float
        In squared units of the target; for ``objective="local"`` the mean over the rows of
        those of their blocks.
    n_rows_ : int
        Training rows.
    n_iter_ : int
        Steps taken.
    bound_trace_ : array of shape (n_steps,)
        Stochastic estimates of the lower bound of log p(y), in nats per row.
    partition_ : Partition
        The blocks; ``partition_.n_blocks`` is their number.
    block_labels_ : array of shape (p,) or None
        The labels passed to `fit` as `blocks`.
    encoder_ : TableEncoder or None
        Encoder of the rows, None where they are numbers as they are. Attributes of the inputs, d of them, are then of
        its features (``encoder_.get_feature_names_out()``).
    n_features_in_, feature_names_in_
        Number and names of the columns of the table.

    Notes
    -----
    The fitted model keeps its training rows in float32, as exact GP regressors do: blocks
    predict from their rows, and `partial_fit` adds to them.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import SVBSSGPRegressor
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=2000)
    >>> model = SVBSSGPRegressor(max_iter=500, random_state=0).fit(X, y)
    >>> mean, std = model.predict(np.array([[2.0]]), return_std=True)
    >>> bool(abs(mean[0] - np.sin(2.0)) < 0.05), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _removed_settings: ClassVar[dict[str, Any]] = {"integrate_weights": False}
    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **BlockRegressor._parameter_constraints,
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "objective": [StrOptions({"global", "local"})],
        "posterior": [StrOptions({"full", "triangular", "block", "diagonal"})],
        "base": "no_validation",
        "gamma": [Interval(Real, -1, 1, closed="both")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_blocks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "partition": [StrOptions({"auto", "kmeans", "tree"})],
        "partition_metric": [StrOptions({"learned", "standardized"})],
        "minibatch": [StrOptions({"rows", "blocks"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "blocks_per_step": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "draws_per_step": [Interval(Integral, 1, None, closed="left")],
        "optimizer": [StrOptions({"adam", "robbins-monro"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "decay": [Interval(Real, 0.5, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "learn_hyperparameters": ["boolean"],
        "lengthscale": "no_validation",
        "signal_variance": "no_validation",
        "noise_variance": "no_validation",
        "normalize": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    posterior: PosteriorKind
    n_blocks: int | Literal["auto"]
    partition: Literal["auto", "kmeans", "tree"]
    blocks_per_step: int | Literal["auto"]
    learning_rate: float | Literal["auto"]

    def __init__(
        self,
        n_frequencies: int = 20,
        *,
        objective: Literal["global", "local"] = "global",
        posterior: PosteriorKind = "triangular",
        base: str | Base = "normal",
        gamma: float = 0.0,
        n_draws: int = 10,
        n_blocks: int | Literal["auto"] = "auto",
        partition: Literal["auto", "kmeans", "tree"] = "auto",
        partition_metric: Literal["learned", "standardized"] = "learned",
        minibatch: Literal["rows", "blocks"] = "rows",
        batch_size: int = 1000,
        blocks_per_step: int | Literal["auto"] = "auto",
        draws_per_step: int = 1,
        optimizer: Literal["adam", "robbins-monro"] = "adam",
        learning_rate: float | Literal["auto"] = "auto",
        decay: float = 0.6,
        max_iter: int = 3000,
        tol: float | None = 1e-3,
        learn_hyperparameters: bool = True,
        lengthscale: float | ArrayLike | Literal["auto"] = "auto",
        signal_variance: float | Literal["auto"] = "auto",
        noise_variance: float | Literal["auto"] = "auto",
        normalize: bool = True,
        encoder: Encoder = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.objective = objective
        self.posterior = posterior
        self.base = base
        self.gamma = gamma
        self.n_draws = n_draws
        self.n_blocks = n_blocks
        self.partition = partition
        self.partition_metric = partition_metric
        self.minibatch = minibatch
        self.batch_size = batch_size
        self.blocks_per_step = blocks_per_step
        self.draws_per_step = draws_per_step
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.tol = tol
        self.learn_hyperparameters = learn_hyperparameters
        self.lengthscale = lengthscale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.normalize = normalize
        self.encoder = encoder
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blocks: ArrayLike | None = None,
        monitor: Monitor | None = None,
    ) -> Self:
        """Learn the posterior and the local models.

        Ctrl-C ends training after the last completed step; the model is usable once the `KeyboardInterrupt` is raised.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array of numbers, or a pandas, polars or Arrow table of any columns (docs/tables.md).
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.
        blocks : array-like of shape (n,), optional
            Labels of the rows' blocks; `n_blocks` and `partition` then have no effect.
        monitor : callable, optional
            ``monitor(n_iter, snapshot)`` is called after each step. ``snapshot()`` returns the
            regressor as if training had stopped there, ready to predict (one pass over the
            rows). Return True to stop.

        Returns
        -------
        self : SVBSSGPRegressor
            Fitted.
        """
        return self._fit(X, y, sample_weight, blocks, monitor)

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        blocks: ArrayLike | None,
        monitor: Monitor | None,
        growing: bool = False,
    ) -> Self:
        """Fit to a table, to which rows may be added if it is `growing`."""
        with columns_unchanged_on_error(self):
            X, y, weight, labels = self._training_rows(X, y, sample_weight, blocks, growing)
            if growing and weight is not None:
                check_total_weight(WeightTotals.of(weight), growing)
            check_gamma(self.gamma, self.objective == "local")
            fit, bounds = self._prepare(X, y, weight, labels), list[float]()
            hooks = StepHooks(self, self.max_iter, lambda: fit.attributes(bounds), monitor, self.verbose)
            fitted = fit.run(hooks, bounds)
            vars(self).update(fitted)
            hooks.close(fitted)
        return self

    def _prepare(self, X: Array, y: Array, weight: Array | None, labels: NDArray[Any] | None) -> Fit:
        """The fit of a checked table."""
        warm = self.warm_start and hasattr(self, "_context")
        units = self._context.units if warm else Standardizer.fit(X, y, weight, self.normalize)
        learner = self._learner(units)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        start_rng, order_rng, step_rng, seed_rng = np.random.default_rng(seed).spawn(4)
        partition_seed, draw_seed = seed_rng.integers(2**31, size=2).tolist()
        order = order_rng.permutation(len(y))
        block_labels, indices = (None, None) if labels is None else sorted_labels(labels[order])
        blocking = self._blocking(len(y), indices, partition_seed)
        parameters = self._start(learner, units, start_rng)
        rows = units.rows(X, y, weight, order, even_bounds(len(y), self.batch_size))
        optimizers = learner.make_optimizers()
        context = Context(units, learner.base, block_labels, self.n_draws, draw_seed, step_rng, optimizers)
        fallback = automatic_start(parameters, units) if self._may_start_again(warm) else None
        return Fit(learner, context, parameters, rows, blocking, self.n_jobs, fallback)

    def _may_start_again(self, warm: bool) -> bool:
        """Whether the start is a user's, and lengthscales are learned: the automatic one may lead further."""
        given = not (isinstance(self.lengthscale, str) and self.lengthscale == "auto")
        return given and self.learn_hyperparameters and not warm

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blocks: ArrayLike | None = None,
    ) -> Self:
        """Add rows to their blocks, and take one more training step per `batch_size` new rows.

        The first call is `fit`. Later ones keep units, partition and settings. The rows of all calls
        are part of the model, steps sample from all of them, and the local models are built again, which is
        one pass over the rows: prefer a few large calls to many small ones.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New inputs.
        y : array-like of shape (n,)
            New targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each new row counts for: see "Weights" in docs/mathematics.md.
        blocks : array-like of shape (n,), optional
            Labels of the new rows' blocks, among those of `fit`; by default the nearest block.

        Returns
        -------
        self : SVBSSGPRegressor
            Fitted.
        """
        if not hasattr(self, "_context"):
            return self._fit(X, y, sample_weight, blocks, None, growing=True)
        X, y, weight, labels = self._more_rows(X, y, sample_weight, blocks)
        context, partition, parameters = self._context.copy(), self.partition_, self._parameters.copy()
        learner = self._learner(context.units)
        self._check_layout(learner)
        new = context.units.rows(X, y, weight)
        indices = partition.assign(new.X) if labels is None else context.block_indices(labels, new.X)
        rows = self._rows.append(new).sort_by(np.concatenate([self._rows.labels, indices]), partition.n_blocks)
        if rows.weight is not None:
            check_total_weight(WeightTotals.of(rows.weight), growing=True)
        n_steps, n_waiting = divmod(context.n_waiting + len(y), self.batch_size)
        bounds = train_more(learner, context, parameters, rows, n_steps, self.batch_size) if n_steps else []
        trace = np.concatenate([self.bound_trace_, context.units.in_target_units(bounds)])
        context = replace(context, n_waiting=n_waiting)
        vars(self).update(fitted_attributes(context, parameters, rows, partition, trace, self.n_jobs))
        return self

    def _learner(self, units: Standardizer) -> Learner:
        """Settings of the learning run, "auto" resolved."""
        adam, local = self.optimizer == "adam", self.objective == "local"
        rate = (0.02 if adam else 1.6) if self.learning_rate == "auto" else self.learning_rate
        return Learner(
            objective=LocalObjective(LEARNING_PRIOR.scaled(units.y_variance)) if local else GlobalObjective(),
            base=resolve_base(self.base),
            learn_hyperparameters=self.learn_hyperparameters,
            make_optimizer=partial(Adam, rate) if adam else partial(RobbinsMonro, rate, self.decay),
            minibatch=self.minibatch,
            partition_metric=self.partition_metric,
            plain_metric=np.ones_like(units.x_scale) if self.normalize else units.x_scale,
            batch_size=self.batch_size,
            blocks_per_step=self.blocks_per_step,
            draws_per_step=self.draws_per_step,
            schedule=Schedule(self.max_iter, self.tol),
            least_noise=units.least_noise(NOISE_RANGE[0]),
        )

    def _blocking(self, n_rows: int, labels: Indices | None, seed: int) -> Blocking:
        """Partition of rows into blocks, "auto" resolved; `labels` (n,) are 0..p-1 for blocks of the user."""
        if labels is not None:
            n_blocks = int(labels.max()) + 1
        elif self.n_blocks == "auto":
            n_blocks = choose_n_blocks(n_rows, self.n_frequencies)
        else:
            n_blocks = self.n_blocks
        if n_blocks > n_rows:
            raise ValueError(f"n_blocks={n_blocks} must be at most the number of rows, found {n_rows} rows")
        check_local_memory(n_blocks, self.n_frequencies, self.n_draws)
        return Blocking(self.partition, n_blocks, labels, seed)

    def _layout(self, learner: Learner) -> Layout:
        """Sizes of the posterior."""
        n_weights = learner.objective.n_weights(self.n_frequencies)
        return Layout(self.n_frequencies, self._n_inputs, n_weights, self.posterior)

    def _check_layout(self, learner: Learner) -> None:
        """Refuse to continue from a solution of another shape."""
        layout, last = self._layout(learner), self._parameters.layout
        if last != layout or learner.base != self._context.base:
            raise ValueError(
                f"cannot go on from {last} with base {self._context.base}: the settings now ask for {layout} "
                f"with base {learner.base}; set warm_start=False and call fit to start anew"
            )

    def _start(self, learner: Learner, units: Standardizer, rng: np.random.Generator) -> Parameters:
        """Initial parameters: the last solution with `warm_start`, a draw from the prior otherwise."""
        layout = self._layout(learner)
        check_memory(layout)
        check_base(learner.base, layout.dimension)
        start = initial_hyperparameters(self.lengthscale, self.signal_variance, self.noise_variance, units)
        parameters = Parameters.initial(layout, start, rng)
        if not (self.warm_start and hasattr(self, "_parameters")):
            return parameters
        self._check_layout(learner)
        last = self._parameters.copy()
        if not self.learn_hyperparameters:
            last.hyper[:] = parameters.hyper
        return last
