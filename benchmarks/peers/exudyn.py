"""Exudyn: redundant coordinates, Eigen's SparseLU of the whole matrix.

It has no call for accelerations alone that could be timed: what is timed is one Newton iteration
of an implicit time step, which evaluates, factorizes and solves once. The accelerations compared
are its initial ones. Its factorization does not take dependent rows, so that planar mechanisms are
modelled in the plane (RigidBody2D), as its users do. A sphere on a plane is there a point mass on a
slide, taken from the body: the planar prismatic joint lacks a velocity term in the accelerations.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import exudyn as exu
import exudyn.itemInterface as exi
import numpy as np
from exudyn.rigidBodyUtilities import RigidBodyInertia

from benchmarks.peers.tree import (
    CARRIAGE_MASS,
    Frames,
    Timed,
    UnsupportedError,
    frames,
    inertias,
    spatial,
)
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem

STEP = 1e-3  # [s]
STEPS = 3


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep the engine's own messages off the standard output."""
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def _add_bodies(mbs: Any, problem: Problem, frame: Frames) -> list[Any]:
    """Return the body numbers, the ground as the last one."""
    system, state = problem.system, problem.state
    bodies = []
    for i in range(system.n_bodies):
        R = frame.rotation[i]
        bodies.append(
            mbs.CreateRigidBody(
                inertia=RigidBodyInertia(float(system.mass[i]), np.array(system.inertia[i])),
                nodeType=exu.NodeType.RotationRxyz,
                referencePosition=list(state.position[i]),
                referenceRotationMatrix=R,
                initialVelocity=list(R @ state.velocity[i, 3:]),
                initialAngularVelocity=list(R @ state.velocity[i, :3]),
                gravity=list(system.gravity),
            )
        )
    return [*bodies, mbs.CreateGround()]


def _add_joints(mbs: Any, problem: Problem, frame: Frames, bodies: list[Any]) -> None:
    system = problem.system
    for j, joint_type in enumerate(system.joint_types):
        ends = [bodies[system.predecessor[j]], bodies[system.successor[j]]]
        shared = {"itemNumbers": ends, "position": list(frame.joint_position[j]), "show": False}
        axis = list(frame.joint_rotation[j][:, 2])
        if joint_type.name == "spherical":
            mbs.CreateSphericalJoint(**shared)
        elif joint_type.name == "revolute":
            mbs.CreateRevoluteJoint(axis=axis, useGlobalFrame=True, **shared)
        elif joint_type.name == "point-on-plane":
            axes, fixed = frame.plane[j], [0, 0, 1, 0, 0, 0]
            mbs.CreateGenericJoint(
                rotationMatrixAxes=axes, constrainedAxes=fixed, useGlobalFrame=True, **shared
            )
        else:
            raise UnsupportedError(f"joint type {joint_type.name} is not converted")


def settings_of(steps: int) -> Any:
    """Return settings of a run of some steps."""
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * STEP
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = False
    settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    return settings


def _plane(problem: Problem, frame: Frames) -> FloatArray | None:
    """Return axes (3, 3) as rows, hinges along the third, if all motion is across it.

    The second is the normal of the supporting planes.
    """
    kinds = np.array([joint_type.name for joint_type in problem.system.joint_types])
    if not set(kinds) <= {"revolute", "point-on-plane"}:
        return None
    axes = frame.joint_rotation[kinds == "revolute"]
    normal = axes[0, :, 2]
    across = np.cross(axes[:, :, 2], normal)
    tilt = frame.plane[kinds == "point-on-plane", :, 2] @ normal
    if max(np.abs(across).max(), np.abs(tilt).max(initial=0.0)) > 1e-9:
        return None
    if not tilt.size:
        return axes[0].T.copy()
    up = frame.plane[kinds == "point-on-plane", :, 2][0]
    return np.array([np.cross(up, normal), up, normal])


