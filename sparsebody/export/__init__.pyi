"""Public names of `sparsebody.export`, loaded at first use."""

from .robot_files import write_robot as write_robot
from .trajectory_export import export_trajectory as export_trajectory
