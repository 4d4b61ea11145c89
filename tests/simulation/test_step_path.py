"""How many files lie between `simulate` and its first step, and that calls only go down."""

import sys
import tomllib
from pathlib import Path

import pytest

import sparsebody as sb
from sparsebody.model.gallery import build

PACKAGE = Path(sb.__file__).parent
MOST_FILES, MOST_OF_SIMULATION = 23, 9


def layers() -> dict[str, int]:
    """The number of each folder's layer in the contract of import-linter, the highest first."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name.strip(): k for k, row in enumerate(rows) for name in row.split("|")}


@pytest.mark.parametrize("name", ["four-bar", "ladder", "pendulum"])
@pytest.mark.parametrize("method", ["auto", "rk4"])
def test_simulate_takes_a_step_by_few_files_and_never_climbs(name: str, method: str) -> None:
    layer, entered, climbs = layers(), set(), set()
    system = build(name).compile()
    state = sb.consistent_state(system)
    dynamics = sb.ForwardDynamics(system, state)

    def folder(path: Path) -> str:
        return path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    def path_of(frame) -> Path | None:
        path = Path(frame.f_code.co_filename)
        return path if path.is_relative_to(PACKAGE) else None

    def watch(frame, event: str, _: object) -> None:
        callee, caller = path_of(frame), frame.f_back
        if event != "call" or callee is None:
            return
        entered.add(callee)
        while caller is not None and path_of(caller) is None:  # NumPy, and this test
            caller = caller.f_back
        above = None if caller is None else layer.get(folder(path_of(caller)))
        below = layer.get(folder(callee))
        if above is not None and below is not None and below < above:
            climbs.add((path_of(caller), caller.f_code.co_name, callee, frame.f_code.co_name))

    options = {"duration": 1e-3, "step": 1e-3, "method": method, "dynamics": dynamics}
    sb.simulate(system, state, **options)  # what is imported lazily is there
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        sb.simulate(system, state, **options)
    finally:
        sys.setprofile(before)
    names = sorted(str(path.relative_to(PACKAGE)) for path in entered)
    assert len(names) <= MOST_FILES, names
    assert sum(folder(path) == "simulation" for path in entered) <= MOST_OF_SIMULATION, names
    assert not climbs
