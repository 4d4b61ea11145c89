"""Errors of steps of a fixed size: estimated, told with a step that would do, or small."""

import re
import sys
import warnings

import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import copied

import sparsebody as sb
from sparsebody._core import simulation
from sparsebody.errors import AccuracyWarning, EnergyWarning
from sparsebody.simulation.compliance_errors import rigid_differences
from sparsebody.simulation.integrators import pose_derivatives
from sparsebody.simulation.step_errors import End, StepErrors

EULER = "semi-implicit-euler"


def pair(path, h):
    """Three samples of a polynomial path (7,) of one body."""
    rate, curvature = path.deriv(), path.deriv(2)
    return [
        (t, *(np.array([[f(t)] + [0.0] * 6]) for f in (path, rate, curvature)))
        for t in (-h, 0.0, h)
    ]


def defects_of(degree, h):
    """The defects of a pose and of its rate, on a path that is a power of time."""
    path = np.polynomial.Polynomial.basis(degree)
    return np.ravel(simulation.defects(*pair(path, h), np.ones((1, 7)), np.zeros((0, 7))))


@pytest.mark.parametrize("degree", range(7))
def test_paths_of_degree_six_have_no_defect(degree):
    assert defects_of(degree, 0.5) == pytest.approx([0.0, 0.0], abs=1e-14)


def test_defects_of_higher_degree_fall_with_the_seventh_power_of_the_step():
    for part, degree in enumerate((7, 8)):
        assert defects_of(degree, 0.5)[part] / defects_of(degree, 0.25)[part] == pytest.approx(
            2.0**7
        )


def test_a_jump_of_mean_accelerations_is_no_vibration():
    """Accelerations 0, 2, 0 with what they do by the trapezoidal rule; the mean is 1."""
    pose, rate, curvature = [0.0, 0.5, 2.0], [0.0, 1.0, 2.0], [0.0, 2.0, 0.0]
    samples = [
        (t, *(np.array([[f[k]] + [0.0] * 6]) for f in (pose, rate, curvature)))
        for k, t in enumerate((-1.0, 0.0, 1.0))
    ]
    for mean, expected in ((np.zeros((0, 7)), 0.0), (samples[1][2] * 0.0, 5 / 3), (1.0, 0.0)):
        before = mean if isinstance(mean, np.ndarray) else np.array([[mean] + [0.0] * 6])
        error = simulation.defects(*samples, np.ones((1, 7)), before)[1]
        assert error == pytest.approx([expected])


@pytest.mark.parametrize(("path", "rate", "sign"), [(np.sin, np.cos, -1), (np.exp, np.exp, 1)])
def test_a_motion_turns_errors_of_rates_or_lets_them_grow(path, rate, sign):
    """x = sin 3t turns them at a rate of 3, x'' = -9 x; with x = exp 3t they grow, x'' = 9 x."""
    samples = [
        (t, *(np.full((1, 7), f) for f in (path(3 * t), 3 * rate(3 * t), sign * 9 * path(3 * t))))
        for t in (0.1, 0.2, 0.3)
    ]
    omega, kappa, mean = simulation.turning(*samples, np.ones((1, 7)), np.ones(1), 1.0, 0.2)
    assert (omega[0], kappa) == pytest.approx((3.0, 0.0) if sign < 0 else (0.0, 9.0))
    assert mean == pytest.approx(3.0 if sign < 0 else 0.0, rel=0.01)


