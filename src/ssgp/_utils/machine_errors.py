"""Machines that do not do what they were asked for. Nothing is imported here: the command line names these at once."""

__all__ = ["ClusterError", "DeviceError"]


class ClusterError(RuntimeError):
    """A cluster that cannot do what it was asked for: it has no workers, or they die. The message says what to do."""


class DeviceError(RuntimeError):
    """A GPU that was asked for and cannot be used; the message says why."""
