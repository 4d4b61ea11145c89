"""A kind of each table added from outside the package: one definition and one line each."""

import numpy as np
import pytest
from command_line import document, printed

from sparsebody.simulation.trajectory import Trajectory

SOURCE = '''
import numpy as np

import sparsebody as sb
from sparsebody.factorization import FACTORIZATIONS, Backend
from sparsebody.model.gallery import GALLERY, GalleryEntry
from sparsebody.simulation.integrators import INTEGRATORS, Integrator
from sparsebody.simulation.integrators import moved, pose_derivatives
from sparsebody.sparse.saddle import saddle_csc


def swing(length: float = 1.0) -> sb.Mechanism:
    """A pendulum of a point's inertia on a hinge, from horizontal."""
    mechanism = sb.Mechanism("swing", gravity=[0, 0, -9.81])
    mechanism.add_body("bob", mass=1.0, inertia=[1e-6] * 3, position=[length, 0, 0])
    hinge = {"point": [0, 0, 0], "axis": [0, 1, 0]}
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "bob", **hinge)
    return mechanism


def bodies_last_first(pattern):
    bodies = np.arange(pattern.n_primal)[::-1]
    return np.concatenate([bodies, np.arange(pattern.n_primal, pattern.n_blocks)])


class Inverse:
    """The whole matrix, inverted."""

    def __init__(self, matrix):
        self.inverse = np.linalg.inv(saddle_csc(matrix).toarray())

    def solve(self, rhs):
        return self.inverse @ rhs


class Inversion:
    def __init__(self, pattern, order):
        pass

    def factorize(self, matrix):
        return Inverse(matrix)


def midpoint_step(stage, state, acceleration, h):
    rate, curvature = pose_derivatives(state, acceleration)
    middle, there = stage(moved(state, rate, curvature, curvature, 0.5 * h))
    _, curvature = pose_derivatives(middle, there)
    return moved(state, rate, curvature, curvature, h)


sb.register_ordering("last-first", bodies_last_first)
FACTORIZATIONS["inversion"] = Backend(Inversion, needs=None, summary="the inverse, as a matrix")
GALLERY["swing"] = GalleryEntry(swing)
INTEGRATORS["midpoint"] = Integrator(midpoint_step, order=2)
'''


@pytest.fixture
def module(tmp_path, restored_tables):
    """The file of the module."""
    path = tmp_path / "outside.py"
    path.write_text(SOURCE)
    return path


def test_a_mechanism_ordering_and_backend_from_outside_serve_commands(module):
    names = ("--ordering", "last-first", "--factorization", "inversion")
    inspection = document("--import", module, "inspect", "swing", "-p", "length=2.0", *names)
    assert (inspection["ordering"], inspection["factorization"]) == names[1::2]
    assert [line["name"] for line in inspection["orderings"]] == ["last-first"]
    assert inspection["mobility"] == 1


def test_an_integrator_from_outside_has_its_order(module, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    printed("--import", "outside", "gallery")  # by the name of the module
    angle, step = [], 0.01
    for k in range(3):
        path = tmp_path / f"{k}.h5"
        choice = ("--method", "midpoint", "--factorization", "inversion", "--output", path)
        printed("simulate", "swing", *choice, "--duration", "0.4", "--step", step / 2**k)
        x, _, z = Trajectory.load(path).position[-1, 0]
        angle.append(np.arctan2(z, x))
    ratio = (angle[0] - angle[1]) / (angle[1] - angle[2])
    assert 3.5 < ratio < 4.5
