"""Frequencies, damping, responses and buckling loads, by closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from linkages import one_body
from scipy.special import roots_laguerre

import sparsebody as sb
from sparsebody.errors import ModelError, SimulationError
from sparsebody.linearization.vibrations import SmallMotions

E, DENSITY, HEIGHT, WIDTH = 2.1e11, 7800.0, 0.01, 0.02  # of the gallery's beam of length one
FREE_FREE = [4.73004074, 7.85320462, 10.9956078]
GRAVITY, LENGTH, MASS = 9.81, 0.7, 1.3
POINT = [1e-12 * MASS] * 3  # the inertia of a point mass, nearly


def pendulums(n):
    """Point masses, one below the other."""
    mechanism = sb.Mechanism("pendulums", gravity=(0, 0, -GRAVITY))
    for k in range(n):
        pivot = np.array([0, 0, -LENGTH * k])
        mechanism.add_body(f"b{k}", mass=MASS, inertia=POINT, position=pivot - [0, 0, LENGTH])
        above = f"b{k - 1}" if k else "world"
        mechanism.add_joint(f"j{k}", sb.Revolute(), above, f"b{k}", point=pivot, axis=(0, 1, 0))
    return mechanism.compile()


def test_hanging_chain_swings_at_the_roots_of_laguerre_polynomials():
    n = 12
    result = sb.modes(pendulums(n), n=n)
    expected = np.sqrt(roots_laguerre(n)[0] * GRAVITY / LENGTH) / (2 * np.pi)
    np.testing.assert_allclose(result.frequency, expected, rtol=1e-10)
    assert result.n_mechanisms == 0


@pytest.mark.parametrize(("elements", "rtol"), [(20, 2e-2), (1000, 1e-3)])
def test_free_beam_has_six_free_motions_and_the_frequencies_of_euler_and_bernoulli(elements, rtol):
    beam = sb.build("beam", elements=elements, support="free", gravity=(0, 0, 0)).compile()
    result = sb.modes(beam, n=12)
    assert result.n_mechanisms == 6
    np.testing.assert_array_equal(result.frequency[:6], 0.0)
    upwards = np.abs(result.shape[6:, :, 5]).max(axis=1) > np.abs(result.shape[6:, :, 4]).max(
        axis=1
    )
    expected = np.square(FREE_FREE) * np.sqrt(E * HEIGHT**2 / 12 / DENSITY) / (2 * np.pi)
    np.testing.assert_allclose(result.frequency[6:][upwards][:3], expected, rtol=rtol)


def oscillator(damping, *, held=True):
    """A mass on a slide, with a spring, or none, and a damper."""
    mechanism = one_body(sb.Prismatic(), (0, 0, 0), mass=2.0)
    stiffness = 8.0 if held else 0.0
    mechanism.add_joint_force("spring", "joint", stiffness=stiffness, damping=damping)
    return mechanism.compile()


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.7, 2.0])
def test_damped_oscillator_has_the_eigenvalues_of_the_quadratic(ratio):
    """s = omega (-zeta +- sqrt(zeta^2 - 1)), omega = 2."""
    result = sb.modes(oscillator(8.0 * ratio), n=1)
    root = np.sqrt(complex(ratio**2 - 1))
    expected = min(
        (2 * (-ratio + sign * root) for sign in (1, -1)), key=lambda s: (abs(s), -s.imag)
    )
    assert result.eigenvalue[0] == pytest.approx(expected, rel=1e-12)
    assert result.damping_ratio[0] == pytest.approx(min(ratio, 1.0), abs=1e-12)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_motion_that_nothing_resists_has_the_eigenvalue_zero_exactly(damping):
    result = sb.modes(oscillator(damping, held=False), n=1)
    assert result.eigenvalue[0] == 0.0
    assert result.n_mechanisms == 1


def test_overconstrained_swing_has_the_frequency_of_its_pendulum():
    """Three redundant rows: omega^2 = g (M + m) / l (M + 2 m / 3), a plate M on two bars m."""
    bar, plate, length = 0.4, 3.0, 0.8
    mechanism = sb.Mechanism("swing", gravity=(0, 0, -GRAVITY))
    mechanism.add_body("plate", mass=plate, inertia=[1, 1, 1], position=(0, 0, -length))
    for name, x in (("left", -1.0), ("right", 1.0)):
        inertia = [bar * length**2 / 12] * 2 + [1e-3]
        mechanism.add_body(name, mass=bar, inertia=inertia, position=(x, 0, -length / 2))
        for end, other, z in (("top", "world", 0.0), ("foot", "plate", -length)):
            ends = (other, name) if other == "world" else (name, other)
            mechanism.add_joint(
                f"{name} {end}", sb.Revolute(), *ends, point=(x, 0, z), axis=(0, 1, 0)
            )
    result = sb.modes(mechanism.compile())
    rate = np.sqrt(GRAVITY * (plate + bar) / length / (plate + 2 * bar / 3))
    np.testing.assert_allclose(result.frequency, [rate / (2 * np.pi)], rtol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 1e-4])
def test_large_mechanisms_have_the_modes_of_the_dense_way(damping, monkeypatch):
    system = sb.build("compliant-lattice", rows=5, columns=5, damping=damping).compile()
    state = sb.equilibrium(system).state
    dense = sb.modes(system, state, n=8)
    near = sb.modes(system, state, n=3, near=dense.frequency[5])
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", 0)
    sparse = sb.modes(system, state, n=8)
    np.testing.assert_allclose(sparse.eigenvalue, dense.eigenvalue, rtol=1e-7, atol=1e-9)
    close = sb.modes(system, state, n=3, near=dense.frequency[5])
    np.testing.assert_allclose(close.frequency, near.frequency, rtol=1e-8)
    assert ((sparse.damping_ratio > 0.0) == (damping > 0.0)).all()


def test_response_is_that_of_an_oscillator():
    """1 / (k - m w^2 + i w d)."""
    frequency = np.array([0.0, 0.2, 1.0])
    rate = 2 * np.pi * frequency
    result = sb.frequency_response(
        oscillator(0.5), inputs=["joint"], outputs=["joint"], frequency=frequency
    )
    np.testing.assert_allclose(result[:, 0, 0], 1 / (8.0 - 2.0 * rate**2 + 0.5j * rate), rtol=1e-10)


def test_column_buckles_under_the_loads_of_euler():
    """pi^2 E I / 4 l^2 (2 k - 1)^2 about both axes, of a clamped column with a free end."""
    mechanism = sb.build("beam", elements=60, gravity=(0, 0, 0))
    mechanism.add_external_force("load", "node-60", force=(-1, 0, 0))
    result = sb.buckling_loads(mechanism.compile(), load="load", n=3)
    weak, strong = (E * a * b**3 / 12 for a, b in ((WIDTH, HEIGHT), (HEIGHT, WIDTH)))
    expected = np.sort([weak, 9 * weak, strong])[:3] * np.pi**2 / 4
    np.testing.assert_allclose(result.factor, expected, rtol=1e-5)


def test_period_of_a_mode_is_a_trajectory(tmp_path):
    result = sb.modes(oscillator(0.0), n=1)
    played = result.motion(output=tmp_path / "mode.h5")
    assert played.time[-1] == pytest.approx(1 / result.frequency[0])
    np.testing.assert_allclose(played.position[0], played.position[-1], atol=1e-12)
    assert np.abs(played.velocity[10, 0, 5]) == pytest.approx(2.0 * played.position[0, 0, 2])
    again = sb.Trajectory.load(tmp_path / "mode.h5")
    np.testing.assert_array_equal(again.position, played.position)
    with pytest.raises(SimulationError, match="no mode 1"):
        result.motion(1)


def test_poses_out_of_balance_and_numbers_that_cannot_be_are_refused():
    system = sb.build("pendulum").compile()
    with pytest.raises(SimulationError, match="do not balance"):
        sb.modes(system)
    with pytest.raises(ModelError, match="n is 0"):
        sb.modes(oscillator(0.0), n=0)
    with pytest.raises(ModelError, match="near is nan"):
        sb.modes(oscillator(0.0), near=np.nan)
    with pytest.raises(ModelError, match="no parameter 'weight'"):
        sb.buckling_loads(oscillator(0.0), load="weight")


def turning(effort):
    """A disk on a revolute joint through its center of mass, with a torsion spring."""
    mechanism = one_body(sb.Revolute(), (0, 0, 0), inertia=[0.1, 0.1, 0.2])
    mechanism.add_joint_force("spring", "joint", stiffness=40.0, rest=0.3, effort=effort)
    return mechanism.compile()


def test_moments_balance_as_forces_do():
    with pytest.raises(SimulationError, match="do not balance"):
        sb.modes(turning(1.0))
    result = sb.modes(turning(-12.0))  # k (q - q_0) at q = 0
    np.testing.assert_allclose(result.frequency, np.sqrt(200.0) / (2 * np.pi), rtol=1e-12)
    linkage = sb.build("four-bar", gravity=(0, 0, 0))
    linkage.add_joint_force("spring", next(iter(linkage.joints)), stiffness=40.0)
    system = linkage.compile()
    assert len(sb.modes(system, sb.equilibrium(system).state).frequency) == 1


def test_stiffness_of_stretches_is_not_lost_to_rounding():
    """x' K x of a rigid motion is zero to the square of rounding."""
    motions = SmallMotions(
        sb.build("beam", elements=200, support="free", gravity=(0, 0, 0)).compile()
    )
    x = np.tile([0, 0, 0, 0, 0, 1.0], 201)[:, None]
    assert motions.energies(x)[0, 0] < 1e-25 * motions.largest_rate_squared