@pytest.mark.parametrize(("method", "step"), [(EULER, 8e-4), ("rk4", 0.04)])
def test_estimates_follow_errors_that_a_motion_amplifies(method, step):
    """A four-bar goes round: the errors of its steps add up to a seventh of that at the end."""
    system = sb.build("four-bar", speed=2.0).compile()
    exact = sb.simulate(system, duration=0.8, step=4e-4, method="rk4").position[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        run = sb.simulate(system, duration=0.8, step=step, method=method)
    size = np.linalg.norm(run.position - run.position[0], axis=-1).max()
    error = np.linalg.norm(run.position[-1] - exact, axis=-1).max() / size
    assert error / 5.0 < run.estimated_error < 10.0 * error


def fall(n_steps, every=1):
    """The warnings of a free fall of 1 s by a method of first order."""
    options = {"duration": 1.0, "step": 1.0 / n_steps, "method": EULER}
    record = sb.Recording(step=every / n_steps)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        run = sb.simulate(one_body(sb.Free()).compile(), record=record, **options)
    return run, [str(doubt.message) for doubt in doubts]


@pytest.mark.parametrize("every", [1, 16])
def test_errors_of_a_fall_add_up_to_that_of_the_end(every):
    """Poses are ahead by g h t / 2 at a time t: a body moves by g (1 + h) / 2 in a second."""
    h = 1.0 / 16.0
    run, (message,) = fall(16, every)
    assert run.position[-1, 0, 2] == pytest.approx(-0.5 * 9.81 * (1.0 + h))
    assert f"grow to an estimated {h / (1.0 + h):.1%} of how far" in message
    assert run.estimated_error == pytest.approx(h / (1.0 + h))


@pytest.mark.parametrize("n_steps", [500, 20000])
def test_short_steps_of_a_fall_are_in_silence(n_steps):
    assert fall(n_steps, every=100)[1] == []


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2", EULER])
def test_a_motion_wrong_by_long_steps_says_which_would_do(method):
    system = sb.build("four-bar").compile()
    options = {"duration": 0.5, "method": method, "record": sb.Recording(step=0.05)}
    exact = sb.simulate(system, duration=0.5, step=0.005, method="rk4", record=options["record"])
    size = np.abs(exact.position - exact.position[0]).max()
    with pytest.warns(AccuracyWarning, match="of 'four-bar' grow to .*%.* take steps of") as said:
        wrong = sb.simulate(system, step=0.05, **options)
    assert np.abs(wrong.position - exact.position).max() > 0.05 * size
    step = float(re.search(r"steps of (\S+) s", str(said[0].message))[1])
    right = sb.simulate(system, step=0.05 / np.ceil(0.05 / step), **options)  # no warning
    assert np.abs(right.position - exact.position).max() < 0.02 * size


def test_a_vibration_out_of_phase_is_told():
    """Symplectic steps keep its energy, and lose 1/24 (h w)^2 of its phase."""
    system = vibrating_body(rate=400.0)
    with pytest.warns(AccuracyWarning, match=r"grow to .*%"):
        run = sb.simulate(system, duration=0.1, step=1e-3, method="variational")
    assert run.energy_error < 0.05
    sb.simulate(system, duration=0.1, step=5e-5, method="variational")  # no warning


def vibrating_body(rate):
    slide = one_body(sb.Prismatic(), mass=2.0, gravity=(0, 0, 0))
    slide.add_joint_force("spring", "joint", stiffness=2.0 * rate**2, rest=0.01)
    return slide.compile()


def test_long_motions_are_seen_in_a_small_part_of_their_steps(monkeypatch):
    seen, add, add_ends = set(), StepErrors.add, StepErrors.add_ends

    def count_pairs(errors, *sample):
        add(errors, *sample)
        seen.add(errors.next_step)

    def count_pairs_of_ends(errors, first_step, states, acceleration, joints, end_at):
        for k in range(len(acceleration)):
            one = slice(k, k + 1)
            rest = acceleration[one], (joints[0][one], joints[1]), end_at
            add_ends(errors, first_step + k, states.chosen(one), *rest)
            seen.add(errors.next_step)

    monkeypatch.setattr(StepErrors, "add", count_pairs)
    monkeypatch.setattr(StepErrors, "add_ends", count_pairs_of_ends)
    options = {"duration": 20.0, "step": 1e-3, "record": sb.Recording(step=1.0), "method": "rk4"}
    sb.simulate(sb.build("pendulum").compile(), **options)
    assert 50 < len(seen) < 0.005 * 20000


def test_a_loss_of_energy_tells_of_errors_that_the_estimate_takes_for_small():
    system, options = sb.build("five-bar-array").compile(), {"duration": 0.5, "step": 0.02}
    exact = sb.simulate(system, **options, method="rk4").position
    with pytest.warns(EnergyWarning, match="of 'five-bar-array' fell by 0.6% of what moves"):
        run = sb.simulate(system, **options, method="generalized-alpha-2")
    assert run.estimated_error < 0.0025
    assert np.abs(run.position - exact).max() > 0.001 * np.abs(exact - exact[0]).max()


@pytest.mark.parametrize(("ratio", "n_steps"), [(1e8, 400), (1e8, 100), (1.0, 400)])
def test_what_the_compliance_of_heavily_loaded_joints_does_is_an_error(ratio, n_steps):
    """A heavy body opens joints by 1e-7 m, and light ones on both sides go wrong by 3 %."""
    masses = np.ones(40)
    masses[20] = ratio
    system, end = copied(sb.build("four-bar-torus"), masses=masses).compile(), 0.8
    exact = sb.simulate(system, duration=end, step=1e-3, method="rk4").position
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        run = sb.simulate(system, duration=end, step=end / n_steps, method="generalized-alpha")
    size = np.linalg.norm(exact - exact[0], axis=-1).max()
    error = np.linalg.norm(run.position[-1] - exact[-1], axis=-1).max() / size
    assert error / 8.0 < run.estimated_error < 4.0 * error
    assert [doubt.category for doubt in doubts] == [AccuracyWarning] * (ratio > 1.0)


@pytest.mark.parametrize(
    ("body", "ratio", "n_steps", "method"),
    [
        (25, 1e6, 457, "generalized-alpha"),
        (25, 1e6, 700, "generalized-alpha"),
        (5, 1e8, 86, "auto"),
    ],
)
def test_what_joints_do_where_light_bodies_are_whipped_on_is_an_error(body, ratio, n_steps, method):
    """Bodies are 0.3 m/s wrong after some 20 steps, in a few of which joints vibrate as well."""
    masses = np.ones(40)
    masses[body] = ratio
    system, end = copied(sb.build("four-bar-torus"), masses=masses).compile(), 0.8
    exact = sb.simulate(system, duration=end, step=1e-3, method="rk4").position
    size = np.linalg.norm(exact - exact[0], axis=-1).max()
    with pytest.warns(AccuracyWarning, match="errors of the steps of 'four-bar-torus' grow"):
        run = sb.simulate(system, duration=end, step=end / n_steps, method=method)
    error = np.linalg.norm(run.position[-1] - exact[-1], axis=-1).max() / size
    assert error > 0.005
    assert error / 2.0 < run.estimated_error < 2.0 * error


@pytest.mark.parametrize(
    ("body", "ratio", "n_steps", "end", "method"),
    [
        (4, 1e7, 72, 0.95, "auto"),
        (19, 1e5, 70, 0.89, "rk4"),
        (19, 1e7, 920, 0.8, "generalized-alpha"),
    ],
)
def test_errors_that_ill_scaled_bodies_amplify_are_told(body, ratio, n_steps, end, method):
    """By steps twice as long: what is seen along the motion is 0.1 to 0.01 of them."""
    masses = np.ones(40)
    masses[body] = ratio
    system = copied(sb.build("four-bar-torus"), masses=masses).compile()
    exact = sb.simulate(system, duration=end, step=end / 4000, method="rk4").position
    with pytest.warns(AccuracyWarning, match="errors of the steps of 'four-bar-torus' grow"):
        run = sb.simulate(system, duration=end, step=end / n_steps, method=method)
    size = np.linalg.norm(exact - exact[0], axis=-1).max()
    error = np.linalg.norm(run.position[-1] - exact[-1], axis=-1).max() / size
    assert error > 0.005
    assert error / 4.0 < run.estimated_error < 4.0 * error


def test_light_bodies_that_turn_in_a_few_steps_are_seen():
    masses = np.ones(15)
    masses[9] = 1e6
    system, end = copied(sb.build("tree"), masses=masses).compile(), 0.3
    exact = sb.simulate(system, duration=end, step=1e-4, method="rk4").position
    with pytest.warns(AccuracyWarning, match="errors of the steps of 'tree' grow"):
        run = sb.simulate(system, duration=end, step=end / 172, method="rk4")
    size = np.linalg.norm(exact - exact[0], axis=-1).max()
    error = np.linalg.norm(run.position[-1] - exact[-1], axis=-1).max() / size
    assert error / 3.0 < run.estimated_error < 3.0 * error


def test_forces_of_joints_are_no_difference_from_rigid_ones():
    """Accelerations M^-1 A' mu are none, those that joints allow are one as a whole."""
    system = sb.build("four-bar", speed=2.0).compile()
    dynamics = sb.ForwardDynamics(system)
    evaluation = dynamics.evaluate(system.initial_state)
    rigid, rng = evaluation.acceleration(), np.random.default_rng(0)
    of_forces = 1e3 * evaluation.position_correction(rng.normal(size=system.n_rows))
    state, vibrating = system.initial_state, rigid + of_forces
    ends = End(state, vibrating), End(state, vibrating + state.velocity)
    none, whole = rigid_differences(dynamics, ends)
    rates = pose_derivatives(state, rigid)[0]
    np.testing.assert_allclose(none, 0.0, atol=1e-10 * np.abs(of_forces).max())
    np.testing.assert_allclose(whole, rates, atol=1e-10 * np.abs(of_forces).max())


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
@pytest.mark.parametrize("every", [1, 200])
def test_how_many_steps_are_taken_at_once_makes_no_difference(method, every, monkeypatch):
    masses = np.ones(40)
    masses[20] = 1e8
    system = copied(sb.build("four-bar-torus"), masses=masses).compile()
    options = {"duration": 0.4, "step": 2e-3, "method": method}
    runs = []
    for most_steps in (1024, 5, 1):
        monkeypatch.setattr(sys.modules[sb.simulate.__module__], "_MOST_STEPS", most_steps)
        record = sb.Recording(step=every * options["step"])
        runs.append(sb.simulate(system, record=record, **options))
    for run in runs[1:]:
        assert run.estimated_error == runs[0].estimated_error
        np.testing.assert_array_equal(run.position, runs[0].position)


def test_errors_before_an_interruption_are_told_at_the_end(tmp_path):
    path = tmp_path / "run.h5"
    system, options = sb.build("four-bar").compile(), {"step": 0.05, "method": "generalized-alpha"}
    said = []
    for duration, output in ((0.55, None), (0.5, path), (0.55, sb.Output(path, resume=True))):
        with pytest.warns(AccuracyWarning, match="grow to") as doubts:
            sb.simulate(system, duration=duration, output=output, **options)
        said.append(float(re.search(r"estimated (\S+)%", str(doubts[0].message))[1]))
    whole, before, resumed = said
    assert before > 0.5 * whole
    assert resumed == pytest.approx(whole, rel=0.1)


def at(time, height):
    """A body at rest."""
    state = one_body(sb.Free()).compile().initial_state
    return state.with_(time=time, position=np.array([[0.0, 0.0, height]]))


def test_unequal_steps_are_no_pair():
    """Of steps to 1, 3, 4 and 5 s the last two alone are alike, and those before count as such.

    A jump by 1 m without a velocity is an error of 1 m, and of 2 m/s, of each pair of steps.
    """
    system, still = one_body(sb.Free()).compile(), np.zeros((1, 6))
    for jump, expected in ((2.0, 0.0), (4.5, 5.0 / 2.0 * (1.0 + 2.0 * 5.0 / 2.0))):
        errors = StepErrors(system, at(0.0, 0.0))
        for step, time in enumerate([0.0, 1.0, 3.0, 4.0, 5.0]):
            errors.add(step, End(at(time, float(time > jump)), still))
        assert errors.relative_to_motion(at(5.0, 1.0))[0] == pytest.approx(expected)


def test_steps_before_and_after_another_state_are_no_pair():
    system, still = one_body(sb.Free()).compile(), np.zeros((1, 6))
    errors = StepErrors(system, at(0.0, 0.0))
    for step in range(6):
        if step == 2:
            errors.restart()
        errors.add(step, End(at(float(step), float(step > 1)), still))
    assert errors.relative_to_motion(at(5.0, 1.0))[0] == 0.0


def test_what_an_event_changes_is_no_error():
    """A ball bounces at the ends of steps, by which its velocity changes in no time."""
    mechanism = one_body(sb.Free(), position=[0, 0, 1.0])

    def floor(time, state):
        return float(state.position[0, 2])

    floor.direction = -1
    floor.change = lambda time, state: state.with_(velocity=-0.8 * state.velocity)
    sb.simulate(mechanism.compile(), duration=2.0, step=0.01, events=floor)  # no warning


@pytest.mark.parametrize(
    ("body", "ratio", "n_steps"), [(3, 1e8, 440), (20, 1e8, 467), (38, 1e8, 272), (38, 1e4, 95)]
)
def test_a_pose_that_light_bodies_pass_in_a_few_steps_is_told(body, ratio, n_steps):
    """The loads of joints grow for a tenth of the motion, or bodies turn in less than a step."""
    masses = np.ones(40)
    masses[body] = ratio
    system, end = copied(sb.build("four-bar-torus"), masses=masses).compile(), 0.8
    exact = sb.simulate(system, duration=end, step=5e-4, method="rk4").position
    size = np.linalg.norm(exact - exact[0], axis=-1).max()
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        run = sb.simulate(system, duration=end, step=end / n_steps, method="generalized-alpha")
    error = np.linalg.norm(run.position[-1] - exact[-1], axis=-1).max() / size
    assert error < 0.0025 or AccuracyWarning in {doubt.category for doubt in doubts}


def test_a_pair_that_begins_at_once_stands_for_itself():
    """A jump by 1 m in steps of 1 s is an error of 1 m, and of 2 m/s, of which a second remains."""
    system, still = one_body(sb.Free()).compile(), np.zeros((1, 6))
    errors = StepErrors(system, at(0.0, 0.0))
    for step in range(53):
        height = float(step > 50)
        if step == 51:
            assert errors.next_step > step
            errors.begin_pair(50, End(at(50.0, 0.0), still))
        errors.add(step, End(at(float(step), height), still))
    assert errors.relative_to_motion(at(52.0, 1.0))[0] == pytest.approx(3.0)
