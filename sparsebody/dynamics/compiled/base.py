"""What cores share: they take states, and name what goes wrong."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.accelerations import SolveReport
from sparsebody.dynamics.compiled.given import NOTHING, Given, GivenParts, given_joints
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.system import State, System, check_state

WORST_RESIDUAL = 1e-6
_UNWANTED = np.zeros(0)


class ReductionViolated(Exception):
    """A state outside the subgroups that a reduction to fewer freedoms assumes."""


class CoreBase(ABC):
    """A System, what is given for it, and its bodies and joints in elimination order."""

    has_constant_subspaces: bool  # whether no joint's T varies in S coordinates
    width: int  # freedoms of a body
    _x: FloatArray  # (width n_bodies + n_kept,) the newest solution, in units
    report: SolveReport | None = None  # of the newest solution, if it was iterative

    def __init__(
        self, system: System, parts: GivenParts, bodies: IntArray, joints: IntArray
    ) -> None:
        n = system.n_bodies
        self.system = system
        self.newest = object()  # the newest assembly, different from those of other cores
        self.history: list[str] = []  # what the evaluations have changed for later ones
        self._bodies, self._joints = bodies, joints
        self._parts = parts
        self.has_constant_subspaces = not given_joints(system).any()
        self._is_factorized = False
        self.is_rough = False  # whether few digits of the newest solution are good
        self._given: Given = NOTHING
        self._shift = np.zeros(0)
        self._shapes = ((n, 3), (n, 4), (n, 6), (len(system.coordinates.joint),))

    @abstractmethod
    def solve(
        self,
        right: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
        time: float,
        goal: float = 0.0,
    ) -> float:
        """Solve for a right-hand side in elimination order, and return the residual."""

    @abstractmethod
    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        """Give the newest solution's bodies and rows the user's numbers and units."""

    def fill_outer(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Fill the multipliers of rows that hold bodies where they have fewer freedoms; none here.

        Those of the kept rows are given.
        """
        return

    def retracted(self, state: State) -> State:
        """Return the state nearby in which bodies are where they have to stay; this one here."""
        return state

    def is_astray(self, state: State) -> bool:
        """Tell whether bodies are not where they have to stay."""
        return False

    def solve_in_units(self, right: FloatArray, time: float, goal: float) -> FloatArray:
        """Return the solution of [1 A'; A 0] x = right as it is, in elimination order.

        The newest solution stays what it is.
        """
        newest = self._x.copy()
        self.solve(right, np.empty((self.system.n_bodies, 6)), _UNWANTED, time, goal)
        found = self._x.copy()
        self._x[:] = newest
        return found

    @property
    def body_order(self) -> IntArray:
        """(n_bodies,) the user's numbers of the bodies in elimination order."""
        return self._bodies

    def unit_axes(self) -> FloatArray:
        """Return (n_bodies, width, 6): what each unit of x is, in the user's units of a body.

        Bodies in elimination order.
        """
        n, width, solution = self.system.n_bodies, self.width, self._x.copy()
        axes, acceleration = np.empty((n, width, 6)), np.empty((n, 6))
        for i in range(width):
            self._x[:] = 0.0
            self._x[i : width * n : width] = 1.0
            self._unscramble(acceleration, _UNWANTED)
            axes[:, i] = acceleration[self._bodies]
        self._x[:] = solution
        return axes

    def _called(
        self,
        kernel: Callable[..., Any],
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        *outputs: FloatArray,
    ) -> Any:
        """Call a kernel that assembles; a copy of states that it does not take as they are."""
        arguments = self._kernel_arguments(state, body_force, shift)
        try:
            return kernel(*arguments, *outputs)
        except TypeError:
            arguments = self._kernel_arguments(self._plain(state), body_force, shift)
            return kernel(*arguments, *outputs)

    def _kernel_arguments(
        self, state: State, body_force: FloatArray | None, shift: FloatArray
    ) -> tuple[Any, ...]:
        """Return what a native assembly takes, which is the newest from now on.

        It checks the arrays of the state itself, but for what the general functions look at.
        """
        self.newest = object()
        self._is_factorized = False
        if body_force is None and self._parts.is_nothing:
            given = NOTHING
        else:
            if not self._has_plain_arrays(state):
                state = self._plain(state)
            given = self._parts.at(state, body_force)
        self._given, self._shift = given, shift
        return (
            state.position,
            state.orientation,
            state.velocity,
            state.coordinate,
            state.time,
            given.load,
            given.rows,
            given.acceleration,
            shift,
        )

    def _has_plain_arrays(self, state: State) -> bool:
        at, turned, moving, tracked = self._shapes
        return (
            is_plain(state.position, at)
            and is_plain(state.orientation, turned)
            and is_plain(state.velocity, moving)
            and is_plain(state.coordinate, tracked)
            and math.isfinite(state.time)
        )

    def _plain(self, state: State) -> State:
        """Return a checked copy that compiled code takes."""
        check_state(self.system, state)
        names = ("position", "orientation", "velocity", "coordinate")
        return state.with_(**{name: np.array(getattr(state, name), order="C") for name in names})

    def _singular(self, error: SingularSystemError, time: float) -> SingularSystemError:
        return SingularSystemError(f"at t = {time:.6g} s {self._named(str(error))}")

    def _named(self, message: str) -> str:
        """Replace the numbers of blocks by the names of joints and bodies."""
        system = self.system
        for kind, what, names, numbers in (
            ("dual block", "joint", system.joint_names, self._joints),
            ("primal block", "body", system.body_names, self._bodies),
        ):
            found = re.search(rf"{kind} (\d+)", message)
            if found:
                name = names[int(numbers[int(found.group(1))])]
                message = message.replace(found.group(0), f"{what} {name!r}")
        return message

    def _refuse(self, state: State) -> NoReturn:
        check_state(self.system, state)
        raise ModelError(f"the state at t = {state.time:.6g} s has numbers too large to add")


_FLOAT64 = np.dtype(np.float64)


def is_plain(array: FloatArray, shape: tuple[int, ...]) -> bool:
    """Tell whether compiled code takes the array as it is; another kind costs a compilation."""
    return (
        array.__class__ is np.ndarray
        and array.shape == shape
        and array.dtype is _FLOAT64
        and array.flags.carray
    )


def checked(residual: float, time: float) -> float:
    """Return a relative residual; raise SingularSystemError if it is large or no number."""
    if not math.isfinite(residual):
        raise SingularSystemError(
            f"the accelerations at t = {time:.6g} s are not finite: velocities or forces are too "
            "large to multiply; look at the state"
        )
    if not residual <= WORST_RESIDUAL:
        raise SingularSystemError(
            f"the constraint rows are nearly dependent at t = {time:.6g} s "
            f"(relative residual {residual:.1e}); analyze the redundancy at this pose again"
        )
    return residual