class PlanarModel:
    """Bodies and joints in a plane; all angles are zero at the state."""

    def __init__(self, mbs: Any, problem: Problem, frame: Frames, axes: FloatArray) -> None:
        self.mbs, self.problem, self.frame, self.axes = mbs, problem, frame, axes
        system = problem.system
        kinds = [joint_type.name for joint_type in system.joint_types]
        supports = tuple(j for j, kind in enumerate(kinds) if kind == "point-on-plane")
        self.mass, self.center, self.inertia = inertias(problem, supports)
        self.bodies = [self._body(i) for i in range(system.n_bodies)]
        self.bodies.append(mbs.AddObject(exi.ObjectGround()))
        for j in range(system.n_joints):
            ends = int(system.predecessor[j]), int(system.successor[j])
            first = self._carriage(j) if j in supports else self._marker(j, ends[0])
            markers = [first, self._marker(j, ends[1])]
            mbs.AddObject(exi.ObjectJointRevolute2D(markerNumbers=markers))

    def _place(self, i: int) -> FloatArray:
        """Return the center of mass in the world."""
        return np.asarray(self.frame.position[i] + self.frame.rotation[i] @ self.center[i])

    def _load(self, body: Any) -> None:
        weight = [*(self.axes @ self.problem.system.gravity)[:2], 0.0]
        marker = self.mbs.AddMarker(exi.MarkerBodyMass(bodyNumber=body))
        self.mbs.AddLoad(exi.LoadMassProportional(markerNumber=marker, loadVector=weight))

    def _body(self, i: int) -> Any:
        R = self.axes @ self.frame.rotation[i]
        w, u = np.split(self.problem.state.velocity[i], 2)
        v = R @ (u + np.cross(w, self.center[i]))
        node = exi.NodeRigidBody2D(
            referenceCoordinates=[*(self.axes @ self._place(i))[:2], 0.0],
            initialVelocities=[v[0], v[1], (R @ w)[2]],
        )
        body = self.mbs.AddObject(
            exi.ObjectRigidBody2D(
                mass=float(self.mass[i]),
                inertia=float((R @ self.inertia[i] @ R.T)[2, 2]),
                nodeNumber=self.mbs.AddNode(node),
            )
        )
        self._load(body)
        return body

    def _marker(self, j: int, i: int) -> Any:
        origin = np.zeros(3) if i < 0 else self._place(i)
        place = self.axes @ (self.frame.joint_position[j] - origin)
        return self.mbs.AddMarker(
            exi.MarkerBodyPosition(bodyNumber=self.bodies[i], localPosition=[*place[:2], 0.0])
        )

    def _carriage(self, j: int) -> Any:
        """Add a point mass that slides along the first axis; return a marker on it."""
        place = self.axes @ self.frame.joint_position[j]
        speed = self.axes @ self.frame.joint_rotation[j] @ self.frame.rate[j, 3:]
        node = self.mbs.AddNode(
            exi.NodePoint2D(referenceCoordinates=list(place[:2]), initialVelocities=[speed[0], 0.0])
        )
        mass = CARRIAGE_MASS * float(self.problem.system.mass[self.problem.system.successor[j]])
        body = self.mbs.AddObject(exi.ObjectMassPoint2D(mass=mass, nodeNumber=node))
        self._load(body)
        ground = self.mbs.AddNode(exi.NodePointGround())
        markers = [
            self.mbs.AddMarker(exi.MarkerNodeCoordinate(nodeNumber=number, coordinate=coordinate))
            for number, coordinate in ((ground, 0), (node, 1))
        ]
        self.mbs.AddObject(exi.ObjectConnectorCoordinate(markerNumbers=markers))
        return self.mbs.AddMarker(exi.MarkerBodyPosition(bodyNumber=body))

    def local_com(self, i: int) -> FloatArray:
        """Return the center of mass of the true body in the coordinates of its model."""
        offset = self.axes @ (self.frame.position[i] - self._place(i))
        return np.array([offset[0], offset[1], 0.0])


class Model:
    """An assembled system at the state."""

    def __init__(self, problem: Problem) -> None:
        frame = frames(problem)
        axes = _plane(problem, frame)
        self.problem, self.planar = problem, None
        with silence():
            self.mbs = exu.SystemContainer().AddSystem()
            if axes is None:
                self.bodies = _add_bodies(self.mbs, problem, frame)
                _add_joints(self.mbs, problem, frame, self.bodies)
            else:
                self.planar = PlanarModel(self.mbs, problem, frame, axes)
                self.bodies = self.planar.bodies
            self.mbs.Assemble()

    def output(self, kind: Any) -> FloatArray:
        """Return vectors (n, 3) at the centers of mass, or angular ones, in world axes."""
        system = self.problem.system
        plane = np.eye(3) if self.planar is None else self.planar.axes
        result = np.zeros((system.n_bodies, 3))
        for i, vector in enumerate(result):
            if kind == exu.OutputVariableType.AngularAcceleration:
                rates = np.ravel(self.mbs.GetObjectOutputBody(self.bodies[i], kind))
                vector[-len(rates) :] = rates  # one number about the normal, or three
            else:
                point = np.zeros(3) if self.planar is None else self.planar.local_com(i)
                vector[:] = self.mbs.GetObjectOutputBody(self.bodies[i], kind, list(point))
        return result @ plane

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        kind = exu.OutputVariableType
        with silence(), self._solver(1):
            parts = self.output(kind.AngularAcceleration), self.output(kind.Acceleration)
        return spatial(self.problem, *parts)

    @contextlib.contextmanager
    def _solver(self, steps: int) -> Iterator[Any]:
        """Yield an initialized solver."""
        settings = settings_of(steps)
        solver = exu.MainSolverImplicitSecondOrder()
        solver.InitializeSolver(self.mbs, settings)
        yield solver
        solver.FinalizeSolver(self.mbs, settings)

    def times(self) -> tuple[float, float]:
        """Return CPU and wall time [s] of one Newton iteration, over a few time steps."""
        with silence(), self._solver(STEPS) as solver:
            cpu, wall = time.process_time(), time.perf_counter()
            done = solver.SolveSteps(self.mbs, settings_of(STEPS))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            iterations = solver.it.newtonStepsCount
        if not done or iterations < 1:
            raise RuntimeError("Exudyn's Newton iteration did not converge")
        return cpu / iterations, wall / iterations


def newton_iteration(problem: Problem) -> Timed:
    """Return the assembled system of a mechanism."""
    model = Model(problem)
    kind = "spatial" if model.planar is None else "planar"
    return Timed(
        model.times, model.accelerations, f"{kind} model, EigenSparse, per Newton iteration"
    )
