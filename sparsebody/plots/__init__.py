"""Pictures: one figure a file, and the tables of what can be drawn of what."""

from sparsebody.plots.subjects import (
    MECHANISM_FIGURES,
    TRAJECTORY_FIGURES,
    Options,
    Subject,
    mechanism_subject,
    trajectory_subject,
)

__all__ = [
    "MECHANISM_FIGURES",
    "TRAJECTORY_FIGURES",
    "Options",
    "Subject",
    "mechanism_subject",
    "trajectory_subject",
]
