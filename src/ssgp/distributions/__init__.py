"""Predictions: distributions of rows, the methods that every regressor has, and recalibration."""

from ssgp.distributions.atoms import AtomDistribution
from ssgp.distributions.base import Distribution
from ssgp.distributions.counts import CountDistribution
from ssgp.distributions.filled import FilledDistribution
from ssgp.distributions.mapped import MappedDistribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.pipeline import Pipeline
from ssgp.distributions.recalibrated import RecalibratedRegressor, recalibrate
from ssgp.distributions.recalibration import Recalibration
from ssgp.distributions.stretched import StretchedDistribution
from ssgp.distributions.student_mixture import StudentMixture

__all__ = [
    "AtomDistribution",
    "CountDistribution",
    "Distribution",
    "FilledDistribution",
    "MappedDistribution",
    "NormalDistribution",
    "Pipeline",
    "RecalibratedRegressor",
    "Recalibration",
    "StretchedDistribution",
    "StudentMixture",
    "recalibrate",
]
