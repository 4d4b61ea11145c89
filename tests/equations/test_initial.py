"""Initial assembly: nearest poses, consistent velocities, drives, and what cannot close."""

import numpy as np
import oracles
import pytest
from linkages import at_start, one_body
from random_mechanisms import random_loops
from scipy.linalg import block_diag

import sparsebody as sb
from sparsebody.equations.initial_state import compliant_state
from sparsebody.equations.system_motion import SystemMotion, constraint_errors
from sparsebody.errors import AssemblyError, ModelError
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.spatial import plucker_parts, quaternion_exponential, rotation_logarithm

MOBILE = ("spherical", "universal", "planar", "cylindrical", "point-on-line", "point-on-plane")


def errors(system, state):
    """Largest position and velocity error of any row."""
    position, _ = constraint_errors(system, state)
    velocity = dense_rows(system, state) @ state.velocity.ravel()
    velocity = velocity - oracles.prescribed_velocities(system, state.time)
    return np.abs(position).max(), np.abs(velocity).max()


def dense_rows(system, state):
    """A (n_rows, 6 n_bodies) in body coordinates, from the textbook form."""
    book, n = oracles.assemble(system, state), system.n_bodies
    to_world = np.linalg.inv(book.world_to_body)
    return np.einsum("rni,nij->rnj", book.rows.reshape(-1, n, 6), to_world).reshape(-1, 6 * n)


def least_solution(system, A, right):
    """The solution (n_bodies, 6) of A x = right with the least x' I x."""
    L = block_diag(*np.linalg.cholesky(system.spatial_inertia))
    y = np.linalg.lstsq(np.linalg.solve(L, A.T).T, right, rcond=1e-9)[0]
    return np.linalg.solve(L.T, y).reshape(-1, 6)


def twist_between(first, second):
    """Twists (n_bodies, 6) in the body coordinates of `first`."""
    R_1, R_2 = body_rotations(first), body_rotations(second)
    turn = [rotation_logarithm(one.T @ two) for one, two in zip(R_1, R_2, strict=True)]
    slide = np.einsum("nij,ni->nj", R_1, second.position - first.position)
    return np.concatenate([turn, slide], axis=1)


SYSTEMS = {
    "four-bar": lambda: sb.build("four-bar", speed=2.0),
    "scissor": lambda: sb.build("scissor", pairs=5, drive=True),
    "free scissor": lambda: sb.build("scissor", pairs=5),
    "bricard": lambda: sb.build("bricard"),
    "ladder": lambda: sb.build("ladder", rungs=8, disorder=0.1),
    "stewart": lambda: sb.build("stewart", drive=True),
} | {
    f"random {k}": lambda k=k: random_loops(np.random.default_rng(k), 8, 2, MOBILE, moving=True)
    for k in (1, 2, 3)
}


@pytest.mark.parametrize("size", [1e-6, 1e-3, 3e-2])
@pytest.mark.parametrize("name", SYSTEMS)
def test_perturbed_loops_close_and_move_consistently(name, size):
    system = SYSTEMS[name]().compile()
    rng = np.random.default_rng(7)
    before = sb.displaced(system.initial_state, size * rng.normal(size=(system.n_bodies, 6)))
    before = before.with_(velocity=before.velocity + rng.normal(size=before.velocity.shape))
    after = sb.consistent_state(system, before)
    position, velocity = errors(system, after)
    assert position <= 1e-12 * max(1.0, system.typical_length)
    assert velocity <= 1e-11
    assert np.abs(twist_between(before, after)).max() < 30.0 * size
    assert after.time == before.time


@pytest.mark.parametrize("name", SYSTEMS)
def test_corrections_are_the_least_in_the_metric_of_the_inertias(name):
    system, closed = at_start(SYSTEMS[name]())
    A, rng = dense_rows(system, closed), np.random.default_rng(8)
    way = 1e-5 * rng.normal(size=(system.n_bodies, 6))
    sides = sb.displaced(closed, way), sb.displaced(closed, -way)
    there, back = (twist_between(side, sb.consistent_state(system, side)) for side in sides)
    expected = least_solution(system, A, -A @ way.ravel())
    np.testing.assert_allclose(0.5 * (there - back), expected, atol=1e-5 * np.abs(way).max())
    before = closed.with_(velocity=rng.normal(size=closed.velocity.shape))
    after = sb.consistent_state(system, before)
    gamma = oracles.prescribed_velocities(system, closed.time) - A @ before.velocity.ravel()
    expected = least_solution(system, A, gamma)
    np.testing.assert_allclose(after.velocity - before.velocity, expected, atol=1e-8)
    np.testing.assert_array_equal(after.position, closed.position)


