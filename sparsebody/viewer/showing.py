"""3-D pages of a motion, pose, mode or path: below a notebook's cell, elsewhere in a file."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError
from sparsebody.linearization.vibrations import Modes
from sparsebody.model import Mechanism, State, System
from sparsebody.simulation import Trajectory, trajectory_tables
from sparsebody.simulation.implicit.continuation import EquilibriumPath
from sparsebody.viewer.page_file import Page
from sparsebody.viewer.viewer_pages import motion_page

Subject = Mechanism | System | Trajectory | Modes | EquilibriumPath


def show(
    subject: Subject,
    state: State | None = None,
    *,
    system: System | None = None,
    mode: int = 0,
    color: str | None = None,
    n_frames: int | None = None,
    output: str | Path | None = None,
) -> Page:
    """Show a mechanism, a motion, modes or a path of equilibria as an interactive 3-D page.

    Parameters
    ----------
    subject : Mechanism, System, Trajectory, Modes or EquilibriumPath
        What to show. A path of equilibria is played from its first point to its last in a second.
    state : State, optional
        Pose of a mechanism or a system; default: the consistent one nearest to the initial one.
    system : System, optional
        That of a trajectory whose file does not hold its mechanism.
    mode : int
        Which of the modes is played.
    color : str, optional
        The quantity that colors show when the page opens: plain, speed, energy, load (of joints,
        where reactions are recorded) or order (of elimination).
    n_frames : int, optional
        Largest number of frames; default: 400, and for more than 1000 bodies fewer.
    output : path-like, optional
        HTML file to write. Default: in a notebook none, else a temporary file; its path is printed.

    Returns
    -------
    Page
        A notebook shows it where it is the last value of a cell; `save` writes it to a file.

    Raises
    ------
    ModelError
        If a trajectory holds no mechanism, and no system is given; for any other kind of subject.
    UnknownNameError
        If the color is unknown, or shows what was not recorded.
    SimulationError
        If there is no such mode.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import sparsebody as sb
    >>> swing = sb.build("four-bar").compile()
    >>> trajectory = sb.simulate(swing, duration=0.1, step=0.01)
    >>> page = trajectory.show(output="four-bar.html")  # doctest: +SKIP
    """
    page = page_of(subject, state, system=system, mode=mode, color=color, n_frames=n_frames)
    if output is not None:
        page.save(output)
    elif not _in_notebook():
        with tempfile.NamedTemporaryFile(
            prefix="sparsebody-", suffix=".html", delete=False
        ) as file:
            path = Path(file.name)
        print(page.save(path))
    return page


def page_of(
    subject: Subject,
    state: State | None = None,
    *,
    system: System | None = None,
    mode: int = 0,
    **options: Any,
) -> Page:
    """Return the page that `show` shows; parameters and errors are its own."""
    match subject:
        case Mechanism():
            compiled = subject.compile()
            pose = consistent_state(compiled) if state is None else state
            return motion_page(compiled, pose, **options)
        case System():
            pose = consistent_state(subject) if state is None else state
            return motion_page(subject, pose, **options)
        case Trajectory():
            system = system or subject.system or trajectory_tables.system_of(subject, None)
            if system is None:
                raise ModelError(
                    f"{subject.path or subject.name}: holds no mechanism; give the system that was "
                    "simulated, or simulate with Output(source=...)"
                )
            return motion_page(system, subject, **options)
        case Modes():
            motion = subject.motion(mode)
            title = f"{subject.system.name}: mode {mode + 1}, {subject.frequency[mode]:.4g} Hz"
            return motion_page(subject.system, motion, title=title, **options)
        case EquilibriumPath():
            first, last = subject.parameter[[0, -1]]
            title = f"{subject.system.name}: equilibria, parameter {first:.4g} to {last:.4g}"
            options = {"color": "plain"} | {k: v for k, v in options.items() if v is not None}
            return motion_page(subject.system, subject.motion(), title=title, **options)
    raise ModelError(
        f"cannot show {type(subject).__name__}; give a Mechanism, System, Trajectory, Modes or a "
        "path of equilibria"
    )


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this, which shows what cells return."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