def slides(stiffness, *, between_points):
    """Unit masses, each on a slide of the one before, with springs."""
    mechanism, names = sb.Mechanism("slides", gravity=(0, 0, 0)), ["world"]
    for k, value in enumerate(stiffness):
        mechanism.add_body(f"b{k}", mass=1.0, inertia=[1, 1, 1], position=(0.3 * k, 0.1, k + 1.0))
        mechanism.add_joint(f"j{k}", sb.Prismatic(), names[-1], f"b{k}")
        if between_points:
            above = {"first_point": (0.3, 0.0, 0.0)} if k else {"first_point": (0.0, 0.1, 0.0)}
            numbers = {"stiffness": value, "rest_length": 1.0}
            mechanism.add_point_force(f"s{k}", names[-1], f"b{k}", **above, **numbers)
        else:
            mechanism.add_joint_force(f"s{k}", f"j{k}", stiffness=value)
        names.append(f"b{k}")
    return mechanism.compile()


@pytest.mark.parametrize("dense_size", [400, 0])
@pytest.mark.parametrize("between_points", [False, True])
def test_soft_springs_keep_their_frequencies_beside_stiff_ones(
    between_points, dense_size, monkeypatch
):
    """1 / omega^2 are eigenvalues of k^-1/2 H k^-1/2, H_ij the mass beyond both i and j."""
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    for stiffness in ([1.0, 1e12], [1, 1e12, 3, 1e14, 2, 1e12, 1]):
        k, n = np.array(stiffness), len(stiffness)
        index = np.arange(n)
        H = n - np.maximum(index[:, None], index)
        square = np.linalg.eigvalsh(H / np.sqrt(np.outer(k, k)))[::-1]
        n_soft = int((k < 1e3).sum())
        result = sb.modes(slides(stiffness, between_points=between_points), n=n_soft)
        expected = 1 / np.sqrt(square[:n_soft]) / (2 * np.pi)
        np.testing.assert_allclose(result.frequency, expected, rtol=1e-10)