def test_a_consistent_state_stays_as_it_is_and_so_does_one_without_joints():
    stone = one_body(linear_velocity=[1, 2, 3]).compile()
    velocity = stone.initial_state.velocity
    np.testing.assert_array_equal(sb.consistent_state(stone).velocity, velocity)
    assert stone.typical_length == 1.0
    system, once = at_start(sb.build("four-bar", speed=2.0))
    twice = sb.consistent_state(system, once)
    np.testing.assert_array_equal(once.position, twice.position)
    np.testing.assert_array_equal(once.orientation, twice.orientation)
    np.testing.assert_allclose(once.velocity, twice.velocity, atol=1e-13)


def test_far_from_the_origin_rounding_is_no_position_error(monkeypatch):
    mechanism, x = sb.Mechanism(), 1e7 / 3
    points = [[x, x, 0.0], [x + 0.7, x, 0.0]]
    mechanism.add_bodies(["left", "right"], mass=1.0, inertia=[0.1, 0.2, 0.3], position=points)
    frames = {"predecessor_frame": sb.Frame((0.4, 0, 0)), "successor_frame": sb.Frame((-0.3, 0, 0))}
    mechanism.add_joint("hinge", sb.Revolute(), "left", "right", **frames)
    system = mechanism.compile()
    assert errors(system, system.initial_state)[0] > 1e-10
    monkeypatch.delattr("sparsebody.equations.initial_state.layout_of_all_rows")
    state = sb.consistent_state(system)
    np.testing.assert_array_equal(state.position, system.initial_state.position)


@pytest.mark.parametrize("time", [0.0, 0.7, 2.5, 40.0])
def test_drives_are_obeyed_at_any_time(time):
    mechanism = sb.Mechanism()
    wave, ramp = sb.Sinusoid(0.3, 2.0, offset=0.2), sb.Polynomial((0.1, 0.3))
    mechanism.add_bodies(["slider", "wheel"], mass=1.0, inertia=[0.1, 0.1, 0.1])
    along = {"axis": [1, 0, 0], "prescribed": wave}
    mechanism.add_joint("slide", sb.Prismatic(), sb.WORLD, "slider", **along)
    mechanism.add_joint("axle", sb.Revolute(), "slider", "wheel", prescribed=ramp)
    system = mechanism.compile()
    state = sb.consistent_state(system, system.initial_state.with_(time=time))
    points, speed, _ = wave(time)
    angle, rate, _ = ramp(time)
    np.testing.assert_allclose(sb.point_position(system, state, "slider", [0, 0, 0])[0], points)
    R = body_rotations(state)[1]
    np.testing.assert_allclose(R[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-12)
    np.testing.assert_allclose(state.velocity[0], [0, 0, 0, speed, 0, 0], atol=1e-12)
    np.testing.assert_allclose(state.velocity[1, :3], [0, 0, rate], atol=1e-12)
    turns = (angle - state.coordinate[1]) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-10)


@pytest.mark.parametrize(
    "turn", [(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 1, 1, 1), (0.02, 1, 0, 0)]
)
@pytest.mark.parametrize(
    "joint_type", [sb.Fixed(), sb.Prismatic(), sb.Revolute(), sb.Cylindrical(), sb.Planar()]
)
def test_a_joint_put_together_backwards_is_turned_round(joint_type, turn):
    """Half a turn, and a third of one about the diagonal, leave sines or products zero."""
    bar = {"inertia": [0.1, 0.2, 0.2], "orientation": np.array(turn) / np.linalg.norm(turn)}
    system = one_body(joint_type, joint={"predecessor_frame": sb.Frame()}, **bar).compile()
    motion = joint_motion(system, sb.consistent_state(system))
    E, r = motion.rotation[0], motion.translation[0]
    q = joint_type.coordinates(E, r)
    np.testing.assert_allclose(plucker_parts(joint_type.transform(q))[0], E, atol=1e-11)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3])
