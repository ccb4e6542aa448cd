"""The spectral forest: many small sparse spectrum models, averaged, that say how sure they are."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array
from ssgp._utils.budget import Budget, interruptible
from ssgp._utils.checks import (
    COLUMNS,
    N_JOBS,
    WeightTotals,
    check_count,
    check_total_weight,
    columns_unchanged_on_error,
)
from ssgp._utils.devices import DeviceName
from ssgp._utils.progress import CallbackSupportMixin, StepHooks
from ssgp._utils.views import View
from ssgp._utils.whole_file import FilePath
from ssgp.distributions.filled import InputRows
from ssgp.distributions.row_labels import BatchLabels, LabelKind, RowLabels
from ssgp.distributions.table_regressor import Encoder, TableRegressor, stored_regressor
from ssgp.distributions.training_batches import GivenBatches, encoded_batches
from ssgp.forest.atom_choice import AtomOptions, AtomSetting, given_values
from ssgp.forest.fit import CHECKPOINTED
from ssgp.forest.fitted import CONTENTS, OPTIONAL_CONTENTS, FittedForest, check_contents
from ssgp.forest.machines import find_machine
from ssgp.forest.predictions import ForestDistribution, Predictions
from ssgp.forest.preparing import MakeTable, Preparation, Stored, fit_more_rows
from ssgp.forest.sizes import LEAST_MEMORY, AmountOfMemory
from ssgp.forest.targets import Target, TargetOptions, allowed_by, check_allowed
from ssgp.rows.row_files import RowFile, gathered
from ssgp.rows.row_tables import FileTable
from ssgp.rows.target_maps import TargetMap
from ssgp.saving.checkpoints import Checkpoint
from ssgp.saving.kinds import Kinds
from ssgp.spectrum.kernels import DEFAULT_KERNEL, KERNELS

__all__ = ["SpectralForestRegressor"]


@stored_regressor(CONTENTS, optional_parts=OPTIONAL_CONTENTS, relations=check_contents)
class SpectralForestRegressor(CallbackSupportMixin, TableRegressor):
    """Forest of local sparse spectrum Gaussian processes.

    Spectral frequencies and lengthscales are learned once, by stochastic ascent of a bound on the likelihood of local
    models. Balanced randomised trees, grown in the learned metric, then cut the rows into leaves. Every leaf has its
    own Bayesian model on the shared features, with its own noise, shrunk towards those of its ancestors. The
    prediction for a row is the mixture of the Student-t distributions of its leaves, calibrated on held-out rows and
    corrected where boosted trees find a pattern in its errors. Nothing needs tuning.

    Parameters
    ----------
    n_trees : int or "auto", default="auto"
        Number of trees; by default 16, or 8 from 100,000 rows on.
    n_frequencies : int or "auto", default="auto"
        m, the number of frequencies; by default one per 20 rows, from 30 to 100.
    leaf_size : int or "auto", default="auto"
        Number of rows in the smallest leaves to consider (held-out rows choose among leaves of one, four and sixteen
        times that size). By default as small as possible while the model takes no more than half the size of the
        table, or 4 MB if that is more, and no more than a quarter of `max_memory`; at least 20.
    kernel : {"squared-exponential", "matern-5/2", "matern-3/2", "matern-1/2", "auto"}, \
