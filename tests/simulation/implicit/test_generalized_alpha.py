"""The generalized-alpha method: orders, oscillations, singular poses, the time loop."""

import numpy as np
import pytest
from compliant_mechanisms import spatial_chain
from linkages import one_body

import sparsebody as sb
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import EnergyWarning
from sparsebody.simulation import StoppedSimulationError
from sparsebody.simulation.implicit.generalized_alpha import AlphaCoefficients
from sparsebody.simulation.implicit.step_equations import uniform_compliance

ALPHA = {"method": "generalized-alpha"}


def pendulum():
    """A bar of length 1 that swings from the horizontal, about the y axis."""
    pin = {"point": [0, 0, 0], "axis": [0, 1, 0]}
    bar = {"inertia": [0.01, 1 / 12, 1 / 12], "position": [0.5, 0, 0]}
    return one_body(sb.Revolute(), joint=pin, **bar)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.7, 1.0])
def test_coefficients_are_of_second_order_and_dissipate_as_asked(radius):
    """Chung and Hulbert (1993), (17), (20) and (25)."""
    method = AlphaCoefficients.of(radius)
    assert method.gamma == pytest.approx(0.5 - method.shift)
    assert method.beta == pytest.approx(0.25 * (1.0 - method.shift) ** 2)
    matrix = np.zeros((3, 3))  # of (q, h v, h^2 a) in one step of q'' = -w^2 q with h w = 1e6
    w = 1e12
    for column, (q, v, a) in enumerate(np.eye(3)):
        base = q + v + (0.5 - method.beta) * a
        drive = -w * (method.alpha_f * q + (1 - method.alpha_f) * base) - method.alpha_m * a
        end = drive / (1 - method.alpha_m + (1 - method.alpha_f) * method.beta * w)
        matrix[:, column] = (
            base + method.beta * end,
            v + (1 - method.gamma) * a + method.gamma * end,
            end,
        )
    assert np.abs(np.linalg.eigvals(matrix)).max() == pytest.approx(radius, abs=1e-3)


@pytest.mark.parametrize(
    "method", [sb.Method("generalized-alpha", compliance=1e-13), "generalized-alpha-2"]
)
def test_poses_velocities_and_reactions_are_of_order_two_from_the_first_step_on(method):
    """Against Runge-Kutta steps of order 4 with projection, forty times shorter."""
    system = spatial_chain().compile()
    velocity = 2.0 * np.random.default_rng(0).normal(size=(2, 6))
    state = sb.consistent_state(system, system.initial_state.with_(velocity=velocity))
    shared = {"duration": 0.4, "record": sb.Recording(step=0.02, reactions=True)}
    exact = sb.simulate(system, state, step=0.4 / 1600, **shared)
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = sb.simulate(system, state, step=step, method=method, **shared)
        names = "position", "velocity", "joint_wrench"
        errors.append([np.abs(getattr(run, n) - getattr(exact, n)).max() for n in names])
    order = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_array_less(1.7, order)
    assert errors[-1][2] < 1e-2  # of forces of 100 N


@pytest.mark.parametrize("name", ["bricard", "n-four-bar", "ladder"])
def test_joints_of_index_two_close_in_positions_and_velocities(name):
    """Dependent rows, flat poses and long mechanisms."""
    system = sb.build(name, **{"loops": 3} if name == "n-four-bar" else {}).compile()
    run = sb.simulate(system, duration=0.8, step=0.01, method="generalized-alpha-2")
    assert run.position_error.max() < 1e-9
    assert run.velocity_error.max() < 1e-5
    assert run.energy_error < 2e-2


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize(
    ("n", "step", "duration"), [(3, 0.002, 0.01), (3, 0.01, 0.3), (4, 0.005, 0.3)]
)
def test_joints_of_index_two_close_from_a_singular_rest_also_in_parts_of_steps(n, step, duration):
    """There multipliers begin as 1 / t^2, and the rows of velocities change within a step."""
    system = sb.build("lattice", rows=n, columns=n).compile()
    run = sb.simulate(system, duration=duration, step=step, method="generalized-alpha-2")
    assert any(event.kind == "step in parts" for event in run.events) == (step > 0.002)
    assert run.position_error.max() < 1e-12
    assert run.velocity_error.max() < 1e-7
    assert run.energy_error < 1e-3


