"""Exudyn: redundant coordinates, Eigen's SparseLU of the whole matrix.

It has no call for accelerations alone that could be timed: what is timed is one Newton iteration
of an implicit time step, which evaluates, factorizes and solves once. The accelerations compared
are its initial ones. Its factorization does not take dependent rows, so that planar mechanisms are
modelled in the plane (RigidBody2D), as its users do. A sphere on a plane is there a point mass on a
slide, taken from the body: the planar prismatic joint lacks a velocity term in the accelerations.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import exudyn as exu
import exudyn.itemInterface as exi
import numpy as np
from exudyn.rigidBodyUtilities import RigidBodyInertia

from benchmarks.peers.tree import CARRIAGE_MASS, Frames, UnsupportedError, inertias, spatial
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem
from sparsebody.study.measure import Prepared

STEP = 1e-3  # [s]
STEPS = 3
exu.config.printToConsole = False


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


class Model:
    """An assembled system at the state, in space."""

    kind = "spatial"

    def __init__(self, problem: Problem, axes: FloatArray) -> None:
        self.problem, self.frames, self.axes = problem, Frames(problem), axes
        self.bodies: list[Any] = []  # and the ground
        self.local_com = np.zeros((problem.system.n_bodies, 3))  # in the coordinates of its bodies
        self.mbs = exu.SystemContainer().AddSystem()
        self.fill()
        self.mbs.Assemble()

    def fill(self) -> None:
        """Add bodies and joints."""
        (system, state), mbs = (self.problem.system, self.problem.state), self.mbs
        for i, R in enumerate(self.frames.rotation[:-1]):
            body = mbs.CreateRigidBody(
                inertia=RigidBodyInertia(float(system.mass[i]), np.array(system.inertia[i])),
                nodeType=exu.NodeType.RotationRxyz,
                referencePosition=list(state.position[i]),
                referenceRotationMatrix=R,
                initialVelocity=list(R @ state.velocity[i, 3:]),
                initialAngularVelocity=list(R @ state.velocity[i, :3]),
                gravity=list(system.gravity),
            )
            self.bodies.append(body)
        self.bodies.append(mbs.CreateGround())
        for j, kind in enumerate(self.frames.kinds):
            ends = [self.bodies[system.predecessor[j]], self.bodies[system.successor[j]]]
            point = list(self.frames.joint_position[j])
            shared = {"itemNumbers": ends, "position": point, "show": False}
            axis = list(self.frames.joint_rotation[j][:, 2])
            if kind == "spherical":
                mbs.CreateSphericalJoint(**shared)
            elif kind == "revolute":
                mbs.CreateRevoluteJoint(axis=axis, useGlobalFrame=True, **shared)
            elif kind == "point-on-plane":
                axes, fixed = self.frames.plane[j], [0, 0, 1, 0, 0, 0]
                mbs.CreateGenericJoint(
                    rotationMatrixAxes=axes, constrainedAxes=fixed, useGlobalFrame=True, **shared
                )
            else:
                raise UnsupportedError(f"joint type {kind} is not converted")

    def output(self, kind: Any) -> FloatArray:
        """Return vectors (n, 3) at the centers of mass, or angular ones, in world axes."""
        result = np.zeros(self.local_com.shape)
        for body, point, vector in zip(self.bodies, self.local_com, result, strict=False):
            value = np.ravel(self.mbs.GetObjectOutputBody(body, kind, list(point)))
            vector[3 - len(value) :] = value  # an angular one about the normal alone, or all three
        return result @ self.axes

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        kind = exu.OutputVariableType
        with self._solver(1):
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

    def seconds(self) -> float:
        """Return the CPU time [s] of one Newton iteration, over a few time steps."""
        with self._solver(STEPS) as solver:
            start = time.process_time()
            done = solver.SolveSteps(self.mbs, settings_of(STEPS))
            cpu = time.process_time() - start
            iterations = solver.it.newtonStepsCount
        if not done or iterations < 1:
            raise RuntimeError("Exudyn's Newton iteration did not converge")
        return float(cpu / iterations)


class PlanarModel(Model):
    """Bodies and joints in a plane, the third of the axes its normal; angles start from zero."""

    kind = "planar"

    def fill(self) -> None:
        """Add bodies and joints."""
        system, state, frame = self.problem.system, self.problem.state, self.frames
        on_planes = frame.kinds == "point-on-plane"
        masses, centers, inertia = inertias(self.problem, on_planes)
        self.gravity = _in_plane(self.axes @ system.gravity)
        self.origin = frame.position @ self.axes.T  # of the bodies of the model
        for i, (mass, center) in enumerate(zip(masses, centers, strict=True)):
            R = self.axes @ frame.rotation[i]
            w, u = np.split(state.velocity[i], 2)
            self.origin[i] += R @ center
            self.local_com[i, :2] = -(R @ center)[:2]
            body = self.mbs.CreateRigidBody(
                inertia=RigidBodyInertia(float(mass), R @ inertia[i] @ R.T),
                referencePosition=_in_plane(self.origin[i]),
                initialVelocity=_in_plane(R @ (u + np.cross(w, center))),
                initialAngularVelocity=[0.0, 0.0, (R @ w)[2]],
                gravity=self.gravity,
                create2D=True,
            )
            self.bodies.append(body)
        self.bodies.append(self.mbs.CreateGround())
        for j, (p, s) in enumerate(zip(system.predecessor, system.successor, strict=True)):
            first = self._carriage(j) if on_planes[j] else self._marker(j, p)
            markers = [first, self._marker(j, s)]
            self.mbs.AddObject(exi.ObjectJointRevolute2D(markerNumbers=markers))

    def _marker(self, j: int, i: int) -> Any:
        position = _in_plane(self.axes @ self.frames.joint_position[j] - self.origin[i])
        marker = exi.MarkerBodyPosition(bodyNumber=self.bodies[i], localPosition=position)
        return self.mbs.AddMarker(marker)

    def _carriage(self, j: int) -> Any:
        """Add a point mass that slides along the first axis; return a marker on it."""
        system, frames = self.problem.system, self.frames
        speed = self.axes @ frames.joint_rotation[j] @ frames.rate[j, 3:]
        body = self.mbs.CreateMassPoint(
            referencePosition=_in_plane(self.axes @ frames.joint_position[j]),
            initialVelocity=[speed[0], 0.0, 0.0],
            mass=CARRIAGE_MASS * float(system.mass[system.successor[j]]),
            gravity=self.gravity,
            create2D=True,
        )
        self.mbs.CreateCoordinateConstraint(itemNumbers=[None, body], coordinates=[None, 1])
        return self.mbs.AddMarker(exi.MarkerBodyPosition(bodyNumber=body))


def _in_plane(vector: FloatArray) -> list[float]:
    return [*vector[:2], 0.0]


def modelled(problem: Problem) -> Model:
    """Return a mechanism in the plane if all its motion is across hinges, else in space.

    Axes of the plane (3, 3) as rows: hinges along the third, the second across supporting planes.
    """
    frame = Frames(problem)
    hinges = frame.joint_rotation[frame.kinds == "revolute"]
    normals = frame.plane[frame.kinds == "point-on-plane", :, 2]
    if len(hinges) and len(hinges) + len(normals) == len(frame.kinds):
        axis = hinges[0, :, 2]
        across, tilt = np.cross(hinges[:, :, 2], axis), normals @ axis
        if max(np.abs(across).max(), np.abs(tilt).max(initial=0.0)) <= 1e-9:
            axes = [[np.cross(normal, axis), normal, axis] for normal in normals[:1]]
            return PlanarModel(problem, np.array((axes or [hinges[0].T])[0]))
    return Model(problem, np.eye(3))


def newton_iteration(problem: Problem) -> Prepared:
    """Return the assembled system of a mechanism."""
    model = modelled(problem)
    detail = f"{model.kind} model, EigenSparse, per Newton iteration"
    return Prepared(model.seconds, model.accelerations, detail, times_itself=True)
