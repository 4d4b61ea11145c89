import numpy as np
import pytest
from compliant_mechanisms import deformed

import sparsebody as sb
from sparsebody.errors import FileFormatError, ModelError
from sparsebody.simulation.records.samples import fingerprint

ROWS = [2e-3] * 5


@pytest.mark.parametrize(
    "compliance",
    [2e-3, [2e-3] * 2, [ROWS], [ROWS] * 2, [2e-3 * np.eye(5)] * 2, [2e-3, 2e-3 * np.eye(5)]],
    ids=["number", "each", "one of rows", "rows", "matrices", "mixed"],
)
def test_many_joints_take_what_one_takes(compliance):
    mechanism = sb.Mechanism("chain")
    body = mechanism.add_bodies("b{}", mass=np.ones(2), inertia=[1, 1, 1])
    mechanism.add_joints("j{}", sb.Revolute(), [-1, 0], body, compliance=compliance)
    for joint in mechanism.joints.values():
        np.testing.assert_array_equal(joint.compliance, np.diag([*ROWS, 0.0]))
    assert all(edge["joint"].n_constraints == 0 for *_, edge in mechanism.graph.edges(data=True))
    with pytest.raises(ModelError, match="compliance has 3 entries; give a number, or 2 of what"):
        mechanism.add_joints("k{}", sb.Revolute(), [-1, 0], body, compliance=[1, 2, 3])


def test_files_hold_compliance_bushings_and_beams_exactly(tmp_path):
    mechanism, path = deformed(3, ["revolute", "fixed"], damping=True), tmp_path / "m.json"
    mechanism.add_joint("soft", sb.Spherical(), "b0", "b2", compliance=1e-3, damping=[1, 2, 3])
    sb.write_mechanism(mechanism, path)
    assert fingerprint(sb.read_mechanism(path).compile()) == fingerprint(mechanism.compile())
    text = path.read_text()
    assert '"compliance": 0.001, "damping": [1.0, 2.0, 3.0]' in text
    for value, message in (
        ("-0.001", r"edges\[2\]: joint 'soft': compliance is -0.001"),
        ('"x"', r"edges\[2\].compliance: 'x' is not of type"),
    ):
        path.write_text(text.replace('"compliance": 0.001', f'"compliance": {value}'))
        with pytest.raises(FileFormatError, match=message):
            sb.read_mechanism(path)