@pytest.mark.parametrize("dense_size", [400, 0])
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_bars_between_spherical_joints_spin_freely_exactly(damping, dense_size, monkeypatch):
    """At an equilibrium, too, at which forces balance within a tolerance."""
    mechanism = sb.build("ladder", rungs=8)
    if damping > 0.0:
        above = {"first_point": (0, 0, 20.0)}
        mechanism.add_point_force("damper", "world", "bar-3-0", **above, damping=damping)
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    system = mechanism.compile()
    result = sb.modes(system, sb.equilibrium(system).state, n=10)
    assert result.n_mechanisms == 8
    assert (result.frequency[8:] > 0.2).all()


def test_structure_without_freedoms_has_no_modes():
    result = sb.modes(one_body(sb.Fixed()).compile())
    assert result.frequency.shape == (0,)
    assert result.shape.shape == (0, 1, 6)
    with pytest.raises(SimulationError, match="there are no modes"):
        result.motion()


def test_slow_return_against_a_strong_damper_is_no_mechanism():
    """s = -k / d nearly, of a spring of 8 N/m beside a damper of 1e6 N s/m."""
    result = sb.modes(oscillator(1e6), n=1)
    assert result.n_mechanisms == 0
    assert result.eigenvalue[0].real == pytest.approx(-8e-6, rel=1e-4)


