"""How many files lie between a system and its first accelerations, and that calls only go down."""

import sys
import tomllib
from pathlib import Path

import pytest

import sparsebody as sb

PACKAGE = Path(sb.__file__).parent
MOST_FILES = 30


def layers():
    """The number of each folder's layer in the contract of import-linter, the highest first."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name.strip(): k for k, row in enumerate(rows) for name in row.split("|")}


@pytest.mark.parametrize("name", ["four-bar", "ladder", "lattice", "scissor", "chain"])
def test_a_system_reaches_its_accelerations_by_few_files_and_never_climbs(name):
    layer, entered, climbs = layers(), set(), set()
    system = sb.build(name).compile()
    state = sb.consistent_state(system)

    def folder(path):
        return "" if path is None else path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    def path_of(frame):
        path = Path(frame.f_code.co_filename)
        return path if path.is_relative_to(PACKAGE) else None

    def watch(frame, event, _):
        callee, caller = path_of(frame), frame.f_back
        if event != "call" or callee is None:
            return
        entered.add(callee)
        while caller is not None and path_of(caller) is None:  # NumPy, and this test
            caller = caller.f_back
        ends = [layer.get(folder(path_of(end))) for end in (caller, frame) if end]
        if len(ends) == 2 and None not in ends and ends[1] < ends[0]:
            climbs.add((path_of(caller), caller.f_code.co_name, callee, frame.f_code.co_name))

    sb.ForwardDynamics(system, state).acceleration(state)  # what is imported lazily is there
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        sb.ForwardDynamics(system, state).acceleration(state)
    finally:
        sys.setprofile(before)
    assert len(entered) <= MOST_FILES, sorted(str(path.relative_to(PACKAGE)) for path in entered)
    assert not climbs
