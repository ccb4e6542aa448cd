"""The spectral forest: many small sparse spectrum models, averaged, that say how sure they are."""

import copy
import warnings
from dataclasses import replace
from functools import partial
from math import inf
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ssgp.bases import Normal
from ssgp.blocking import Blocking
from ssgp.calibration import Calibration
from ssgp.fitted import in_nats
from ssgp.forest import Forest, TreeRecipe
from ssgp.learning import Learner
from ssgp.mixture import StudentMixture
from ssgp.objectives import LocalObjective
from ssgp.optimizers import Adam
from ssgp.parameters import Hyperparameters, Layout, Parameters
from ssgp.planting import Planter, Seedling
from ssgp.posterior import AffinePosterior, finish
from ssgp.progress import CallbackSupportMixin, StepHooks
from ssgp.rows import Rows, Standardizer
from ssgp.sizes import ForestSizes, choose_sizes
from ssgp.spectra import KERNELS, tail_scales
from ssgp.threads import one_blas_thread
from ssgp.training import Schedule
from ssgp.validation import check_inputs, check_rows, columns_unchanged_on_error

__all__ = ["SpectralForestRegressor"]

Array = NDArray[np.floating]

LEARNING_ROWS = 200_000
PREDICT_ROWS = 1 << 17
IMPORTANCE_PAIRS = 4096


