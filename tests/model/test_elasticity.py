from __future__ import annotations

import numpy as np
import pytest
from compliant_mechanisms import deformed

import sparsebody as sb
from sparsebody.errors import FileFormatError, ModelError
from sparsebody.simulation.trajectory import fingerprint


def one_body() -> sb.Mechanism:
    mechanism = sb.Mechanism("one")
    mechanism.add_body("b", mass=1.0, inertia=[1, 1, 1])
    return mechanism


@pytest.mark.parametrize(
    ("compliance", "message"),
    [
        (np.nan, "compliance is nan; every number must be finite"),
        (-1e-6, "compliance is -1e-06, not positive semidefinite .* give one that stores"),
        (
            [1, 2, 3],
            r"compliance has shape \(3,\); give a number, 5 numbers, one a row, or a 5 x 5",
        ),
        ("soft", "compliance is 'soft'; give numbers"),
        (np.diag([1, 1, 1, 1, -1.0]), "not positive semidefinite"),
        (np.ones((5, 5)) - np.eye(5), "not positive semidefinite"),
        (np.triu(np.ones((5, 5))), r"not symmetric; give \(C \+ C'\) / 2"),
        ([0, 0, 1, 1, 1], "2 of 5 rows stay rigid, which are those of no .* give every row"),
        (1e-320, "compliance is .*; give 0 for rigid rows"),
    ],
)
def test_a_compliance_that_cannot_be_is_an_error_that_names_the_joint(compliance, message):
    mechanism = one_body()
    with pytest.raises(ModelError, match=f"joint 'j': .*{message}"):
        mechanism.add_joint("j", sb.Revolute(), "world", "b", compliance=compliance)
    assert mechanism.n_joints == 0


def test_damping_of_rigid_rows_is_an_error_that_tells_the_remedy():
    with pytest.raises(
        ModelError, match=r"'j': has a damping, but its rows are rigid; .*add_joint_"
    ):
        one_body().add_joint("j", sb.Revolute(), "world", "b", damping=1.0)
    with pytest.raises(ModelError, match=r"'j': damping is .*; every number must be finite"):
        one_body().add_joint("j", sb.Revolute(), "world", "b", compliance=1.0, damping=np.inf)


def test_a_compliant_joint_takes_no_prescribed_coordinate():
    with pytest.raises(ModelError, match="'j': has a compliance and a prescribed coordinate; pres"):
        one_body().add_joint("j", sb.Revolute(), "world", "b", compliance=1.0, prescribed=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stiffness": 0.0}, "stiffness is zero; give a number, six"),
        ({"stiffness": -1.0}, "stiffness is -1.0, not positive semidefinite"),
        ({"stiffness": [1, 1, 1]}, r"stiffness has shape \(3,\); give a number, 6 numbers"),
        ({"stiffness": [1, 0, 0, 1, 1, 1], "damping": 1.0}, "damping .* without stiffness; give"),
        ({"stiffness": 1.0, "point": (0, 0, 0), "successor_frame": sb.Frame()}, "not both"),
    ],
)
def test_a_bushing_that_cannot_be_is_an_error_that_names_it(arguments, message):
    with pytest.raises(ModelError, match=f"bushing 'x'.*: .*{message}"):
        one_body().add_bushing("x", "world", "b", **arguments)


def test_the_ends_of_a_bushing_are_two_bodies():
    with pytest.raises(ModelError, match="'x': there is no body 'c'; add it with add_body first"):
        one_body().add_bushing("x", "c", "b", stiffness=1.0)
    with pytest.raises(ModelError, match="bushing 'x': connects 'b' to itself; give two bodies"):
        one_body().add_bushing("x", "b", "b", stiffness=1.0)


STEEL = {"E": 1.0, "G": 1.0, "A": 1.0, "I_y": 1.0, "I_z": 1.0, "J": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": (0, 0, 0), "end": (0, 0, 0)}, r"start and end are both .* give two points"),
        ({"start": (0, 0, 0)}, "give start and end, or length and the two frames"),
        ({"start": (0, 0, 0), "end": (1, 0, 0), "I_y": 0.0}, "I_y is 0.0; it must be positive"),
        ({"start": (0, 0, 0), "end": (1, 0, 0), "damping": -1.0}, "damping is -1.0; give a time"),
    ],
)
def test_a_beam_that_cannot_be_is_an_error_that_names_it(arguments, message):
    with pytest.raises(ModelError, match=f"beam 'x': {message}"):
        one_body().add_beam("x", "world", "b", **(STEEL | arguments))


@pytest.mark.parametrize(
    "given",
    [
        2e-3,
        [2e-3, 2e-3],
        [[2e-3] * 5],
        [[2e-3] * 5] * 2,
        np.tile(2e-3 * np.eye(5), (2, 1, 1)),
        [2e-3, 2e-3 * np.eye(5)],
    ],
    ids=["number", "each", "one of rows", "rows", "matrices", "mixed"],
)
def test_many_joints_take_what_one_takes(given):
    mechanism = sb.Mechanism("chain")
    body = mechanism.add_bodies("b{}", mass=np.ones(2), inertia=[1, 1, 1])
    mechanism.add_joints("j{}", sb.Revolute(), [-1, 0], body, compliance=given)
    expected = np.zeros((6, 6))
    expected[:5, :5] = 2e-3 * np.eye(5)
    for joint in mechanism.joints.values():
        np.testing.assert_array_equal(joint.compliance, expected)
    assert all(edge["joint"].n_constraints == 0 for *_, edge in mechanism.graph.edges(data=True))
    with pytest.raises(ModelError, match="compliance has 3 entries; give a number, or 2 of what"):
        mechanism.add_joints("k{}", sb.Revolute(), [-1, 0], body, compliance=[1, 2, 3])


def test_files_hold_compliance_bushings_and_beams_exactly(tmp_path):
    mechanism = deformed(3, ["revolute", "fixed"], damping=True)
    mechanism.add_joint("soft", sb.Spherical(), "b0", "b2", compliance=1e-3, damping=[1, 2, 3])
    sb.write_mechanism(mechanism, tmp_path / "m.json")
    again = sb.read_mechanism(tmp_path / "m.json")
    assert fingerprint(again.compile()) == fingerprint(mechanism.compile())
    text = (tmp_path / "m.json").read_text()
    assert '"compliance": 0.001, "damping": [1.0, 2.0, 3.0]' in text
    (tmp_path / "m.json").write_text(text.replace('"compliance": 0.001', '"compliance": -0.001'))
    with pytest.raises(FileFormatError, match=r"edges\[2\]: joint 'soft': compliance is -0.001"):
        sb.read_mechanism(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(text.replace('"compliance": 0.001', '"compliance": "x"'))
    with pytest.raises(FileFormatError, match=r"edges\[2\].compliance: 'x' is not of type"):
        sb.read_mechanism(tmp_path / "m.json")
