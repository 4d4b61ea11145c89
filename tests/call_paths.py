"""Through which files of the package a call goes, and whether it only goes down its layers."""

import sys
import tomllib
from pathlib import Path

import sparsebody

PACKAGE = Path(sparsebody.__file__).parent


def layers():
    """The number of each folder's layer in the contract of import-linter, the highest first."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name.strip(): k for k, row in enumerate(rows) for name in row.split("|")}


def path_of(frame):
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else None


def watched(call):
    """Return the files that a second `call` enters, by name, and its climbs to higher layers."""
    layer, entered, climbs = layers(), set(), set()

    def watch(frame, event, _):
        callee, caller = path_of(frame), frame.f_back
        if event != "call" or callee is None:
            return
        entered.add(str(callee))
        while caller is not None and path_of(caller) is None:  # NumPy, and the test
            caller = caller.f_back
        if caller is None:
            return
        ends = [layer.get(path_of(end).parts[0].removesuffix(".py")) for end in (caller, frame)]
        if None not in ends and ends[1] < ends[0]:
            climbs.add((path_of(caller), caller.f_code.co_name, callee, frame.f_code.co_name))

    call()  # what is imported lazily is there
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(entered), climbs