default="squared-exponential"
        Spectrum that the frequencies come from, from smooth functions to rough ones; ``"auto"`` uses the one with the
        highest bound after a short run of each.
    shrink : bool, default=True
        Whether leaves are shrunk towards their ancestors.
    n_sketches : int or "exact", default=1
        Number of random projections to keep of a leaf's covariance; ``"exact"`` keeps all of it, as (2m + 1 + d)^2
        numbers. With default sizes, that takes about a hundred times the memory of the whole model, which
        `max_memory` does not count.
    correct : bool, default=True
        Whether boosted trees, fitted to the errors of trees on rows they left out, correct errors that leaves have in
        common: effects of a day or a category with too few rows in any one leaf. Held-out rows decide how much of the
        correction is applied, if any.
    max_iter : int or "auto", default="auto"
        Maximum number of learning steps; by default 1,500, of which most small tables take 300 to 800.
    tol : float or None, default=0.005
        Learning has two rounds, of at most a third and two thirds of `max_iter` steps. A round winds down once the
        bound has not risen by this many nats per row for 50 steps, or for up to 200 if there are many blocks of rows;
        that is checked every 25 steps in the first three fifths of the round. With None, and on tables of 100,000
        rows or more, all steps are taken.
    learning_rate : float, default=0.04
        Step size of Adam. Up to 100,000 rows, steps of lengthscales and noise are up to ten times as long where
        gradients agree.
    max_time : float or None, default=None
        Time limit for `fit` in seconds: it takes fewer steps and fits fewer trees to stay within it. Results then
        depend on the speed of the machine.
    max_memory : float, str or "auto", default="auto"
        Bytes that `fit` may use in addition to the given table and a copy of it in float32, as a number or as in
        ``"4GB"`` or ``"512MiB"``. By default 2 GiB, and at least 64 MiB; for tables of more than 300 columns at least
        about 32 bytes for each of their values, of which 640 MiB are always enough. With little memory, there are
        fewer frequencies, and fewer trees are fitted at the same time; a fit that needs more is refused. Frequencies
        are learned and trees are grown on a random sample of at most an eighth of it, or 4,000,000 rows; all rows fill
        the leaves. `fit_batches` keeps to the limit whatever the number of rows.
    keep_rows : bool or "auto", default="auto"
        Whether to keep the training rows (in float32), which `partial_fit` needs. ``"auto"`` keeps them if they take
        less than 4 MB, or if the first call is `partial_fit`.
    encoder : "auto", TableEncoder or None, default="auto"
        What turns the columns of a data frame into numbers: by default a `TableEncoder`, if they are not all numbers or
        some are missing. An encoder with your own settings is always used, and None means no encoder.
    target : {"auto", "any", "positive", "non-negative", "count"} or pair of numbers, default="auto"
        What targets can be (docs/targets.md): any numbers, positive ones, zero or positive ones, the counts 0, 1, 2,
        ..., or numbers within the bounds of a pair such as ``(0, 100)``. Predictions keep to that, and the forest
        learns a suitable map of the target: for positive ones, a logarithm below some scale that held-out rows choose.
        ``"auto"`` does so if all targets are positive and that makes held-out rows clearly more probable; ``"any"``
        never does.
    atoms : "auto", None, number or list of numbers, default="auto"
        Values of the target that have a probability of their own (docs/targets.md), such as zero if many people spent
        nothing: boosted trees predict how probable they are, and the forest is fitted to the other rows. ``"auto"``
        tries values that at least a tenth of the rows share, and three times as many as any other value, and uses them
        if that gives held-out rows a lower CRPS. None means no atoms.
    warm_start : bool, default=False
        Whether `fit` continues from the last frequencies.
    device : str, default="cpu"
        Where to fit and predict: ``"cpu"``, ``"cuda"`` for a GPU (``"cuda:1"`` for the second one) or ``"auto"`` for a
        GPU if there is one (docs/gpu.md). GPUs need the extra ``ssgp[gpu]``. Saved files do not keep the device: a
        model fitted on either predicts on the other.
    n_jobs : int or None, default=-1
        Number of cores; by default all. Results do not depend on it. With four or more, the trees of a large table in
        memory are fitted in processes, which end after a minute without work; within
        ``joblib.parallel_config(backend="threading")`` they are fitted in threads, which keep fewer cores busy.
    random_state : int, RandomState or None, default=None
        Random seed.
    verbose : int, default=0
        1 prints about ten lines while learning and one per tree, 2 a hundred.

    Attributes
    ----------
    posterior_ : AffinePosterior
        q(theta) of the frequencies, in the units of the inputs.
    lengthscale_ : array of shape (d,)
        Learned lengthscales in the units of the inputs.
    feature_importances_ : array of shape (d,)
        How much correlation two random training rows lose, under a squared exponential kernel whatever `kernel` is,
        when one input is exchanged: ``1 - mean exp(-(x_j - x'_j)^2 / (2 l_j^2))``, scaled to sum to one.
    kernel_ : str
        The kernel.
    n_frequencies_, n_trees_, n_leaves_ : int
        Sizes of the model; leaves are counted per tree.
    leaf_size_ : float
        Mean number of rows in a leaf.
    calibration_ : Calibration
        Calibration from the held-out rows.
    corrected_share_ : float
        How much of the boosted trees' correction is applied, from 0 to 1.
    n_rows_ : int
        Number of training rows of the trees, without those at atoms; rows that repeat each other exactly count as one,
        unless groups were given.
    n_iter_ : int
        Learning steps taken.
    bound_trace_ : array of shape (n_steps,)
        Stochastic estimates of the bound on the local models' log p(y), in nats per row; for a mapped target, those on
        the mapped scale.
    target_kind_ : {"any", "positive", "non-negative", "count", "bounded"}
        What targets can be, as given or detected.
    target_map_ : SoftLog, Logit or None
        The map of the target; None if it is learned as it is.
    atoms_ : array of shape (k,)
        Values with probabilities of their own, ascending; empty if there are none.
    encoder_ : TableEncoder or None
        Encoder of the rows; None if they are used as they are. With an encoder, the attributes of shape (d,) describe
        its features (``encoder_.get_feature_names_out()``).
    n_features_in_, feature_names_in_
        Number and names of the columns of the table.

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

    n_trees: int | Literal["auto"]
    n_frequencies: int | Literal["auto"]
    leaf_size: int | Literal["auto"]
    n_sketches: int | Literal["exact"]
    max_iter: int | Literal["auto"]
    max_memory: float | str
    keep_rows: bool | Literal["auto"]
    target: Target
    atoms: AtomSetting

    _fitted: FittedForest

    posterior_ = View()
    lengthscale_ = View()
    feature_importances_ = View()
    kernel_ = View()
    n_frequencies_ = View()
    n_trees_ = View()
    n_leaves_ = View()
    leaf_size_ = View()
    calibration_ = View()
    corrected_share_ = View()
    n_rows_ = View()
    n_iter_ = View()
    bound_trace_ = View()

    _removed_settings: ClassVar[dict[str, Any]] = {"average_prunings": False}
    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **TableRegressor._parameter_constraints,
        "n_trees": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_frequencies": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "kernel": [StrOptions({*KERNELS, "auto"})],
        "shrink": ["boolean"],
        "n_sketches": [Interval(Integral, 1, None, closed="left"), StrOptions({"exact"})],
        "correct": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "max_memory": [Interval(Real, LEAST_MEMORY, None, closed="left"), AmountOfMemory()],
        "keep_rows": ["boolean", StrOptions({"auto"})],
        "target": [TargetOptions()],
        "atoms": [AtomOptions(), None],
        "warm_start": ["boolean"],
        "device": [DeviceName()],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_trees: int | Literal["auto"] = "auto",
        *,
        n_frequencies: int | Literal["auto"] = "auto",
        leaf_size: int | Literal["auto"] = "auto",
        kernel: str = DEFAULT_KERNEL,
        shrink: bool = True,
        n_sketches: int | Literal["exact"] = 1,
        correct: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        tol: float | None = 0.005,
        learning_rate: float = 0.04,
        max_time: float | None = None,
        max_memory: float | str = "auto",
        keep_rows: bool | Literal["auto"] = "auto",
        encoder: Encoder = "auto",
        target: Target = "auto",
        atoms: AtomSetting = "auto",
        warm_start: bool = False,
        device: str = "cpu",
        n_jobs: int | None = -1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.n_frequencies = n_frequencies
        self.leaf_size = leaf_size
        self.kernel = kernel
        self.shrink = shrink
        self.n_sketches = n_sketches
        self.correct = correct
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.max_time = max_time
        self.max_memory = max_memory
        self.keep_rows = keep_rows
        self.encoder = encoder
        self.target = target
        self.atoms = atoms
        self.warm_start = warm_start
        self.device = device
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
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        checkpoint: FilePath | None = None,
    ) -> Self:
        """Learn the frequencies and fit the trees.

        Ctrl-C while frequencies are learned or trees are fitted ends the fit early and leaves a usable model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array of numbers, or a pandas, polars or Arrow table with any columns (docs/tables.md).
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.
        groups : array-like of shape (n,), optional
            Labels of rows that belong together, such as users, hotels or machines. Each group is held out as a whole,
            so intervals are calibrated for rows of groups that `fit` has not seen. Labels are not inputs. Without
            groups, rows that repeat each other exactly, inputs and target, count as one row.
        time : array-like of shape (n,), optional
            When each row was recorded: datetimes, dates, or increasing numbers. Intervals are then calibrated for rows
            that come later: each of the last three tenths of the rows is predicted by trees fitted to the rows before
            it. Times are not inputs, and cannot be combined with `groups`.
        checkpoint : path-like, optional
            Folder to keep finished parts in: the frequencies, then every tree. If the process is killed at any moment,
            the same call continues from there, to the same model. Only one fit at a time may use the folder, and
            deleting it is up to you.

        Returns
        -------
        self : SpectralForestRegressor
            Fitted.
        """
        with self._budget(checkpoint) as budget:
            return self._fit(X, y, sample_weight, self.keep_rows, budget, groups=groups, time=time)

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def fit_batches(
        self,
        batches: GivenBatches,
        *,
        n_rows: int | None = None,
        folder: FilePath | None = None,
        checkpoint: FilePath | None = None,
    ) -> Self:
        """Fit to a table larger than memory, given in parts.

        The model is the same as that of `fit` with these rows in this order. The rows are read once, into a temporary
        file, and from there once per tree; the file takes 8 bytes per number, and half as much again for each thread.
        Memory is limited by `max_memory`, up to about 10^9 rows at its default. A table that needs encoding is read
        three more times: to find that out, to count its rows, and to fit the encoder to a sample of them.

        Parameters
        ----------
        batches : iterable of (X, y, sample_weight, groups, time), or function that returns one
            Parts of the table, as `fit` takes them: two to five items, None for those you do not have. If they need
            encoding, pass a function (or a list), because an iterator can be read only once.
        n_rows : int, optional
            Number of rows of all batches together, if you know it: rows that need encoding are then not counted.
        folder : path-like, optional
            Where to put the file; by default in the system's folder for temporary files.
        checkpoint : path-like, optional
            As in `fit`; the rows are read again.

        Returns
        -------
        self : SpectralForestRegressor
            Fitted.
        """
        if self.keep_rows is True:
            raise ValueError("keep_rows=True keeps all rows in memory: use fit, or set keep_rows='auto'")
        labels = BatchLabels(self.encoder)
        with (
            self._budget(checkpoint) as budget,
            columns_unchanged_on_error(self),
            self._gathered(batches, n_rows, folder, labels) as file,
        ):
            return self._fit_stored(file, FileTable, budget, labels.kind)

    def _fit_stored(
        self, stored: Stored, make_table: MakeTable[Stored], budget: Budget, kind: LabelKind | None = None
    ) -> Self:
        """Fit to rows that are not in memory: see `Preparation.fit_stored`."""
        self._fitted = self._preparation(budget, self.keep_rows, kind).fit_stored(stored, make_table)
        return self

    def _preparation(
        self, budget: Budget, keep_rows: bool | Literal["auto"], kind: LabelKind | None = None
    ) -> Preparation:
        """A fit to rows that have been checked, whose columns the estimator expects now."""
        return Preparation(self, budget, self._hooks, self._last(), keep_rows, kind)

    @contextmanager
    def _gathered(
        self, batches: GivenBatches, n_rows: int | None, folder: FilePath | None, labels: BatchLabels
    ) -> Iterator[RowFile]:
        """All rows of the batches in a file, in numbers."""
        encoder, numeric = encoded_batches(batches, self.encoder, n_rows)
        allowed, atoms = self._allowed(self.warm_start and hasattr(self, "_fitted"))
        check = partial(check_allowed, allowed, atoms=atoms)
        with gathered(self, labels.numbered(numeric), folder, check) as file:
            self._set_encoder(encoder)
            yield file

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        keep_rows: bool | Literal["auto"],
        budget: Budget,
        growing: bool = False,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        with columns_unchanged_on_error(self):
            labels, given = RowLabels(self.encoder), y
            X, y, weight, label = self._training_rows(X, y, sample_weight, labels.of(X, groups, time), growing=growing)
            allowed, atoms = self._allowed(self._last() is not None)
            check_allowed(allowed, given, sample_weight, atoms)
            if growing and weight is not None:
                check_total_weight(WeightTotals.of(weight), growing)
            labels.check()
            self._fitted = self._preparation(budget, keep_rows, labels.kind).fit_rows(X, y, weight, label)
            return self

    @contextmanager
    def _budget(self, checkpoint: FilePath | None) -> Iterator[Budget]:
        """The budget of a fit, to which the folder of the checkpoint belongs for as long."""
        find_machine(self.device)
        if checkpoint is None:
            yield Budget.of(self.max_time)
            return
        if self.max_time is not None:
            raise ValueError("checkpoint needs max_time=None: what is done in a time limit is not the same every time")
        kept = Checkpoint(checkpoint, Kinds(CHECKPOINTED))
        try:
            yield Budget.of(None, kept)
        finally:
            kept.release()

    def _hooks(self, n_steps: int, attributes: Callable[[], Mapping[str, Any]]) -> StepHooks:
        return StepHooks(self, n_steps, attributes, None, self.verbose)

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, n_steps: int = 0
    ) -> Self:
        """Add rows: they enter the sums of their leaves exactly, as if they had been there all along.

        The first call is `fit` with ``keep_rows=True``. Later calls keep units, trees, correction and calibration, and
        refill the leaves, with one pass over all rows per tree: prefer a few large calls to many small ones.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New inputs.
        y : array-like of shape (n,)
            New targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each new row counts for: see "Weights" in docs/mathematics.md.
        n_steps : int, default=0
            Further learning steps, on all rows. They change the frequencies, and the trees are grown and fitted again.
            Not possible after a fit with `groups` or `time`, because models keep no labels.

        Returns
        -------
        self : SpectralForestRegressor
            Fitted.
        """
        n_steps = check_count(n_steps, "n_steps", 0)
        if not hasattr(self, "_fitted"):
            return self._fit(X, y, sample_weight, True, Budget.of(self.max_time), growing=True)
        last = self._fitted
        if last.rows is None:
            raise ValueError("partial_fit needs the rows seen so far, and fit did not keep them: set keep_rows=True")
        if n_steps and last.held_out_by is not None:
            raise ValueError(
                f"partial_fit(n_steps={n_steps}) holds rows out anew, and does not know their {last.held_out_by}, by "
                f"which fit did: fit again with all rows and {last.held_out_by}=, or let n_steps be 0"
            )
        given = y
        X, y, weight, _ = self._more_rows(X, y, sample_weight)
        allowed, atoms = self._allowed(True)
        check_allowed(allowed, given, sample_weight, atoms)
        self._fitted = fit_more_rows(last, X, y, weight, self, n_steps, self._hooks)
        return self

    def _last(self) -> FittedForest | None:
        """The forest that this fit goes on from: the last one, if the settings still ask for its shape."""
        if not (self.warm_start and hasattr(self, "_fitted")):
            return None
        last = self._fitted.parameters
        if last.layout.n_inputs != self._n_inputs or self.n_frequencies not in ("auto", last.layout.n_frequencies):
            raise ValueError(
                f"cannot go on from {last.layout.n_frequencies} frequencies of {last.layout.n_inputs} inputs: now "
                f"n_frequencies={self.n_frequencies} and there are {self._n_inputs} inputs; "
                "set warm_start=False to start anew"
            )
        return self._fitted

    def predict_distribution(self, X: ArrayLike) -> ForestDistribution:
        """Predictive distributions of observations.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.

        Returns
        -------
        StudentMixture, or FilledDistribution if rows have values that fit never saw
            A distribution for each row, in the target's units. With a `target_map_`, it is a MappedDistribution of
            these or, for counts, a CountDistribution. With `atoms_`, it is an AtomDistribution, which has one of these
            for the rest.
        """
        rows = self._checked(X)
        return self._predictions.distribution(rows)

    def noise_variance(self, X: ArrayLike) -> Array:
        """Variance of the noise in the region of each row of X (n, d), shape (n,), in squared target units.

        For a mapped target, it is the variance on the mapped scale, times the squared slope of the target at the
        prediction. With atoms, it is that of the targets elsewhere.
        """
        rows = self._checked(X)
        return self._predictions.noise_variance(rows)

    @property
    def target_map_(self) -> TargetMap | None:
        """The map of the target, None where it is learned as it is."""
        return self._fitted.units.target_map

    @property
    def atoms_(self) -> Array:
        """Values with probabilities of their own, ascending."""
        atoms = self._fitted.atoms
        return np.empty(0) if atoms is None else atoms.values

    def _allowed(self, goes_on: bool) -> tuple[Target, Array | None]:
        """What targets must be, and atoms beside; those of a fit that goes on, as the last one has them."""
        if not goes_on:
            return self.target, given_values(self.atoms)
        return self.target if self.target_map_ is None else allowed_by(self.target_map_), self.atoms_

    @property
    def target_kind_(self) -> str:
        """What targets are, as given or found."""
        if self.target_map_ is None:
            return "any"
        kind = self.target_map_.kind
        return "non-negative" if kind == "positive" and self.atoms_.min(initial=1.0) == 0.0 else kind

    def _means(self, X: ArrayLike) -> Array:
        rows = self._checked(X)
        return self._predictions.means(rows)

    def _distributions(self, X: ArrayLike) -> Iterator[ForestDistribution]:
        rows = self._checked(X)
        return self._predictions.parts(rows)

    @property
    def _predictions(self) -> Predictions:
        """What predicts, by the device of the settings."""
        return Predictions(self._fitted, find_machine(self.device).predictor(self._fitted, self.n_jobs), self.n_jobs)

    def _checked(self, X: ArrayLike) -> InputRows:
        """Rows to predict, once there is a model."""
        # Asking scikit-learn takes a tenth of the time of one row's mean.
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if isinstance(X, np.ndarray) or self._fitted_encoder is not None or hasattr(self, "feature_names_in_"):
            return self._input_rows(X)
        rows = find_machine(self.device).own_rows(X, self.n_features_in_)
        return self._input_rows(X) if rows is None else InputRows(rows)

    def _stored_settings(self) -> dict[str, Any]:
        """Settings as files hold them: without the device, which belongs to a machine and not to the model.

        As in earlier files, that targets are taken as they are, and have no atoms, is not said.
        """
        settings = super()._stored_settings()
        unsaid = {"target": "any", "atoms": None}
        return {
            name: value
            for name, value in settings.items()
            if name != "device" and not (name in unsaid and _is_same(value, unsaid[name]))
        }

    @classmethod
    def _settings_of_file(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, from what files hold of them."""
        return super()._settings_of_file({"target": "any", "atoms": None, **settings})

    def _stored_attributes(self) -> dict[str, Any]:
        """Contents of a file: all attributes by name, and the parts of the fitted forest."""
        return {
            **{name: part for name, part in super()._stored_attributes().items() if name != "_fitted"},
            **{name: getattr(self, name) for name, view in vars(type(self)).items() if isinstance(view, View)},
            **self._fitted.stored_parts(),
        }

    def _restore_attributes(self, attributes: dict[str, Any]) -> None:
        super()._restore_attributes({name: part for name, part in attributes.items() if name in COLUMNS})
        self._fitted = FittedForest.restored(attributes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


def _is_same(value: Any, other: Any) -> bool:  # noqa: ANN401  settings
    return type(value) is type(other) and value == other
