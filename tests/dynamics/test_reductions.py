"""Three freedoms a body in the plane against six, on mechanisms that move parallel to a plane."""

import numpy as np
import pytest
from linkages import at_start, in_motion
from oracles import relative_difference
from overconstrained import scissor_with_pendulum
from planted_loops import plant, planted
from random_planar import Builder, random_planar

import sparsebody as sb
from sparsebody.dynamics import preparation
from sparsebody.dynamics.preparation import SPATIAL, choose_solver
from sparsebody.dynamics.reductions import SubgroupAssembler
from sparsebody.equations.inverse import body_matrix
from sparsebody.model.subgroups.classes import ground_motion


def in_plane(system, state, **options):
    dynamics = sb.ForwardDynamics(system, state, **options)
    assert dynamics.is_planar
    return dynamics


def assert_same_motion(reduced, state, **force):
    """As with six freedoms."""
    unreduced = sb.ForwardDynamics(
        reduced.system, state, formulation=SPATIAL, baumgarte=reduced.baumgarte
    )
    assert not unreduced.is_planar
    result, expected = reduced(state, **force), unreduced(state, **force)
    least = np.linalg.norm(reduced.system.gravity)
    for acceleration in (result.acceleration, reduced.acceleration(state, **force)):
        assert relative_difference(acceleration, expected.acceleration, least) < 1e-9
    assert relative_difference(result.joint_wrench, expected.joint_wrench) < 1e-7
    assert result.residual < 1e-10
    assert abs(result.dropped_residual - expected.dropped_residual) < 1e-8
    assert reduced.rank == unreduced.rank


@pytest.mark.parametrize("seed", range(60))
def test_random_planar_mechanisms_move_as_with_six_freedoms(seed):
    system, state = at_start(random_planar(seed))
    force = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    assert_same_motion(in_plane(system, state), state)
    assert_same_motion(in_plane(system, state), state, body_force=force)


def test_drives_springs_and_loads_act_in_the_plane():
    system = sb.build("scissor", pairs=4, drive=True).compile()
    state = sb.consistent_state(system).with_(time=1.3)
    assert_same_motion(in_plane(system, state), state)
    builder = Builder(np.random.default_rng(3))
    builder.add_body("b0", "revolute")
    builder.add_body("b1", "revolute")
    builder.add_body("b2", "revolute", sb.Sinusoid(0.3, 2.0, 0.4))
    builder.mechanism.add_joint_force("spring", "to b1", stiffness=3.0, damping=0.4, effort=0.7)
    builder.mechanism.add_point_force("rod", "b0", "b2", stiffness=2.0, rest_length=0.3)
    builder.mechanism.add_external_force(
        "push", "b1", force=(1.0, 2.0, 3.0), moment=(1.0, -1.0, 2.0)
    )
    system, state = at_start(builder.mechanism)
    assert_same_motion(in_plane(system, state), state)


@pytest.mark.parametrize("name", ["chain", "ladder", "lattice", "bricard", "governor", "stewart"])
def test_mechanisms_in_space_keep_six_freedoms(name):
    system = sb.build(name).compile()
    assert not ground_motion(system).is_planar
    assert not sb.ForwardDynamics(system).is_planar


@pytest.mark.parametrize("tilt", [1e-9, 1e-3])
def test_one_hinge_out_of_parallel_is_enough_for_six_freedoms(tilt):
    mechanism = sb.Mechanism()
    for i, axis in enumerate([(0.0, 0.0, 1.0), (np.sin(tilt), 0.0, np.cos(tilt))]):
        mechanism.add_body(f"b{i}", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[i + 0.5, 0, 0])
        near = f"b{i - 1}" if i else sb.WORLD
        mechanism.add_joint(f"j{i}", sb.Revolute(), near, f"b{i}", point=[i, 0, 0], axis=axis)
    assert not ground_motion(mechanism.compile()).is_planar


