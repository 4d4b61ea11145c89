"""Pictures: one figure a function, and what can be drawn of a mechanism or a trajectory."""

from sparsebody.plots.subjects import Options, Subject, mechanism_subject, trajectory_subject

__all__ = ["Options", "Subject", "mechanism_subject", "trajectory_subject"]