class SpectralForestRegressor(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Forest of local sparse spectrum Gaussian processes.

    Spectral frequencies and lengthscales are learned once, by stochastic ascent of a bound of the
    likelihood of local models. Balanced randomised trees, grown in the learned metric, then cut the rows into
    leaves; every leaf has a Bayesian model of its own on the shared waves, with its own noise, shrunk
    towards its ancestors'. A row is predicted by the mixture of its leaves' Student-t's, calibrated on
    rows that were held out. Nothing needs tuning.

    Parameters
    ----------
    n_trees : int or "auto", default="auto"
        Number of trees; 8 by default.
    n_frequencies : int or "auto", default="auto"
        m, the number of waves; one for 50 rows, from 30 to 100, by default.
    leaf_size : int or "auto", default="auto"
        Rows of the smallest leaves that are considered (the held-out rows choose among leaves of one, four and
        sixteen times the size). By default as small as keeps the model at half the size of the table.
    kernel : {"squared-exponential", "matern-5/2", "matern-3/2", "matern-1/2", "auto"}, \
default="squared-exponential"
        Spectrum from which the frequencies come, from smooth functions to rough ones; ``"auto"`` takes
        the one of the highest bound after a short run of each.
    shrink : bool, default=True
        Whether leaves are shrunk towards their ancestors.
    average_prunings : bool, default=False
        Whether to predict by all nodes on a row's path, weighted by the exact average over all prunings of the
        tree, in place of the level of leaves that the held-out rows choose. Larger models, slower predictions.
    n_sketches : int or "exact", default=1
        Random projections kept of a leaf's covariance; ``"exact"`` keeps all of it, in (2m)^2 numbers.
    max_iter : int or "auto", default="auto"
        Upper limit of the learning steps; 1,500 by default.
    tol : float or None, default=1e-3
        Learning winds down when the bound has not risen by so many nats a row for 1,000 steps.
    learning_rate : float, default=0.04
        Step size of Adam.
    max_time : float or None, default=None
        Seconds that `fit` should take at most: fewer steps and trees are made to fit. Answers then
        depend on the machine's speed.
    keep_rows : bool, default=False
        Whether to keep the training rows (in float32), which `partial_fit` needs. A model whose first
        call is `partial_fit` keeps them anyway.
    warm_start : bool, default=False
        Whether `fit` goes on from the last frequencies.
    n_jobs : int or None, default=-1
        Threads, all of the machine's by default. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1 prints some ten lines of learning and one a tree, 2 a hundred.

    Attributes
    ----------
    posterior_ : AffinePosterior
        q(theta) of the frequencies, in the units of the inputs.
    lengthscales_ : array of shape (d,)
        Learned lengthscales in the units of the inputs.
    feature_importances_ : array of shape (d,)
        How much of the prior correlation of two random training rows is lost by exchanging one input,
        ``1 - mean exp(-(x_j - x'_j)^2 / (2 l_j^2))``, scaled to sum to one.
    kernel_ : str
        The kernel.
    n_frequencies_, n_trees_, n_leaves_ : int
        Sizes of the model; leaves are counted a tree.
    leaf_size_ : float
        Mean number of rows in a leaf.
    calibration_ : Calibration
        What the held-out rows said.
    n_iter_ : int
        Learning steps taken.
    bound_trace_ : array of shape (n_iter_,)
        Stochastic estimates of the bound of the local models' log p(y), in nats.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import SpectralForestRegressor
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=2000)
    >>> model = SpectralForestRegressor(random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(np.array([[2.0]]), coverage=0.95).T
    >>> bool(low[0] < np.sin(2.0) < high[0]), bool(0.3 < high[0] - low[0] < 0.5)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        "n_trees": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_frequencies": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "kernel": [StrOptions({*KERNELS, "auto"})],
        "shrink": ["boolean"],
        "average_prunings": ["boolean"],
        "n_sketches": [Interval(Integral, 1, None, closed="left"), StrOptions({"exact"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "keep_rows": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_trees: int | Literal["auto"] = "auto",
        *,
        n_frequencies: int | Literal["auto"] = "auto",
        leaf_size: int | Literal["auto"] = "auto",
        kernel: str = "squared-exponential",
        shrink: bool = True,
        average_prunings: bool = False,
        n_sketches: int | Literal["exact"] = 1,
        max_iter: int | Literal["auto"] = "auto",
        tol: float | None = 1e-3,
        learning_rate: float = 0.04,
        max_time: float | None = None,
        keep_rows: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = -1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.n_frequencies = n_frequencies
        self.leaf_size = leaf_size
        self.kernel = kernel
        self.shrink = shrink
        self.average_prunings = average_prunings
        self.n_sketches = n_sketches
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.max_time = max_time
        self.keep_rows = keep_rows
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """fit"""
        with columns_unchanged_on_error(self):
            X, y, weight, _ = check_rows(self, X, y, sample_weight, None, reset=True)
            vars(self).update(self._fitted(X, y, weight, self.keep_rows))
        return self

    def _fitted(self, X: Array, y: Array, weight: Array | None, keep_rows: bool) -> dict[str, Any]:
        began = monotonic()
        deadline = inf if self.max_time is None else began + self.max_time
        units = Standardizer.fit(X, y, weight, True)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        start, order, steps, seeds = np.random.default_rng(seed).spawn(4)
        block_seed, tree_seed = seeds.integers(2**31, size=2).tolist()
        rows = units.rows(X, y, weight, order.permutation(len(y)), np.array([0, len(y)]))
        sizes = self._sizes(rows)
        tail = tail_scales(self.kernel, sizes.n_frequencies)
        d = X.shape[1]
        layout = Layout(sizes.n_frequencies, d, 0, "diagonal")
        parameters = Parameters.initial(layout, Hyperparameters(np.full(d, np.sqrt(d)), 1.0, 0.5), start)
        learner = Learner(LocalObjective(trend=True), Normal(), True, False, partial(Adam, self.learning_rate), "blocks", "learned", np.ones(d), sizes.block_size, 1, 1, Schedule(sizes.max_iter, self.tol), tail)
        some = rows.reorder(np.arange(min(len(rows.y), LEARNING_ROWS)), np.array([0, min(len(rows.y), LEARNING_ROWS)]))
        blocking = Blocking("tree", max(1, round(len(some.y) / sizes.block_size)), None, block_seed)
        bounds=[]
        with one_blas_thread():
            learner.ascend(parameters, some, blocking, learner.make_optimizers(), steps, lambda b: bounds.append(b))
        own = parameters.hyperparameters
        t1=monotonic()
        unit = own.frequency_deviation if tail is None else tail*own.frequency_deviation
        def draw(rng):
            u = parameters.shift + np.exp(parameters.log_scale)*rng.standard_normal(layout.n_theta)
            return u.reshape(sizes.n_frequencies, d)*unit
        recipe = TreeRecipe(TreeRecipe.groups_of(sizes.depth), 2**sizes.depth, None if self.n_sketches=="exact" else self.n_sketches, self.shrink, self.average_prunings)
        planter = Planter(draw, own, recipe, sizes, tree_seed, self.n_jobs, deadline)
        forest, seedlings = planter(rows)
        self._times=(t1-began, monotonic()-t1)
        return dict(_forest=forest,_units=units,calibration_=forest.calibration,lengthscales_=own.lengthscale*units.x_scale, n_iter_=len(bounds), sizes_=sizes)

    def _sizes(self, rows):
        a=lambda v: None if v in ("auto","exact") else v
        return choose_sizes(*rows.X.shape, a(self.n_frequencies), a(self.n_trees), a(self.leaf_size), a(self.max_iter), a(self.n_sketches))

    def predict(self, X, return_std=False):
        X = check_inputs(self, X); Z=self._units.inputs(X)
        if return_std:
            mix=self._forest.calibration(self._forest.components(Z,self.n_jobs)); return self._units.y_mean+self._units.y_scale*mix.mean(), self._units.y_scale*np.sqrt(mix.variance())
        return self._units.y_mean+self._units.y_scale*self._forest.means(Z,self.n_jobs)
    def _mixture(self, X):
        m=self._forest.calibration(self._forest.components(self._units.inputs(check_inputs(self, X)),self.n_jobs)); s=self._units.y_scale
        return StudentMixture(self._units.y_mean+s*m.location, s*m.scale, m.dof, m.share)
