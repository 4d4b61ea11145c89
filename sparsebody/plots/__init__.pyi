"""Public names of `sparsebody.plots`, loaded at first use."""

# ruff: noqa: I001

# What is drawn, and where to
from .subjects import (
    MechanismPictures as MechanismPictures,
    Options as Options,
    Subject as Subject,
    trajectory_subject as trajectory_subject,
)
from .style import check_format as check_format, save_figure as save_figure

# Curves
from .curves import (
    Line as Line,
    plot_costs as plot_costs,
    plot_dispersion as plot_dispersion,
    plot_growth as plot_growth,
    plot_joint_forces as plot_joint_forces,
)

# Matrices
from .elimination_orders import (
    plot_loop_blocks as plot_loop_blocks,
    plot_orders as plot_orders,
    plot_spy as plot_spy,
)

# Elimination orders
from .elimination_orders import (
    block_points as block_points,
    plot_elimination as plot_elimination,
    plot_elimination_tree as plot_elimination_tree,
    plot_fill as plot_fill,
)
