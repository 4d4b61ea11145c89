import json

import pytest
from linkages import one_body
from overconstrained import figure_8_2_a

import sparsebody as sb
from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.errors import AssemblyError


def test_a_mechanism_and_its_system_give_the_same_inspection_which_is_plain_json():
    mechanism = sb.build("ring", bodies=5)
    document = inspect_mechanism(mechanism).to_dict()
    assert inspect_mechanism(mechanism.compile()).to_dict() == document
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_free_body_has_six_freedoms_and_no_joint():
    ball = inspect_mechanism(one_body())
    assert (ball.mobility, ball.joints, ball.loops, ball.constraint_rows) == (6, 0, 0, 0)
    assert (ball.initial_error, ball.initial_error_joint) == (0.0, None)


def test_the_orderings_come_with_the_fastest_first():
    lines = inspect_mechanism(sb.build("ladder", rungs=30)).orderings
    times = [line.predicted_seconds for line in lines]
    assert times == sorted(times)
    assert len(lines) > 1


def test_the_worst_joint_of_the_given_pose_is_named():
    loose = one_body(position=[0, 0, -1.0])
    loose.add_distance("rod", sb.WORLD, "body", length=1.01)
    inspection = inspect_mechanism(loose)
    assert inspection.initial_error_joint == "rod"
    assert inspection.initial_error == pytest.approx(0.01, rel=0.02)
    loose.add_joint("ball", sb.Spherical(), sb.WORLD, "body", point=(0, 0, -1.0))
    with pytest.raises(AssemblyError, match="rod"):
        inspect_mechanism(loose)


def test_trees_have_no_section_on_loops_and_large_mechanisms_only_counts():
    assert inspect_mechanism(sb.build("chain", bodies=4)).closed_loops is None
    assert inspect_mechanism(sb.build("stewart")).closed_loops.configurations is None  # of balls
    loops = inspect_mechanism(sb.build("ladder", rungs=60)).closed_loops
    assert loops.is_properly_constrained
    assert (loops.rank, loops.nearby_mobilities, loops.configurations) == (180, None, None)


def test_a_pose_where_linkages_meet_is_singular():
    tree, _ = figure_8_2_a(0.0, (0.0, 0.0))
    inspection = inspect_mechanism(tree.system)
    assert inspection.mobility == 3
    assert inspection.closed_loops.is_singular
    assert set(inspection.closed_loops.nearby_mobilities) <= {1, 2}
