"""Frequencies and decay of beams, bushings and dampers, by closed forms and dense matrices."""

from itertools import pairwise

import numpy as np
import pytest
from random_mechanisms import random_rotation
from scipy.linalg import eigh

import sparsebody as sb
from sparsebody.spatial import quaternion_from_rotation, skew

STEEL = {"E": 2.1e11, "G": 8.1e10, "A": 4e-4, "I_y": 2e-8, "I_z": 1.2e-8, "J": 3e-8}
STRAIN_DAMPING, DAMPER = 2e-4, 35.0
HEIGHT, SPAN, ELEMENTS = 3.0, 4.0, 4
NODE_MASS, NODE_INERTIA = 5.0, 0.02


def portal_nodes():
    """Feet, columns and beam of a portal frame in the x z plane, from foot to foot."""
    up = np.linspace(0.0, HEIGHT, ELEMENTS + 1)
    along = np.linspace(0.0, SPAN, ELEMENTS + 1)[1:-1]
    left = np.stack([0 * up, 0 * up, up], axis=1)
    top = np.stack([along, 0 * along, 0 * along + HEIGHT], axis=1)
    return np.concatenate([left, top, left[::-1] + np.array([SPAN, 0, 0])])


def portal_frame(damping):
    """Lumped masses between beams, and a damper from the ground to a corner."""
    frame, nodes = sb.Mechanism("portal", gravity=(0, 0, 0)), portal_nodes()
    names = ["world", *(f"n{k}" for k in range(1, len(nodes) - 1)), "world"]
    for name, position in zip(names[1:-1], nodes[1:-1], strict=True):
        frame.add_body(name, mass=NODE_MASS, inertia=[NODE_INERTIA] * 3, position=position)
    for k in range(len(nodes) - 1):
        ends = {"start": nodes[k], "end": nodes[k + 1], "z_axis": (0, 1, 0)}
        numbers = {**STEEL, "damping": damping * STRAIN_DAMPING}
        frame.add_beam(f"e{k}", names[k], names[k + 1], **ends, **numbers)
    if damping:
        corner = {"first_point": (SPAN, 0.0, 0.0), "damping": damping * DAMPER}
        frame.add_point_force("damper", "world", names[ELEMENTS], **corner)
    return frame.compile()


def tip_stiffness(length):
    """Forces at the end of a cantilever by its motions (u, w), x along it."""
    E, G, A, I_y, I_z, J = STEEL.values()
    k = np.diag([E * A, 12 * E * I_z / length**2, 12 * E * I_y / length**2, G * J, 0, 0]) / length
    for u, w, I, sign in ((1, 5, I_z, -1), (2, 4, I_y, 1)):
        k[w, w] = 4 * E * I / length
        k[u, w] = k[w, u] = sign * 6 * E * I / length**2
    return k


def portal_matrices():
    """M, K and C of linear finite elements, in displacements and rotations of the free nodes."""
    nodes = portal_nodes()
    n = 6 * len(nodes)
    K = np.zeros((n, n))
    for k, (start, end) in enumerate(pairwise(nodes)):
        axis, z = (end - start) / np.linalg.norm(end - start), np.array([0.0, 1.0, 0.0])
        R = np.kron(np.eye(2), np.stack([axis, np.cross(z, axis), z]))
        carried = np.block([[np.eye(3), -skew(end - start)], [np.zeros((3, 3)), np.eye(3)]])
        relative = R @ np.hstack([-carried, np.eye(6)])
        at = slice(6 * k, 6 * k + 12)
        K[at, at] += relative.T @ tip_stiffness(np.linalg.norm(end - start)) @ relative
    C = STRAIN_DAMPING * K
    along = nodes[ELEMENTS] - [SPAN, 0.0, 0.0]
    along /= np.linalg.norm(along)
    corner = slice(6 * ELEMENTS, 6 * ELEMENTS + 3)
    C[corner, corner] += DAMPER * np.outer(along, along)
    M = np.diag(np.tile([NODE_MASS] * 3 + [NODE_INERTIA] * 3, len(nodes)))
    return (part[6:-6, 6:-6] for part in (M, K, C))


def upper_eigenvalues(M, D, K):
    """All s with Im s >= 0 of s^2 M + s D + K, by the companion matrix, the slowest first."""
    n = len(M)
    lower = np.linalg.solve(M, np.hstack([-K, -D]))
    s = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
    s = s[s.imag >= 0.0]
    return s[np.argsort(np.abs(s))]


@pytest.mark.parametrize("dense_size", [400, 0])
def test_a_portal_frame_has_the_frequencies_of_finite_elements(dense_size, monkeypatch):
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    M, K, _ = portal_matrices()
    expected = np.sqrt(eigh(K, M, eigvals_only=True)) / (2 * np.pi)
    result = sb.modes(portal_frame(0.0), n=20).frequency
    np.testing.assert_allclose(result, expected[:20], rtol=1e-8)


@pytest.mark.parametrize("dense_size", [400, 0])
def test_a_damped_portal_frame_has_the_eigenvalues_of_its_quadratic_problem(
    dense_size, monkeypatch
):
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    M, K, C = portal_matrices()
    expected = upper_eigenvalues(M, C, K)[:12]
    result = sb.modes(portal_frame(1.0), n=12).eigenvalue
    assert (expected.real < -1e-3).all()
    np.testing.assert_allclose(result, expected, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_body_on_a_bushing_has_the_eigenvalues_of_six_by_six_matrices(seed):
    """X'K X and X'D X about the center of mass."""
    rng = np.random.default_rng(seed)
    B, C = rng.normal(size=(2, 6, 6))
    K, D = 50.0 * B @ B.T, 0.3 * C @ C.T
    R, position, point = random_rotation(rng), *rng.normal(size=(2, 3))
    inertia = np.diag([0.3, 0.4, 0.5]) + 0.02
    mechanism = sb.Mechanism("bushing", gravity=(0, 0, 0))
    mechanism.add_body("b", mass=1.7, inertia=inertia, position=position)
    frames = {
        "predecessor_frame": sb.Frame(position + point, quaternion_from_rotation(R)),
        "successor_frame": sb.Frame(point, quaternion_from_rotation(R)),
    }
    mechanism.add_bushing("bush", "world", "b", stiffness=K, damping=D, **frames)
    turn, zero = R.T, np.zeros((3, 3))
    X = np.block([[turn, zero], [-turn @ skew(point), turn]])
    M = np.block([[inertia, zero], [zero, 1.7 * np.eye(3)]])
    expected = upper_eigenvalues(M, X.T @ D @ X, X.T @ K @ X)[:6]
    result = sb.modes(mechanism.compile(), n=6).eigenvalue
    np.testing.assert_allclose(result, expected, rtol=1e-8)
