"""A page that shows what a model learned and how far it can be trusted. It needs matplotlib: ``ssgp[plot]``."""

from ssgp.report.writing import write_report

__all__ = ["write_report"]