def test_bodies_that_hang_on_nothing_but_a_ball_joint_keep_all_from_the_plane():
    builder = Builder(np.random.default_rng(0))
    builder.add_body("b0", "revolute")
    builder.add_body("b1", "spherical")
    assert not ground_motion(builder.mechanism.compile()).is_planar


@pytest.mark.parametrize("seed", range(4))
def test_baumgarte_terms_are_the_same(seed):
    system, state = at_start(random_planar(seed))
    plane = ground_motion(system)
    twist = np.zeros_like(state.velocity)
    twist[:, :3] = 1e-5 * np.random.default_rng(seed).normal(size=(system.n_bodies, 1)) * plane.axis
    dynamics = in_plane(system, state, baumgarte=0.3)
    assert_same_motion(dynamics, sb.displaced(state, twist))


@pytest.mark.parametrize("k", [3, 12, 24, 32])
def test_sheets_have_mobility_two_for_certain(k):
    """Squares on hinges, one held by the world: (k - 2)^2 rows in the plane depend on others."""
    system = sb.build("rotating-squares", rows=k, columns=k).compile()
    dynamics = sb.ForwardDynamics(system, system.initial_state, reactions="basic")
    assert dynamics.is_planar
    assert 6 * system.n_bodies - dynamics.rank == 2
    assert len(dynamics.evaluator.assembler.left_out.rows) == (k - 2) ** 2
    assert dynamics.explain()["redundancy_certain"]
    assert dynamics(system.initial_state).dropped_residual < 1e-10


@pytest.fixture
def always(monkeypatch):
    """Reduce also where it does not pay."""
    monkeypatch.setattr(preparation, "reduction_pays", lambda *_, **__: True)


def wrenches(dynamics, state, multiplier):
    """What multipliers exert on the bodies (n_bodies, 6)."""
    system, rows = dynamics.system, dynamics.evaluate(state).constraint.rows
    return (body_matrix(system, system.row_joint, rows).T @ multiplier).reshape(-1, 6)


@pytest.mark.parametrize("seed", range(80))
def test_planted_loops_move_as_with_six_freedoms(seed, always):
    system = planted(seed).compile()
    state = in_motion(system, seed)
    force = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    dynamics = sb.ForwardDynamics(system, state)
    evaluator = dynamics.evaluator
    assert_same_motion(dynamics, state, body_force=force)
    assert dynamics.evaluator is evaluator  # it did not have to fall back


@pytest.mark.parametrize("seed", range(25))
def test_basic_reactions_balance_every_body(seed, always):
    system = planted(seed).compile()
    state = in_motion(system, seed)
    dynamics = sb.ForwardDynamics(system, state, reactions="basic")
    result, expected = (
        d(state) for d in (dynamics, sb.ForwardDynamics(system, state, formulation=SPATIAL))
    )
    exerted, by_six = (wrenches(dynamics, state, x.multiplier) for x in (result, expected))
    np.testing.assert_allclose(exerted, by_six, atol=1e-9 * (1.0 + np.abs(by_six).max()))


@pytest.mark.parametrize("ordering", ["auto", "natural", "level-sweep", "minimum-degree"])
def test_a_planar_part_of_a_mechanism_is_reduced_in_any_order(ordering):
    system = scissor_with_pendulum().compile()
    state = in_motion(system, 0)
    dynamics = sb.ForwardDynamics(system, state, ordering=ordering)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert len(dynamics.structure.rows) < 0.6 * dynamics.rank
    assert_same_motion(dynamics, state)


def test_a_factorization_by_name_asks_for_all_freedoms():
    dynamics = sb.ForwardDynamics(scissor_with_pendulum().compile(), factorization="superlu")
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert len(dynamics.structure.rows) == dynamics.rank


