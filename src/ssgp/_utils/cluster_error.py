"""Clusters that do not work."""

__all__ = ["ClusterError"]


class ClusterError(RuntimeError):
    """A cluster that cannot do what it was asked for: it has no workers, or they die. The message says what to do."""
