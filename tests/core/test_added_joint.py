"""The joint type that a page of the site adds: its header; SPARSEBODY_REBUILD=1 builds all."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparsebody.model import joints

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/joint-type.md").read_text()
(HEADER,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
(CLASS,) = re.findall(r"```{code-block} python\n(.*?)```", PAGE, re.DOTALL)
# The members on numbers: the pose, its coordinates, and its errors where it is closed and off it.
MAIN = """
#include <cstdio>
#include "table.hpp"
using sparsebody::joints::Table;
int main() {
  double q[2] = {0.3, -0.7}, back[2], closed[4], open[4];
  auto X = Table::pose(q);
  Table::coordinates(X, back);
  Table::error(X, closed);
  X.r.z = 0.2;
  X.E = decltype(X)::rotation_z(0.1).E;
  Table::error(X, open);
  std::printf("%g %g", back[0], back[1]);
  for (double x : closed) std::printf(" %g", x);
  for (double x : open) std::printf(" %g", x);
  const auto S = Table::motion_subspace(X);
  const auto T = Table::constraint_force_subspace(X);
  double largest = 0.0;
  for (const auto& s : S)
    for (const auto& t : T) largest += dot(s, t) * dot(s, t);
  std::printf(" %zu %zu %g", S.size(), T.size(), largest);
}
"""
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


@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler")
def test_the_header_of_the_page_states_its_motion(tmp_path):
    (tmp_path / "table.hpp").write_text(HEADER)
    (tmp_path / "main.cpp").write_text(MAIN)
    command = [
        "c++",
        "-std=c++20",
        "-Wall",
        "-Werror",
        "-I",
        ROOT / "core",
        "main.cpp",
        "-o",
        "main",
    ]
    subprocess.run(command, check=True, cwd=tmp_path)
    text = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    assert text == "0.3 -0.7 0 0 0 0 0 0 0.1 0.2 2 4 0"


def test_the_class_of_the_page_names_the_type_of_the_header(monkeypatch):
    monkeypatch.setitem(
        joints.KINDS, "table", joints.KINDS["cylindrical"]
    )  # of two coordinates, too
    names = dict(vars(joints))
    exec(CLASS, names)
    assert '.name = "table"' in HEADER
    assert (names["Table"].name, names["Table"]().n_positions) == ("table", 2)


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
    classes.write_text(text.replace("\nJOINT_TYPES: ", f"\n{CLASS}\n\nJOINT_TYPES: ", 1))
    build = tmp_path / "build"
    options = ("-G", "Ninja", "-DSPARSEBODY_INPLACE=ON", f"-DPython_EXECUTABLE={sys.executable}")
    subprocess.run(["cmake", "-S", tmp_path / "core", "-B", build, *options], check=True)
    subprocess.run(["ninja", "-C", build, "--quiet"], check=True)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=tmp_path)
