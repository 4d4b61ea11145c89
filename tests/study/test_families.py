import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import ModelError
from sparsebody.study.families import Family, check_family, moving

FAMILIES = {
    "chain": (Family("chain", "chain"), False),
    "tree": (Family("tree", "tree", {"random": True}), False),
    "ladder": (Family("ladder", "ladder"), True),
    "four-bars": (Family("four-bars", "n-four-bar"), True),
    "ring": (Family("ring", "ring"), True),
    "rails": (Family("rails", "lattice", {"rows": 4, "layers": 1}), True),
    "lattice": (Family("lattice", "lattice", {"layers": 1}), True),
    "cube": (Family("cube", "lattice"), True),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_the_mechanism_nearest_to_any_number_of_bodies(name):
    family, has_loops = FAMILIES[name]
    assert family.has_loops == has_loops
    for n in (8, 27, 100):
        k = family.parameter(n)
        n_bodies = [family.of_parameter(value).n_bodies for value in (max(k - 1, 3), k, k + 1)]
        assert family.build(n).n_bodies == n_bodies[1]
        assert abs(n_bodies[1] - n) <= min(abs(n_bodies[0] - n), abs(n_bodies[2] - n))


def test_seeds_make_other_mechanisms_where_there_is_something_random():
    family = Family("tree", "tree", {"random": True})
    masses = [family.build(9, seed).compile().mass for seed in (0, 0, 1)]
    assert np.array_equal(masses[0], masses[1])
    assert not np.array_equal(masses[0], masses[2])


@pytest.mark.parametrize(
    ("mechanism", "parameters"),
    [("ladder", {}), ("scissor", {}), ("chain", {}), ("lattice", {"layers": 1, "disorder": 0.2})],
)
def test_random_motion_obeys_the_joints(mechanism, parameters):
    family = Family("moving", mechanism, parameters, motion="random")
    problem = family.problem(family.build(40).compile(), seed=2)
    evaluation = sb.ForwardDynamics(problem.system, problem.state).evaluate(problem.state)
    assert np.abs(problem.state.velocity).max() > 1e-3
    assert np.abs(evaluation.velocity_error).max() < 1e-12
    assert evaluation.accelerations().dropped_residual < 1e-9


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Family("x", "ladder", grows=("rails",)), "does not grow by 'rails'; .*: rungs"),
        (
            Family("sheet", "lattice", {"layers": 1}, motion="random"),
            "contradict each other.*take the motion 'rest'",
        ),
        (Family("x", "stewart"), "no size parameter of stewart is left open"),
        (Family("x", "ladder", {"rungs": 3}), "no size parameter of ladder is left open"),
        (Family("x", "ladder", {"joint": "glue"}), "family 'x': ladder: joint is 'glue'"),
        (Family("x", "ladder", {"rails": 3}), "family 'x': ladder has no parameter 'rails'"),
    ],
)
def test_a_family_that_cannot_be_built_is_named(family, message):
    with pytest.raises(ModelError, match=message):
        check_family(family)


@pytest.mark.parametrize("mechanism", ["scissor", "five-bar-array", "n-four-bar"])
def test_of_a_random_motion_a_planar_mechanism_takes_what_is_in_the_plane(mechanism):
    system = Family("planar", mechanism).build(20).compile()
    wish = np.random.default_rng(1).normal(size=(system.n_bodies, 6))
    whole = sb.ForwardDynamics(system, reactions="basic", formulation=SPATIAL)
    nearest = wish
    for _ in range(2):  # the second takes away what rounding left
        state = system.initial_state.with_(velocity=nearest)
        nearest = nearest + whole.evaluate(state).velocity_correction()
    np.testing.assert_allclose(moving(system, wish).velocity, nearest, rtol=0.0, atol=1e-12)
