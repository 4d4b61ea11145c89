"""What a picture is made of: a trajectory or a mechanism, and the figures of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.files import mechanism_from_text
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.plots.curves import plot_drift, plot_energy, plot_path
from sparsebody.plots.drawing import plot_mechanism, plot_motion
from sparsebody.plots.outline import Outline, mechanism_outline
from sparsebody.plots.spy import plot_spy
from sparsebody.simulation.records.trajectory import Trajectory

_MOST_TRACED = 6  # bodies traced where none is named


@dataclass(frozen=True)
class Options:
    """Choices that some of the figures know."""

    bodies: tuple[str, ...] = ()  # to trace; none: some of all
    instants: int = 6  # of a picture of the motion
    ordering: str = "auto"
    factorization: str = "auto"


@dataclass(frozen=True, eq=False)
class MechanismPictures:
    """A mechanism and the state that it is drawn at."""

    mechanism: Mechanism
    options: Options
    given_state: State | None = None  # default: the consistent initial one

    @cached_property
    def system(self) -> System:
        """The compiled mechanism."""
        return self.mechanism.compile()

    @cached_property
    def state(self) -> State:
        """The state that is drawn."""
        return consistent_state(self.system) if self.given_state is None else self.given_state

    @cached_property
    def outline(self) -> Outline:
        """What is drawn."""
        return mechanism_outline(self.mechanism, self.system)

    def picture(self) -> Figure:
        """Return the mechanism at its state."""
        name = self.mechanism.name
        return plot_mechanism(self.outline, self.state, self.system.gravity, name)

    def spy(self) -> Figure:
        """Return the matrix of (8.64) before and after ordering, dependent rows left out."""
        dynamics = ForwardDynamics(
            self.system,
            self.state,
            ordering=self.options.ordering,
            factorization=self.options.factorization,
        )
        title = f"{self.mechanism.name}: matrix of forward dynamics"
        return plot_spy(dynamics.structure.pattern, dynamics.choice.order, dynamics.ordering, title)


@dataclass(frozen=True, eq=False)
class TrajectoryPictures:
    """A trajectory, with its mechanism where the file holds it."""

    trajectory: Trajectory
    options: Options

    @cached_property
    def model(self) -> MechanismPictures:
        """The mechanism that moves, at its first recorded state."""
        trajectory = self.trajectory
        if trajectory.source is None:
            raise ModelError(
                f"{trajectory.path or trajectory.name}: holds no mechanism, so only kinds "
                "trajectory, energy and drift can be drawn; simulate with a source"
            )
        mechanism = mechanism_from_text(trajectory.source, f"{trajectory.path}, source")
        return MechanismPictures(mechanism, self.options, trajectory.state(0))

    def motion(self) -> Figure:
        """Return the mechanism at a few instants, and the path of one body."""
        trajectory = self.trajectory
        last = len(trajectory) - 1
        times = np.linspace(trajectory.time[0], trajectory.time[last], self.options.instants)
        records = np.unique(np.clip(np.searchsorted(trajectory.time, times - 1e-9), 0, last))
        states = [trajectory.state(int(record)) for record in records]
        traced = trajectory.body(self._farthest())
        return plot_motion(
            self.model.outline,
            states,
            self.model.system.gravity,
            trajectory.position[:, traced],
            trajectory.name,
        )

    def paths(self) -> Figure:
        """Return the coordinates of the traced bodies over time."""
        trajectory = self.trajectory
        positions = {name: trajectory.position[:, trajectory.body(name)] for name in self._traced()}
        return plot_path(trajectory.time, positions, f"{trajectory.name}: centers of mass")

    def energy(self) -> Figure:
        """Return the energies over time."""
        trajectory = self.trajectory
        return plot_energy(
            trajectory.time, trajectory.kinetic_energy, trajectory.potential_energy, trajectory.name
        )

    def drift(self) -> Figure:
        """Return the constraint errors over time."""
        trajectory = self.trajectory
        return plot_drift(
            trajectory.time, trajectory.position_error, trajectory.velocity_error, trajectory.name
        )

    def spy(self) -> Figure:
        """Return the matrix at the first state."""
        return self.model.spy()

    def _farthest(self) -> str:
        """Return the body whose path is drawn: the first asked for, or the one that moves most."""
        if self.options.bodies:
            return self.options.bodies[0]
        position = self.trajectory.position
        reach = np.linalg.norm(position - position[0], axis=2).max(axis=0)
        return self.trajectory.body_names[int(np.argmax(reach))]

    def _traced(self) -> Sequence[str]:
        """Return the bodies asked for, or some that are spread over the mechanism."""
        names = self.trajectory.body_names
        spread = np.linspace(0, len(names) - 1, min(len(names), _MOST_TRACED)).round()
        return self.options.bodies or [names[int(body)] for body in spread]


MECHANISM_FIGURES: dict[str, Callable[[MechanismPictures], Figure]] = {
    "mechanism": MechanismPictures.picture,
    "spy": MechanismPictures.spy,
}
TRAJECTORY_FIGURES: dict[str, Callable[[TrajectoryPictures], Figure]] = {
    "motion": TrajectoryPictures.motion,
    "trajectory": TrajectoryPictures.paths,
    "energy": TrajectoryPictures.energy,
    "drift": TrajectoryPictures.drift,
    "spy": TrajectoryPictures.spy,
}


@dataclass(frozen=True, eq=False)
class Subject:
    """The figures that can be drawn of something, by kind."""

    figures: Mapping[str, Callable[[], Figure]]
    default: tuple[str, ...] = field(default=())

    def kinds(self, names: Sequence[str]) -> list[str]:
        """Return the kinds asked for; none: the default ones, "all": every one.

        Raises
        ------
        UnknownNameError
            For a kind that cannot be drawn of this.
        """
        for kind in names:
            if kind != "all" and kind not in self.figures:
                known = ", ".join((*self.figures, "all"))
                raise UnknownNameError(f"kind is {kind!r}; this can be drawn as {known}")
        if "all" in names:
            return list(self.figures)
        return list(dict.fromkeys(names or self.default))

    def figure(self, kind: str) -> Figure:
        """Return one of the figures."""
        return self.figures[kind]()


def mechanism_subject(mechanism: Mechanism, options: Options) -> Subject:
    """Return what can be drawn of a mechanism."""
    pictures = MechanismPictures(mechanism, options)
    return Subject(
        {kind: partial(draw, pictures) for kind, draw in MECHANISM_FIGURES.items()},
        tuple(MECHANISM_FIGURES),
    )


def trajectory_subject(path: Path, options: Options, *, recover: bool = False) -> Subject:
    """Return what can be drawn of a trajectory file, or with `recover` of what is left of one.

    Raises
    ------
    SimulationError
        If it is none, or lacks a body to be traced.
    """
    trajectory = Trajectory.load(path, recover=recover)
    for name in options.bodies:
        trajectory.body(name)
    pictures = TrajectoryPictures(trajectory, options)
    default: tuple[str, ...] = ("motion", "energy", "spy")
    if trajectory.source is None:
        default = ("trajectory", "energy", "drift")
    figures = {kind: partial(draw, pictures) for kind, draw in TRAJECTORY_FIGURES.items()}
    return Subject(figures, default)