@pytest.mark.parametrize("factorization", ["superlu", "dense", "block-qr"])
def test_other_factorizations_of_fewer_rows_give_the_same(factorization, monkeypatch):
    system = scissor_with_pendulum().compile()
    state = in_motion(system, 0)

    def chosen(pattern, ordering, *_):
        return choose_solver(pattern, ordering, factorization)

    monkeypatch.setattr(preparation, "choose_solver", chosen)
    dynamics = sb.ForwardDynamics(system, state)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert dynamics.factorization == factorization
    assert_same_motion(dynamics, state)


@pytest.mark.parametrize("pose", [False, True])
@pytest.mark.parametrize(
    "mechanism",
    [sb.build("four-bar", speed=3.0), scissor_with_pendulum()],
    ids=["plane", "subgroups"],
)
def test_states_outside_are_taken_with_all_freedoms(mechanism, pose):
    system, state = at_start(mechanism)
    twist = 1e-3 * np.random.default_rng(1).normal(size=state.velocity.shape)
    away = sb.displaced(state, twist) if pose else state.with_(velocity=state.velocity + twist)
    dynamics = sb.ForwardDynamics(system, state)
    unreduced = sb.ForwardDynamics(system, state, formulation=SPATIAL)
    before = dynamics.evaluate(state)
    expected = before.acceleration()
    assert dynamics.structure.rows.size < unreduced.structure.rows.size
    exact = unreduced.acceleration(away)
    np.testing.assert_allclose(dynamics.acceleration(away), exact, atol=1e-10)
    assert dynamics.structure.rows.size == unreduced.structure.rows.size
    np.testing.assert_array_equal(dynamics.redundant_rows, unreduced.redundant_rows)
    np.testing.assert_allclose(before.acceleration(), expected, atol=1e-10)
    assert not sb.ForwardDynamics(system, away).is_planar


def test_where_it_does_not_pay_all_freedoms_stay():
    dynamics = sb.ForwardDynamics(sb.build("stewart").compile())
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)


@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "Schoenflies", "translational"])
def test_a_motion_stays_within_its_subgroup(kind, always):
    mechanism, rng = sb.Mechanism("motion", gravity=[1.0, 2.0, -9.81]), np.random.default_rng(8)
    plant(mechanism, rng, "p", kind, sb.WORLD, 5, 1)
    plant(mechanism, rng, "free", "spherical", "p 2", 1, 0)
    system, state = at_start(mechanism)
    dynamics = sb.ForwardDynamics(system, state)
    options = {"duration": 0.1, "step": 5e-3}
    result = sb.simulate(system, state, dynamics=dynamics, **options)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    unreduced = sb.simulate(system, state, dynamics=sb.Solver(reduction="none"), **options)
    np.testing.assert_allclose(result.position[-1], unreduced.position[-1], atol=1e-9)
    assert result.summary()["position_error"] < 1e-11


def test_corrections_close_joints_out_of_the_subgroups_as_well(always):
    mechanism, rng = sb.Mechanism("motion"), np.random.default_rng(4)
    plant(mechanism, rng, "p", "spherical", sb.WORLD, 4, 1)
    system, state = at_start(mechanism)
    dynamics = sb.ForwardDynamics(system, state)
    moved = sb.displaced(state, 1e-8 * rng.normal(size=state.velocity.shape))
    moved = moved.with_(orientation=state.orientation)
    before = dynamics.evaluate(moved)
    closed = sb.displaced(moved, before.position_correction())
    after = dynamics.evaluate(closed).position_error
    assert np.abs(after).max() < 1e-6 * np.abs(before.position_error).max()


def test_explain_lists_the_subgroups():
    system = scissor_with_pendulum().compile()
    (description,) = sb.ForwardDynamics(system).explain()["subgroups"]
    expected = "planar, about the world: 16 bodies, 23 joints, 7 loops: 21 redundant rows"
    assert description == expected
    assert sb.ForwardDynamics(system, formulation=SPATIAL).explain()["subgroups"] == []
