import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

import sparsebody as sb

OPTIONAL = ("exudyn", "hypothesis", "jax", "mujoco", "pinocchio", "pydrake", "pytest", "sksparse")
OPTIONAL += ("sympy",)

IMPORT_WITHOUT_OPTIONAL = f"""
import importlib, pkgutil, sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # importing it now raises ImportError
import sparsebody
for module in pkgutil.walk_packages(sparsebody.__path__, "sparsebody."):
    if not module.name.endswith(("__main__", ".sanitized")):  # that needs its runtime
        importlib.import_module(module.name)
"""


def test_every_module_imports_without_the_optional_packages():
    command = [sys.executable, "-c", IMPORT_WITHOUT_OPTIONAL]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_core_dependencies_need_no_compiler():
    core = [name for name in requires("sparsebody") or [] if "extra ==" not in name]
    assert core
    assert not any(name.startswith("scikit-sparse") for name in core)


@pytest.mark.cholmod
def test_cholmod_is_there_where_it_is_required():
    from sksparse.cholmod import CholmodError

    assert issubclass(CholmodError, Exception)


@pytest.mark.parametrize("name", ["Makefile", ".ci/run"])
def test_tests_that_commands_name_are_there(name):
    root = Path(__file__).parents[1]
    named = re.findall(r"\btests/[\w/.]+", (root / name).read_text())
    assert named
    assert [path for path in named if not (root / path).exists()] == []


def test_no_two_modules_of_the_package_share_a_name():
    names = [path.name for path in Path(sb.__file__).parent.rglob("*.py")]
    names = [name for name in names if name != "__init__.py"]
    assert len(names) > 150
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_what_a_user_prints_is_short_for_large_mechanisms():
    system = sb.build("ladder", rungs=300).compile()
    run = sb.simulate(system, duration=0.02, step=0.01)
    dynamics = sb.ForwardDynamics(system)
    state = system.initial_state
    for result in (system, state, dynamics, dynamics(state), run):
        text = repr(result)
        assert len(text) < 1000
        assert text.startswith(type(result).__name__)
    assert repr(system) == "System('ladder': 600 bodies, 900 joints, 2700 constraint rows)"
    assert "position=<float64 (600, 3)>" in repr(state)
