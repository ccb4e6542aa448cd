"""Pictures of a model's predictions, and of how far they can be trusted.

They need matplotlib: ``pip install 'ssgp[plot]'``.

Every picture is a `Display`, as scikit-learn's are: ``from_estimator`` computes what is drawn, ``plot`` draws it.
Functions draw several that belong together.
"""

from ssgp.plot.bound import BoundDisplay
from ssgp.plot.calibration import CoverageByDeviationDisplay, CoverageDisplay, ErrorByDeviationDisplay, PITDisplay
from ssgp.plot.effects import EffectDisplay
from ssgp.plot.exchange import Importances, importances
from ssgp.plot.importance import ImportanceDisplay, SpreadImportanceDisplay
from ssgp.plot.observations import IntervalDisplay, ObservedDisplay
from ssgp.plot.panels import plot_calibration, plot_effects, plot_uncertainty
from ssgp.plot.uncertainty import UncertaintyDisplay

__all__ = [
    "BoundDisplay",
    "CoverageByDeviationDisplay",
    "CoverageDisplay",
    "EffectDisplay",
    "ErrorByDeviationDisplay",
    "ImportanceDisplay",
    "Importances",
    "IntervalDisplay",
    "ObservedDisplay",
    "PITDisplay",
    "SpreadImportanceDisplay",
    "UncertaintyDisplay",
    "importances",
    "plot_calibration",
    "plot_effects",
    "plot_uncertainty",
]