def column(n, *, stiffness=10.0, force=(0, 0, -1.0), axes="world", gravity=0.0):
    """Rigid bars of length 0.5, upright one on the other, with torsion springs at their feet."""
    mechanism = sb.Mechanism("column", gravity=(0, 0, -gravity))
    names = ["world", *(f"b{k}" for k in range(n))]
    for k, (below, name) in enumerate(pairwise(names)):
        mechanism.add_body(name, mass=1.0, inertia=[0.1] * 3, position=(0, 0, 0.5 * k + 0.25))
        at = {"point": (0, 0, 0.5 * k), "axis": (0, 1, 0)}
        mechanism.add_joint(f"j{k}", sb.Revolute(), below, name, **at)
        mechanism.add_joint_force(f"s{k}", f"j{k}", stiffness=stiffness)
    mechanism.add_external_force("load", names[-1], force=force, point=(0, 0, 0.25), axes=axes)
    return mechanism.compile()


@pytest.mark.parametrize("dense_size", [400, 0])
def test_rigid_bars_on_springs_buckle_at_the_roots_of_their_chain(dense_size, monkeypatch):
    """p = k / l (2 sin(t / 2))^2 with t = (2 i - 1) pi / (2 n + 1)."""
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    for n in (1, 2, 12):
        odd = 2 * np.arange(1, min(n, 3) + 1) - 1
        expected = 20.0 * (2 * np.sin(odd * np.pi / (2 * n + 1) / 2)) ** 2
        result = sb.buckling_loads(column(n), load="load", n=len(odd))
        np.testing.assert_allclose(result.factor, expected, rtol=1e-6)


@pytest.mark.parametrize("dense_size", [400, 0])
def test_pulls_and_loads_that_turn_with_bodies_buckle_nothing(dense_size, monkeypatch):
    """Ziegler's column under a force that follows it has no load of divergence."""
    monkeypatch.setattr("sparsebody.linearization.vibrations._DENSE_SIZE", dense_size)
    for system in (
        column(9, force=(0, 0, 1)),
        column(9, axes="body"),
        column(2, axes="body"),
        column(4, axes="body", stiffness=33.3),
        column(9, force=(0, 0, 0)),
    ):
        with pytest.raises(SimulationError, match="none of 1 positive factors of 'load'"):
            sb.buckling_loads(system, load="load")


def test_structures_that_cannot_buckle_are_refused():
    with pytest.raises(SimulationError, match="unstable without the load"):
        sb.buckling_loads(column(1, stiffness=1.0, gravity=9.81), load="load")
    with pytest.raises(SimulationError, match="moves freely"):
        sb.buckling_loads(column(2, stiffness=0.0), load="load")
    with pytest.raises(SimulationError, match="only 2 of 3 positive factors"):
        sb.buckling_loads(column(2), load="load", n=3)
    with pytest.raises(ModelError, match="n is 0"):
        sb.buckling_loads(column(1), load="load", n=0)


def test_frequencies_and_ports_that_cannot_be_are_refused():
    ports = {"inputs": ["joint"], "outputs": ["joint"]}
    with pytest.raises(SimulationError, match=r"singular at 0\.31831 Hz"):
        sb.frequency_response(oscillator(0.0), frequency=[1 / np.pi], **ports)
    with pytest.raises(ModelError, match=r"frequency has shape \(1, 1\)"):
        sb.frequency_response(oscillator(0.1), frequency=[[1.0]], **ports)
    with pytest.raises(ModelError, match=r"give a list of them: \['joint'\]"):
        sb.frequency_response(oscillator(0.1), inputs="joint", outputs=["joint"], frequency=[1.0])
    for port, words in (
        (3, "3 is no port"),
        (sb.BodyPoint("body", (1, 0)), "direction of a port on body 'body'"),
        (sb.BodyPoint("body", (1, 0, 0), (0, np.nan, 0)), "point of a port on body 'body'"),
    ):
        with pytest.raises(ModelError, match=words):
            sb.linearize(oscillator(0.1)).state_space([port], [])
    assert sb.linearize(oscillator(0.1)).state_space([], ["joint"]).B.shape == (2, 0)
    with pytest.raises(ModelError, match="near is 1e"):
        sb.modes(oscillator(0.0), near=1e200)
    with pytest.raises(ModelError, match="n_frames is 1"):
        sb.modes(oscillator(0.0)).motion(n_frames=1)