@pytest.mark.parametrize("axis", [(1, 0, 0), (1, 1, 0), (0.6, 0, 0.8)])
@pytest.mark.parametrize("name", sorted(sb.JOINT_TYPES))
def test_open_chains_close_whatever_way_their_bodies_lie(name, axis, size):
    """Bodies turned half round about axes where errors, or their rates, are zero; or near them."""
    number = {"helical": (0.1,), "constant-distance": (0.7,)}.get(name, ())
    shift, turn = size * np.random.default_rng(1).normal(size=(2, 3, 3))
    points = np.array([[2, -1, 3], [3, -1, 3], [4, -1, 3]]) + shift
    turned = quaternion_exponential(np.pi * np.array(axis) / np.linalg.norm(axis) + turn)
    mechanism, solid = sb.Mechanism("heap"), {"mass": 1.0, "inertia": [0.1, 0.2, 0.25]}
    mechanism.add_bodies("body-{}", **solid, position=points, orientation=turned)
    frames = {"predecessor_frame": sb.Frame((0.5, 0.1, 0.2))}
    frames["successor_frame"] = sb.Frame((-0.3, 0.2, 0.1))
    mechanism.add_joints("{}", sb.JOINT_TYPES[name](*number), [-1, 0, 1], [0, 1, 2], **frames)
    system = mechanism.compile()
    if system.n_rows:
        assert errors(system, sb.consistent_state(system))[0] < 1e-10


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6])
def test_mechanisms_of_all_sizes_close_as_exactly_and_move_as_well(size):
    """A four-bar of picometres is the one of metres in other units, positions and speeds alike."""
    mechanism = sb.Mechanism("four-bar", gravity=(0.0, 0.0, 0.0))
    points = size * np.array([[0, 0, 0], [0, 0, 1.0], [2.0, 0, 2.0], [2.0, 0, 0]])
    centers = (points[:-1] + points[1:]) / 2.0
    inertia, off = 0.1 * size**2 * np.ones(3), 2e-3 * size * np.array([0.5, 0.0, 1.0])
    for k, center in enumerate(centers):
        solid = {"mass": 1.0, "inertia": inertia, "position": center + (k == 1) * off}
        mechanism.add_body(f"bar {k}", **solid)
    ends = [sb.WORLD, "bar 0", "bar 1", "bar 2", sb.WORLD]
    origins = np.vstack([np.zeros(3), centers, np.zeros(3)])
    for k, point in enumerate(points):
        first, second = (sb.Frame.from_axes(point - origins[k + s], (0, 1, 0)) for s in (0, 1))
        mechanism.add_joint(
            f"pin {k}",
            sb.Revolute(),
            *ends[k : k + 2],
            predecessor_frame=first,
            successor_frame=second,
            prescribed=sb.Polynomial((0.1, 1e-3)) if k == 0 else None,
        )
    system = mechanism.compile()
    state = sb.consistent_state(system)
    units = np.array([1.0, 1.0, 1.0, size, size, size])
    position, velocity = constraint_errors(system, state)
    sizes = SystemMotion(system, state).row_sizes(size)
    assert np.abs(position / sizes).max() < 1e-12
    assert np.abs(velocity / sizes).max() < 1e-12 * np.abs(state.velocity / units).max()


@pytest.mark.parametrize("seed", range(8))
def test_slender_bodies_do_not_spin_away_from_closing(seed):
    system = sb.build("governor").compile()
    rng = np.random.default_rng(seed)
    start = sb.displaced(system.initial_state, 0.05 * rng.normal(size=(system.n_bodies, 6)))
    assert errors(system, sb.consistent_state(system, start))[0] < 1e-10


def test_joints_that_cannot_close_are_named_with_their_error_also_by_forward_dynamics():
    mechanism = one_body(inertia=[0.1, 0.1, 0.1])
    for name, x in (("left", 0.0), ("right", 1.0)):
        frame = sb.Frame((x, 0, 0))
        mechanism.add_joint(name, sb.Spherical(), sb.WORLD, "body", predecessor_frame=frame)
    message = r"mechanism 'one body' does not close.*'(left|right)' is off by 0\.5.*correct"
    for use in (sb.consistent_state, sb.ForwardDynamics):
        with pytest.raises(AssemblyError, match=message):
            use(mechanism.compile())


