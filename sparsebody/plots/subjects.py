"""Figures of a trajectory or a mechanism, by kinds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model import Mechanism, State, System, files
from sparsebody.plots.curves import plot_drift, plot_energy, plot_path
from sparsebody.plots.drawing import plot_mechanism, plot_motion
from sparsebody.plots.elimination_orders import plot_spy
from sparsebody.plots.outline import Outline, mechanism_outline
from sparsebody.simulation.trajectory import Trajectory

_MOST_TRACED = 6  # bodies traced where none is named


@dataclass(frozen=True)
class Options:
    """Choices that some of the figures know."""

    bodies: tuple[str, ...] = ()  # to trace; none: some of all
    instants: int = 6  # of a picture of the motion
    ordering: str = "auto"
    factorization: str = "auto"


class Subject:
    """What can be drawn, by the kinds of its `figures`: names of methods that return them."""

    figures: ClassVar[tuple[str, ...]]

    @property
    def default(self) -> tuple[str, ...]:
        """The kinds that are drawn where none is asked for."""
        return self.figures

    def kinds(self, names: Sequence[str]) -> list[str]:
        """Return the kinds asked for; none: the default ones, "all": every one.

        Raises UnknownNameError for a kind that cannot be drawn of this.
        """
        for kind in names:
            if kind != "all" and kind not in self.figures:
                known = ", ".join((*self.figures, "all"))
                raise UnknownNameError(f"kind is {kind!r}; this can be drawn as {known}")
        return list(self.figures if "all" in names else dict.fromkeys(names or self.default))

    def figure(self, kind: str) -> Figure:
        """Return one of the figures."""
        (known,) = self.kinds([kind])
        figure: Figure = getattr(self, known)()
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
        """What is drawn."""
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
        """The kinds that are drawn where none is asked for."""
        is_whole = self.record.source is not None
        return ("motion", "energy", "spy") if is_whole else ("trajectory", "energy", "drift")

    @cached_property
    def model(self) -> MechanismPictures:
        """The mechanism that moves, at its first recorded state."""
        record = self.record
        if record.source is None:
            raise ModelError(
                f"{record.path or record.name}: holds no mechanism, so only kinds "
                "trajectory, energy and drift can be drawn; simulate with a source"
            )
        mechanism = files.mechanism_from_text(record.source, f"{record.path}, source")
        return MechanismPictures(mechanism, self.options, record.state(0))

    def motion(self) -> Figure:
        """Return the mechanism at a few instants, and the path of one body."""
        record, last = self.record, len(self.record) - 1
        times = np.linspace(record.time[0], record.time[last], self.options.instants)
        records = np.unique(np.clip(np.searchsorted(record.time, times - 1e-9), 0, last))
        states = [record.state(int(k)) for k in records]
        reach = np.linalg.norm(record.position - record.position[0], axis=2).max(axis=0)
        farthest = record.body_names[int(np.argmax(reach))]
        path = record.position[:, record.body((*self.options.bodies, farthest)[0])]
        gravity = self.model.system.gravity
        return plot_motion(self.model.outline, states, gravity, path, record.name)

    def trajectory(self) -> Figure:
        """Return the coordinates of the bodies asked for, or of some, over time."""
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
    """Return what can be drawn of a trajectory file, or with `recover` of what is left of one.

    Raises SimulationError if it is none, or lacks a body to be traced.
    """
    record = Trajectory.load(path, recover=recover)
    for name in options.bodies:
        record.body(name)
    return TrajectoryPictures(record, options)
