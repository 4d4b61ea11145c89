"""Dispersion curves, by closed forms and by long finite chains."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.linearization import UnitCell, dispersion, wave_path

STIFFNESS, SPACING = 3.0, 0.5


def chain(*masses):
    """Masses on a line with springs between them, and the image of the first one."""
    mechanism = sb.Mechanism("chain", gravity=(0, 0, 0))
    n = len(masses)
    for k, mass in enumerate((*masses, masses[0])):
        mechanism.add_body(f"m{k}", mass=mass, inertia=[1, 1, 1], position=(0, 0, SPACING * k))
        at = {"point": (0, 0, SPACING * k), "axis": (0, 0, 1)}
        mechanism.add_joint(f"slide {k}", sb.Prismatic(), "world", f"m{k}", **at)
    for k in range(n):
        spring = {"stiffness": STIFFNESS, "rest_length": SPACING}
        mechanism.add_point_force(f"spring {k}", f"m{k}", f"m{k + 1}", **spring)
    return mechanism.compile(), {f"m{n}": ("m0", (0, 0, SPACING * n))}


def test_monatomic_chain_has_its_dispersion_curve():
    """omega = 2 sqrt(k / m) |sin(q a / 2)|."""
    mass = 1.7
    path = wave_path([(0, 0, 0), (0, 0, np.pi / SPACING)], 21)
    found = dispersion(*chain(mass), path)
    bend = np.abs(np.sin(path[:, 2] * SPACING / 2))
    expected = 2 * np.sqrt(STIFFNESS / mass) * bend / (2 * np.pi)
    np.testing.assert_allclose(found.frequency[:, 0], expected, rtol=1e-10, atol=1e-12)
    assert found.gaps() == []


def test_diatomic_chain_has_its_branches_and_its_gap():
    """omega^2 = k (1/m + 1/M) -+ k sqrt((1/m + 1/M)^2 - 4 sin^2(q a) / m M)."""
    light, heavy = 1.0, 2.5
    path = wave_path([(0, 0, 0), (0, 0, np.pi / (2 * SPACING))], 21)
    found = dispersion(*chain(light, heavy), path)
    both = 1 / light + 1 / heavy
    bend = np.sin(path[:, 2] * SPACING) ** 2
    root = np.sqrt(both**2 - 4 * bend / (light * heavy))
    square = STIFFNESS * np.stack([both - root, both + root], axis=1)
    np.testing.assert_allclose(
        found.frequency, np.sqrt(square) / (2 * np.pi), rtol=1e-10, atol=1e-8
    )
    edges = np.sqrt(2 * STIFFNESS / np.array([heavy, light])) / (2 * np.pi)
    np.testing.assert_allclose(found.gaps(), [edges], rtol=1e-10)


def test_waves_of_a_beam_are_those_of_euler_and_bernoulli():
    """omega = k^2 sqrt(E I / rho A) of long waves, and compression at the speed sqrt(E / rho)."""
    E, density, height = 2.1e11, 7800.0 / 2, 0.01  # a beam's end has half the mass of a node
    beam = sb.build("beam", elements=1, length=0.01, support="free", gravity=(0, 0, 0))
    names = list(beam.body_names)
    images = {names[1]: (names[0], (0.01, 0, 0))}
    k = 5.0
    found = 2 * np.pi * dispersion(beam.compile(), images, [(k, 0, 0)]).frequency[0]
    speed = np.sqrt(E / density)
    expected = [k**2 * speed * height / np.sqrt(12), k * speed]
    for rate in expected:
        assert np.abs(found / rate - 1).min() < 2e-2


def test_images_out_of_place_are_refused():
    system, images = chain(1.0)
    with pytest.raises(ModelError, match=r"'m1' is 0\.1 m from where"):
        UnitCell(system, {"m1": ("m0", (0, 0, SPACING + 0.1))})
    with pytest.raises(ModelError, match="itself an image"):
        UnitCell(system, {"m1": ("m1", (0, 0, 0))})
    with pytest.raises(ModelError, match="wave_vectors"):
        dispersion(system, images, [(np.nan, 0, 0)])
