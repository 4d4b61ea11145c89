"""A joint type from outside: a header, a line in the list, a class; and a build for minutes.

SPARSEBODY_REBUILD=1 asks for it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADER = """
#pragma once
#include "joints/joint.hpp"
namespace sparsebody::joints {
// Translation along x and y of P, without rotation; q = (x [m], y [m]).
struct Table : UnitAxes<3, 4> {
  static constexpr JointInfo info{.name = "table", .n_positions = 2, .n_velocities = 2,
                                  .units = {"m", "m"}, .n_scalars = 2,
                                  .subgroup = Subgroup::translation};
  template <class T> static Transform<T> pose(const T* q) {
    Transform<T> X = Transform<T>::rotation_z(T(0));
    X.r.x = q[0], X.r.y = q[1];
    return X;
  }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    q[0] = X.r.x, q[1] = X.r.y;
  }
  template <class T> static void error(const Transform<T>& X, T* delta) {
    rotation_vector(X.E).store(delta);
    delta[3] = X.r.z;
  }
};
}  // namespace sparsebody::joints
"""
CLASS = '''
@dataclass(frozen=True)
class Table(JointType, name="table"):
    """Slides along x and y of P without turning; q = (x [m], y [m])."""


'''
PROGRAM = """
import numpy as np
import sparsebody as sb
from sparsebody.model.joints import Table

plate = sb.Mechanism("plate", gravity=[1.0, 2.0, -9.81])
plate.add_body("plate", mass=2.0, inertia=[1, 1, 1], position=[0.1, 0.2, 0.3])
plate.add_joint("table", Table(), sb.WORLD, "plate")
system = plate.compile()
for method in ("sparse", "aba"):
    result = sb.forward_dynamics(system, system.initial_state, method=method)
    np.testing.assert_allclose(result.acceleration, [[0, 0, 0, 1, 2, 0]], atol=1e-12)
    np.testing.assert_allclose(result.joint_wrench[0, 3:], [0, 0, 2 * 9.81], atol=1e-12)
end = sb.simulate(system, duration=0.5, step=0.05).position[-1, 0]
np.testing.assert_allclose(end, [0.1 + 0.125, 0.2 + 0.25, 0.3], atol=1e-12)
"""


@pytest.mark.skipif("SPARSEBODY_REBUILD" not in os.environ, reason="builds for minutes")
def test_a_joint_type_is_a_header_a_line_and_a_class(tmp_path):
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    for folder in ("core", "sparsebody"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "core/joints/table.hpp").write_text(HEADER)
    listed = tmp_path / "core/joints/joint_types.hpp"
    text = listed.read_text().replace(
        "    ConstantDistance>;", "    ConstantDistance,\n    Table>;"
    )
    listed.write_text(text.replace("#include", '#include "joints/table.hpp"\n#include', 1))
    classes = tmp_path / "sparsebody/model/joints.py"
    text = classes.read_text()
    classes.write_text(text.replace("\nJOINT_TYPES: ", f"{CLASS}JOINT_TYPES: ", 1))
    build = tmp_path / "build"
    options = ("-G", "Ninja", "-DSPARSEBODY_INPLACE=ON", f"-DPython_EXECUTABLE={sys.executable}")
    subprocess.run(["cmake", "-S", tmp_path / "core", "-B", build, *options], check=True)
    subprocess.run(["ninja", "-C", build, "--quiet"], check=True)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=tmp_path)
