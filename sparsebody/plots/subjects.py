"""The figures that can be drawn of a mechanism or of a trajectory, each with a name, its kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, UnknownNameError, check_name
from sparsebody.model import Mechanism, State, System, files
from sparsebody.plots.curves import plot_drift, plot_energy, plot_path
from sparsebody.plots.drawing import plot_mechanism, plot_motion
from sparsebody.plots.elimination_orders import plot_spy
from sparsebody.plots.outline import Outline, mechanism_outline
from sparsebody.simulation.trajectory import Trajectory

_MOST_TRACED = 6  # bodies traced where none is named


@dataclass(frozen=True)
class Options:
    """Options of figures; each figure uses those that apply to it."""

    bodies: tuple[str, ...] = ()  # whose paths are drawn; default: a few, equally spaced
    instants: int = 6  # poses in the figure "motion"
    ordering: str = "auto"
    factorization: str = "auto"


class Subject:
    """A mechanism or trajectory to draw; `figures` are the kinds, which are names of methods."""

    figures: ClassVar[tuple[str, ...]]

    @property
    def default(self) -> tuple[str, ...]:
        """The kinds that are drawn unless some are named."""
        return self.figures

    def kinds(self, names: Sequence[str]) -> list[str]:
        """Return the kinds of these names: the default ones for no names, every one for "all".

        UnknownNameError if there is no such kind.
        """
        for kind in names:
            if kind != "all" and kind not in self.figures:
                known = ", ".join((*self.figures, "all"))
                raise UnknownNameError(f"kind is {kind!r}; this can be drawn as {known}")
        return list(self.figures if "all" in names else dict.fromkeys(names or self.default))

    def figure(self, kind: str) -> Figure:
        """Return the figure of one kind."""
        check_name(kind, self.figures, "kind")
        figure: Figure = getattr(self, kind)()
        return figure


@dataclass(frozen=True, eq=False)
class MechanismPictures(Subject):
    """A mechanism and the state that it is drawn at."""

    original: Mechanism
    options: Options
    given_state: State | None = None  # default: the consistent initial one

    figures = ("mechanism", "spy")

    @cached_property
    def system(self) -> System:
        """The compiled mechanism."""
        return self.original.compile()

    @cached_property
    def state(self) -> State:
        """The state that is drawn."""
        return consistent_state(self.system) if self.given_state is None else self.given_state

    @cached_property
    def outline(self) -> Outline:
        """The lines and points that are drawn for bodies and joints."""
        return mechanism_outline(self.original, self.system)

    def mechanism(self) -> Figure:
        """Return the mechanism at its state."""
        return plot_mechanism(self.outline, self.state, self.system.gravity, self.original.name)

    def spy(self) -> Figure:
        """Return the matrix of (8.64) before and after ordering, dependent rows left out."""
        dynamics = ForwardDynamics(
            self.system,
            self.state,
            ordering=self.options.ordering,
            factorization=self.options.factorization,
        )
        title = f"{self.original.name}: matrix of forward dynamics"
        return plot_spy(dynamics.structure.pattern, dynamics.choice.order, dynamics.ordering, title)


@dataclass(frozen=True, eq=False)
class TrajectoryPictures(Subject):
    """A trajectory, with its mechanism where the file holds it."""

    record: Trajectory
    options: Options

    figures = ("motion", "trajectory", "energy", "drift", "spy")

    @property
    def default(self) -> tuple[str, ...]:
        """The kinds that are drawn unless some are named."""
        has_mechanism = self.record.source is not None
        return ("motion", "energy", "spy") if has_mechanism else ("trajectory", "energy", "drift")

    @cached_property
    def model(self) -> MechanismPictures:
        """The mechanism that moves, at its first recorded state."""
        record = self.record
        if record.source is None:
            raise ModelError(
                f"{record.path or record.name}: holds no mechanism, so only the kinds "
                "trajectory, energy and drift can be drawn; simulate with Output(source=...)"
            )
        mechanism = files.mechanism_from_text(record.source, f"{record.path}, source")
        return MechanismPictures(mechanism, self.options, record.state(0))

    def motion(self) -> Figure:
        """Return the mechanism at a few instants, and the path of one body."""
        record = self.record
        states = [record.state(int(k)) for k in record.equally_spaced(self.options.instants)]
        reach = np.linalg.norm(record.position - record.position[0], axis=2).max(axis=0)
        farthest = record.body_names[int(np.argmax(reach))]
        path = record.position[:, record.body((*self.options.bodies, farthest)[0])]
        gravity = self.model.system.gravity
        return plot_motion(self.model.outline, states, gravity, path, record.name)

    def trajectory(self) -> Figure:
        """Return x, y and z of the centers of mass over time, of some bodies unless named."""
        record, names = self.record, self.record.body_names
        spread = np.linspace(0, len(names) - 1, min(len(names), _MOST_TRACED)).round()
        traced = self.options.bodies or [names[int(body)] for body in spread]
        positions = {name: record.position[:, record.body(name)] for name in traced}
        return plot_path(record.time, positions, f"{record.name}: centers of mass")

    def energy(self) -> Figure:
        """Return the energies over time."""
        record = self.record
        return plot_energy(record.time, record.kinetic_energy, record.potential_energy, record.name)

    def drift(self) -> Figure:
        """Return the constraint errors over time."""
        record = self.record
        return plot_drift(record.time, record.position_error, record.velocity_error, record.name)

    def spy(self) -> Figure:
        """Return the matrix at the first state."""
        return self.model.spy()


def trajectory_subject(path: Path, options: Options, *, recover: bool = False) -> Subject:
    """Return the figures of a trajectory file; with `recover` also of a damaged one.

    SimulationError if the file is no trajectory, or has no body of a name in the options.
    """
    record = Trajectory.load(path, recover=recover)
    for name in options.bodies:
        record.body(name)
    return TrajectoryPictures(record, options)