def share_of_extent(run, end=None):
    """Return the largest position error until then, relative to the extent of the mechanism."""
    extent = np.linalg.norm(np.ptp(run.position[:end][-1], axis=0))
    return run.position_error[:end].max() / extent


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.filterwarnings("ignore:rigid joints of 'lattice' stored")
@pytest.mark.parametrize("step", [0.002, 0.01])
@pytest.mark.parametrize("shape", [(5, 5, 1), (3, 3, 3)])
def test_lattices_leave_a_singular_rest_and_joints_stay_closed(shape, step):
    """All joints of a layer lie in one plane at first, so that rows are dependent there alone."""
    size = dict(zip(("rows", "columns", "layers"), shape, strict=True))
    run = sb.simulate(sb.build("lattice", **size).compile(), duration=0.3, step=step, **ALPHA)
    kinetic = run.kinetic_energy.max()
    assert kinetic > 1.0
    assert run.position_error.max() < 1e-5
    assert share_of_extent(run, end=len(run) // 2 + 1) < 1e-6
    assert np.max(run.energy - run.energy[0]) < 1e-3 * kinetic
    assert np.ptp(run.energy) < 0.2 * kinetic


def test_prescribed_motions_are_followed():
    motor = {"point": [0, 0, 0], "prescribed": sb.Polynomial((0.0, 2.0, 3.0))}
    mechanism = one_body(sb.Revolute(), gravity=(0, 0, 0), joint=motor, position=[0.5, 0, 0])
    run = sb.simulate(mechanism.compile(), duration=1.0, step=0.01, **ALPHA)
    angle = 2.0 * run.time + 3.0 * run.time**2
    np.testing.assert_allclose(run.coordinate[:, 0], angle, atol=1e-6)
    np.testing.assert_allclose(run.velocity[:, 0, 2], 2.0 + 6.0 * run.time, atol=1e-3)


def test_stiff_springs_and_dampers_need_no_short_steps():
    """A critically damped slide of rate 1e5 / s follows its load at once."""
    mechanism, stiffness = one_body(sb.Prismatic(), (0, 0, -10.0), {"axis": [0, 0, 1]}), 1e10
    mechanism.add_joint_force("stop", "joint", stiffness=stiffness, damping=2.0 * stiffness**0.5)
    rod = {"second_point": [1, 0, 0], "stiffness": stiffness, "rest_length": 1.0}
    mechanism.add_point_force("rod", "body", sb.WORLD, **rod)
    run = sb.simulate(mechanism.compile(), duration=0.5, step=0.01, **ALPHA)
    assert run.position[-1, 0, 2] == pytest.approx(-10.0 / stiffness, rel=1e-3)


def test_control_acts_as_a_force_of_the_model_does():
    def brake(time, state):
        return -0.4 * state.velocity * [[0, 1, 0, 0, 0, 0]]

    options = {"duration": 0.5, "step": 0.01} | ALPHA
    braked = sb.simulate(pendulum().compile(), control=brake, **options)
    mechanism = pendulum()
    mechanism.add_joint_force("brake", "joint", damping=0.4)
    expected = sb.simulate(mechanism.compile(), **options)
    np.testing.assert_allclose(braked.position, expected.position, atol=2e-6)


@pytest.mark.parametrize(
    ("method", "remedy"),
    [("generalized-alpha", "see"), ("generalized-alpha-2", 'if rows depend .* take method="auto"')],
)
def test_a_motion_that_cannot_be_continued_is_kept_up_to_there(method, remedy):
    def explode(time, state):
        return np.full((1, 6), 1e200 if time > 0.05 else 0.0)

    cause = f"does not converge .*; joint 'joint' bears the largest loads: {remedy}"
    options = {"duration": 0.1, "step": 0.01, "method": method}
    with pytest.raises(StoppedSimulationError, match=cause) as caught:
        sb.simulate(pendulum().compile(), control=explode, **options)
    assert caught.value.trajectory.time[-1] >= 0.05


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2"])
def test_steps_before_an_error_of_a_function_of_time_are_kept(method):
    def effort(time):
        return np.inf if time > 0.043 else 0.0, 0.0, 0.0

    mechanism, options = pendulum(), {"step": 2e-3, "method": method}
    mechanism.add_joint_force("motor", "joint", effort=effort)
    with pytest.raises(StoppedSimulationError, match=r"is inf at t = 0\.044") as caught:
        sb.simulate(mechanism.compile(), duration=0.1, **options)
    free = sb.simulate(pendulum().compile(), duration=0.042, **options)
    np.testing.assert_allclose(caught.value.trajectory.position, free.position, atol=1e-15)


@pytest.mark.parametrize("ending", ["error", "event"])
def test_motions_that_end_within_a_step_record_the_energy_of_their_last_deflection(ending):
    """delta' C^-1 delta / 2, where an error undoes parts of a step, and where one of them ends."""
    system, C, middle = sb.build("andrews").compile(), 1e-7, 0.0045
    method = sb.Method("generalized-alpha", compliance=C)
    options = {"duration": 0.03, "step": 0.003, "method": method, "record": sb.Recording(step=0.03)}

    def fail(time, state):
        return np.full((system.n_bodies, 6), 1e200 if time > middle + 1e-4 else 0.0)

    def halfway(time, state):
        return time - middle

    halfway.terminal = True
    if ending == "error":
        with pytest.raises(StoppedSimulationError) as caught:
            sb.simulate(system, control=fail, **options)
        run = caught.value.trajectory
    else:
        run = sb.simulate(system, events=halfway, **options)
    assert run.events[0].kind == "step in parts"
    assert run.time[-1] == pytest.approx(middle if ending == "event" else 0.003, abs=1e-12)
    state = run.state(-1)
    error = constraint_errors(system, state)[0]
    stored = 0.5 * np.sum(error**2 / uniform_compliance(system, state, C).diagonal)
    assert run.elastic_energy[-1] == pytest.approx(stored, rel=1e-3)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_a_strut_that_buckles_faster_than_steps_is_followed_in_parts():
    """Two struts pushed through their straight pose: a load far above that of buckling."""
    mechanism = sb.Mechanism("struts", gravity=(0, 0, 0))
    for name, x in (("left", 0.5), ("right", 1.5)):
        mechanism.add_body(name, mass=1.0, inertia=[0.01, 0.1, 0.1], position=[x, 1e-6 * x, 0])
    pin = sb.Revolute()
    mechanism.add_joint("foot", pin, sb.WORLD, "left", point=[0, 0, 0], axis=[0, 0, 1])
    mechanism.add_joint("knee", pin, "left", "right", point=[1, 1e-4, 0], axis=[0, 0, 1])
    mechanism.add_external_force("push", "right", force=[-1e5, 0, 0], point=[0.5, 0, 0])
    run = sb.simulate(mechanism.compile(), duration=0.05, step=0.01, **ALPHA)
    assert "step in parts" in [event.kind for event in run.events]
    assert run.time[-1] == pytest.approx(0.05)
    assert run.position_error.max() < 1e-5


@pytest.mark.parametrize("pairs", [30, 120])
def test_joints_of_driven_lifts_open_negligibly_whatever_their_multipliers(pairs):
    """Rods that are nearly flat press each other with a multiple of all weights."""
    system = sb.build("scissor", pairs=pairs, drive=True).compile()
    run = sb.simulate(system, duration=1.0, step=0.005, **ALPHA)
    assert share_of_extent(run) < 1e-6
    exact = sb.simulate(system, duration=1.0, step=0.005, method="rk4")
    np.testing.assert_allclose(run.position[-1], exact.position[-1], atol=5e-3)  # of 13 m and more


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("damping", [0.3, 3e3])
def test_dampers_on_the_coordinates_of_a_ball_slow_it_down_as_they_should(damping):
    """w = w_0 exp(-d t / I), which steps resolve or not."""
    spin = np.array([1.0, -2.0, 0.5])
    ball = {"inertia": [0.5, 0.5, 0.5], "angular_velocity": spin}
    mechanism = one_body(sb.Spherical(), (0, 0, 0), {"point": [0, 0, 0]}, **ball)
    for axis in range(3):
        mechanism.add_joint_force(f"d{axis}", "joint", coordinate=axis, damping=damping)
    run = sb.simulate(mechanism.compile(), duration=1.0, step=0.01, **ALPHA)
    expected = spin * np.exp(-damping / 0.5)
    np.testing.assert_allclose(run.velocity[-1, 0, :3], expected, atol=1e-4)


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2"])
def test_reactions_between_adaptive_steps_are_those_of_their_own_time(method):
    """Steps that are some records long; those of their ends err by the change in a step."""
    options = {"duration": 0.5, "record": sb.Recording(step=0.002, reactions=True)}
    run, exact = (
        sb.simulate(pendulum().compile(), step=step, method=name, rtol=1e-5, **options)
        for step, name in (("auto", method), (0.002, "rk4"))
    )
    error = np.abs(run.joint_wrench - exact.joint_wrench)[25:].max()
    assert error < 5e-3 * np.abs(exact.joint_wrench).max()


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_snaps_lose_the_energy_of_vibrations_that_steps_do_not_resolve():
    """A cube of balls: joints of a compliance that steps resolve keep the energy, others do not."""
    system = sb.build("lattice", rows=3, columns=3, layers=3).compile()
    resolved = sb.Method("generalized-alpha", compliance=1e-6)  # [m/N], of 1 kg: 1e3 rad/s
    vibrating = sb.simulate(system, duration=1.0, step=1e-3, method=resolved)
    assert vibrating.energy_error < 1e-3
    assert vibrating.elastic_energy[-1] > 0.01 * vibrating.kinetic_energy.max()
    with pytest.warns(
        EnergyWarning, match="rigid joints of 'lattice' stored .* give the compliance"
    ):
        rigid = sb.simulate(system, duration=1.0, step=1e-3, method="generalized-alpha")
    assert rigid.position_error.max() < 0.1 * vibrating.position_error.max()
    assert 0.005 < rigid.energy_error < 0.2
    assert rigid.energy[-1] < rigid.energy[0]


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2", "auto"])
def test_adaptive_steps_start_with_values_for_their_own_size(method):
    """Not for the time between records: accelerations change within a microsecond here."""
    ends = []
    for kind in (sb.Fixed, sb.Revolute):  # which the damper all but locks
        arm = sb.Mechanism("arm")
        for k, (joint, x) in enumerate(((sb.Revolute, 0.0), (kind, 1.0))):
            bar = {"mass": 1.0, "inertia": [0.02, 0.1, 0.1], "position": [x + 0.5, 0, 0]}
            arm.add_body(f"bar {k}", **bar)
            near = sb.WORLD if k == 0 else "bar 0"
            arm.add_joint(f"pin {k}", joint(), near, f"bar {k}", point=[x, 0, 0], axis=[0, 1, 0])
        if kind is sb.Revolute:
            arm.add_joint_force("damper", "pin 1", damping=1e6)
        record = sb.Recording(step=0.2)
        options = {"method": method if kind is sb.Revolute else "rk4", "record": record}
        run = sb.simulate(arm.compile(), duration=0.4, step="auto", **options)
        ends.append(run.position[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-4)