def test_a_drive_against_a_joint_is_refused():
    mechanism = one_body(inertia=[0.1, 0.1, 0.1])
    for name, rate in (("still", 0.0), ("turning", 2.0)):
        motion = sb.Polynomial((0.0, rate))
        mechanism.add_joint(name, sb.Revolute(), sb.WORLD, "body", prescribed=motion)
    message = (
        r"'one body' has no consistent velocity.*'(still|turning)' is off by 1 .*works against"
    )
    with pytest.raises(AssemblyError, match=message):
        sb.consistent_state(mechanism.compile())


def test_soft_motions_get_consistent_velocities():
    """In a lift of 200 pairs, singular values go down to 1e-6 of the largest."""
    system = sb.build("scissor", pairs=200).compile()
    state = system.initial_state
    velocity = np.random.default_rng(0).normal(size=state.velocity.shape)
    after = sb.consistent_state(system, state.with_(velocity=velocity))
    assert errors(system, after)[1] <= 1e-11


def test_bodies_that_are_held_stay_and_heavier_ones_move_less():
    mechanism = sb.Mechanism("pair")
    points = [[0, 0, 0], [1.5, 0, 0]]
    mechanism.add_bodies(["left", "right"], mass=1.0, inertia=[1, 1, 1], position=points)
    frames = {"predecessor_frame": sb.Frame([0.5, 0, 0]), "successor_frame": sb.Frame([-0.5, 0, 0])}
    mechanism.add_joint("ball", sb.Spherical(), "left", "right", **frames)
    system = mechanism.compile()

    def shifts(**options):
        state = sb.consistent_state(system, **options)
        changes = sb.state_changes(system, system.initial_state, state)
        shift = np.abs(state.position - system.initial_state.position)[:, 0]
        return shift, {change.body for change in changes}

    np.testing.assert_allclose(shifts()[0], [0.25, 0.25])
    shift, changed = shifts(fixed=["left"])
    assert (shift[0], changed) == (0.0, {"right"})
    assert shift[1] == pytest.approx(0.5)
    np.testing.assert_allclose(shifts(weights={"right": 4.0})[0], [0.4, 0.1], rtol=1e-9)
    with pytest.raises(ModelError, match="no body 'middle'"):
        shifts(fixed=["middle"])
    with pytest.raises(ModelError, match=r"body 'left': weight is 0.0; it must be positive"):
        shifts(weights={"left": 0.0})


@pytest.mark.parametrize("option", [{"fixed": ["stone"]}, {"weights": {"stone": 2.0}}])
def test_names_of_bodies_are_checked_where_there_is_no_joint(option):
    with pytest.raises(ModelError, match="stone"):
        sb.consistent_state(one_body().compile(), **option)


def test_compliant_corrections_are_those_of_regularized_rows():
    """Against dense least squares with the rows of E: x = M^-1 A' (A M^-1 A' + E)^-1 target."""
    system = sb.build("bricard").compile()
    rng = np.random.default_rng(3)
    before = sb.consistent_state(system)
    before = before.with_(velocity=before.velocity + rng.normal(size=before.velocity.shape))
    E = rng.uniform(0.1, 1.0, system.n_rows)
    after = compliant_state(system, before, np.zeros(system.n_rows), E)
    A, inertia = dense_rows(system, before), block_diag(*system.spatial_inertia)
    mobility = np.linalg.solve(inertia, A.T)
    velocity = before.velocity.ravel()
    for _ in range(2):
        velocity = velocity - mobility @ np.linalg.solve(A @ mobility + np.diag(E), A @ velocity)
    np.testing.assert_allclose(after.velocity.ravel(), velocity, atol=1e-9)
    assert np.abs(twist_between(before, after)).max() < 1e-13


def test_closing_by_compliance_moves_nothing_far_near_a_singular_pose():
    """Bars are in line but for 1e-9: the error is normal to the motion that is left."""
    system = sb.build("n-four-bar", loops=2).compile()
    line = sb.simulate(system, duration=0.9, step=0.005, events=bars_in_line).state(-1)
    rng = np.random.default_rng(1)
    opened = sb.displaced(line, 1e-8 * rng.normal(size=(system.n_bodies, 6)))
    E = np.full(system.n_rows, 1e-4)
    closed = compliant_state(system, opened, np.zeros(system.n_rows), E)
    assert np.abs(twist_between(opened, closed)).max() < 1e-7
    assert np.abs(constraint_errors(system, closed)[0]).max() < 1e-13
    assert np.abs(closed.velocity - line.velocity).max() < 1e-6  # of 7


def bars_in_line(time, state):
    return float(state.position[3, 1])


bars_in_line.terminal = True
