import json

import pytest
from overconstrained import figure_8_2_a

from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.errors import AssemblyError, UnknownNameError
from sparsebody.model.gallery import build
from sparsebody.model.joints import Spherical
from sparsebody.model.mechanism import WORLD, Mechanism


def test_a_mechanism_and_its_system_give_the_same_inspection():
    mechanism = build("four-bar")
    assert (
        inspect_mechanism(mechanism).to_dict() == inspect_mechanism(mechanism.compile()).to_dict()
    )


def test_a_free_body_has_six_freedoms_and_no_joint():
    mechanism = Mechanism("ball")
    mechanism.add_body("ball", mass=1.0, inertia=[1.0, 1.0, 1.0])
    found = inspect_mechanism(mechanism)
    assert (found.mobility, found.joints, found.loops, found.constraint_rows) == (6, 0, 0, 0)
    assert (found.initial_error, found.initial_error_joint) == (0.0, None)


def test_the_dictionary_is_plain_json():
    found = inspect_mechanism(build("ring", bodies=5))
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text) == found.to_dict()


def test_the_orderings_come_with_the_fastest_first():
    lines = inspect_mechanism(build("ladder", rungs=30)).orderings
    times = [line.predicted_seconds for line in lines]
    assert times == sorted(times)
    assert len(lines) > 1


def test_redundant_rows_are_told_joint_by_joint():
    found = inspect_mechanism(build("n-four-bar", loops=4))
    assert found.redundant_rows == sum(found.redundant_joints.values()) == 12
    assert found.mobility == 1


def test_the_worst_joint_of_the_given_pose_is_named():
    mechanism = Mechanism()
    mechanism.add_body("bob", mass=1.0, inertia=[1.0, 1.0, 1.0])
    mechanism.add_joint("ball", Spherical(), WORLD, "bob")
    mechanism.add_distance("rod", WORLD, "bob", second_point=[0, 0, 1], length=1.01)
    with pytest.raises(AssemblyError, match="rod"):
        inspect_mechanism(mechanism)
    loose = Mechanism()
    loose.add_body("bob", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[0, 0, -1.0])
    loose.add_distance("rod", WORLD, "bob", length=1.01)
    found = inspect_mechanism(loose)
    assert found.initial_error_joint == "rod"
    assert found.initial_error == pytest.approx(0.01, rel=0.02)


def test_an_unknown_ordering_is_refused():
    with pytest.raises(UnknownNameError, match="best"):
        inspect_mechanism(build("pendulum"), ordering="best")


def test_the_loops_of_a_four_bar_are_overconstrained_regular_and_ambiguous():
    loops = inspect_mechanism(build("four-bar")).closed_loops
    assert (loops.freedoms, loops.constraints, loops.rank) == (3, 5, 2)
    assert (loops.overconstraint, loops.is_properly_constrained) == (3, False)
    assert (loops.nearby_mobilities, loops.is_singular) == ((1,), False)
    assert (loops.configurations, loops.clusters) == (2, 1)


def test_trees_have_no_section_on_loops_and_large_mechanisms_only_counts():
    assert inspect_mechanism(build("chain", bodies=4)).closed_loops is None
    loops = inspect_mechanism(build("ladder", rungs=60)).closed_loops
    assert loops.is_properly_constrained
    assert (loops.rank, loops.nearby_mobilities, loops.configurations) == (180, None, None)


def test_a_pose_where_linkages_meet_is_singular():
    tree, _ = figure_8_2_a(0.0, (0.0, 0.0))
    found = inspect_mechanism(tree.system)
    assert found.mobility == 3
    assert found.closed_loops.is_singular
    assert set(found.closed_loops.nearby_mobilities) <= {1, 2}


def test_coordinates_of_balls_tell_no_configuration():
    assert inspect_mechanism(build("stewart")).closed_loops.configurations is None
