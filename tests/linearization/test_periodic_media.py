"""Dispersion curves, by closed forms and by long finite chains."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.linearization import UnitCell, dispersion, wave_path
from sparsebody.linearization.periodic_media import Dispersion

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


def test_diatomic_chain_has_its_branches_and_its_gap():
    """omega^2 = k (1/m + 1/M) -+ k sqrt((1/m + 1/M)^2 - 4 sin^2(q a) / m M)."""
    light, heavy = 1.0, 2.5
    path = wave_path([(0, 0, 0), (0, 0, np.pi / (2 * SPACING))], 21)
    result = dispersion(*chain(light, heavy), path)
    both = 1 / light + 1 / heavy
    bend = np.sin(path[:, 2] * SPACING) ** 2
    root = np.sqrt(both**2 - 4 * bend / (light * heavy))
    square = STIFFNESS * np.stack([both - root, both + root], axis=1)
    np.testing.assert_allclose(
        result.frequency, np.sqrt(square) / (2 * np.pi), rtol=1e-10, atol=1e-8
    )
    edges = np.sqrt(2 * STIFFNESS / np.array([heavy, light])) / (2 * np.pi)
    np.testing.assert_allclose(result.gaps(), [edges], rtol=1e-10)


@pytest.mark.filterwarnings("error")
def test_a_branch_that_grows_everywhere_hides_no_gap():
    frequency = np.array([[np.nan, 1.0, 2.0], [np.nan, 1.5, 3.0]])
    assert Dispersion(np.eye(3)[:2], frequency).gaps() == [(1.5, 2.0)]


def test_waves_of_a_beam_are_those_of_euler_and_bernoulli():
    """omega = k^2 sqrt(E I / rho A) of long waves, and compression at the speed sqrt(E / rho)."""
    E, density, height = 2.1e11, 7800.0 / 2, 0.01  # a beam's end has half the mass of a node
    beam = sb.build("beam", elements=1, length=0.01, support="free", gravity=(0, 0, 0))
    names = list(beam.body_names)
    images = {names[1]: (names[0], (0.01, 0, 0))}
    k = 5.0
    result = 2 * np.pi * dispersion(beam.compile(), images, [(k, 0, 0)]).frequency[0]
    speed = np.sqrt(E / density)
    expected = [k**2 * speed * height / np.sqrt(12), k * speed]
    for rate in expected:
        assert np.abs(result / rate - 1).min() < 2e-2


def sheet(pitch, mass, kx, ky):
    """A square lattice of bodies that bushings join, soft in rotation."""
    mechanism = sb.Mechanism("sheet", gravity=(0, 0, 0))
    positions = {"o": (0, 0, 0), "x": (pitch, 0, 0), "y": (0, pitch, 0)}
    for name, position in positions.items():
        mechanism.add_body(name, mass=mass, inertia=[1, 1, 1], position=position)
        mechanism.add_joint(f"plane {name}", sb.Planar(), "world", name, point=position)
    for end, k in (("x", kx), ("y", ky)):
        stiff, middle = np.diag([0, 0, 1e-3, k, k, 0]), np.array(positions[end]) / 2
        mechanism.add_bushing(f"to {end}", "o", end, point=middle, stiffness=stiff)
    return mechanism.compile(), {name: ("o", positions[name]) for name in ("x", "y")}


def test_anisotropic_sheet_has_the_waves_and_speeds_of_its_springs():
    """m omega^2 = 4 kx sin^2(qx a / 2) + 4 ky sin^2(qy a / 2), long and sheared along x.

    Bodies turn with shear along x: kx gives way beside ky, kx ky / (kx + ky).
    """
    pitch, mass, kx, ky = 0.5, 1.7, 3.0, 5.0
    system, images = sheet(pitch, mass, kx, ky)
    cell = UnitCell(system, images)
    speeds = cell.sound_speeds((1, 0, 0), [(1, 0, 0), (0, 1, 0)])
    stiffness = np.array([kx * ky / (kx + ky), kx])
    np.testing.assert_allclose(speeds, pitch * np.sqrt(stiffness / mass), rtol=1e-9)
    oblique = np.array([0.6, 0.8, 0.0])
    slope = 2 * np.pi * cell.frequencies(1e-3 * oblique)[:2] / 1e-3
    speeds = cell.sound_speeds(oblique, [(1, 0, 0), (0, 1, 0)])
    np.testing.assert_allclose(speeds, slope, rtol=1e-5)
    along = 4 * kx / mass * np.sin(1.3 * pitch / 2) ** 2
    result = cell.frequencies(np.array([1.3, 0, 0]))
    assert np.abs(result - np.sqrt(along) / (2 * np.pi)).min() < 1e-12


SHEET = sheet(0.5, 1.7, 3.0, 5.0)
X = (1, 0, 0)


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        (r"'x' is 0\.1 m from where", lambda: UnitCell(SHEET[0], {"x": ("o", (0.6, 0, 0))})),
        ("itself an image", lambda: UnitCell(SHEET[0], {"x": ("x", (0, 0, 0))})),
        (r"of the image 'x' is .*nan", lambda: UnitCell(SHEET[0], {"x": ("o", (np.nan, 0, 0))})),
        ("wave_vectors", lambda: dispersion(*SHEET, [(np.nan, 0, 0)])),
        (r"wave_vectors has the shape \(0, 3\)", lambda: dispersion(*SHEET, np.zeros((0, 3)))),
        ("n is -1", lambda: dispersion(*SHEET, [X], n=-1)),
        ("n is 0", lambda: wave_path([(0, 0, 0), X], 0)),
        ("length 2", lambda: UnitCell(*SHEET).sound_speeds((2, 0, 0), [X])),
        ("depend on each other", lambda: UnitCell(*SHEET).sound_speeds(X, [X, (2, 0, 0)])),
        (r"polarizations has the shape \(2,\)", lambda: UnitCell(*SHEET).sound_speeds(X, (1, 0))),
    ],
)
def test_images_vectors_and_numbers_that_cannot_be_are_refused(message, ask):
    with pytest.raises(ModelError, match=message):
        ask()
