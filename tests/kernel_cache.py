"""Numba's caches of test workers: one each, filled beforehand with what most tests need.

Numba's cache is not safe for two writers at a time, so every worker has its own; but without more
each would compile every kernel. `python tests/kernel_cache.py` compiles on two processes, each
its share, into a cache that new workers begin with.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHES = ROOT / ".pytest_cache" / "numba"
SHARED = "shared"
_METHODS = ("aba", "crba", "loops-aba", "loops-direct", "loops-force", "loops-projection")


def kernel_digest(package: Path) -> str:
    """Return a digest of all files with kernels: numba looks at a kernel's own file only."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"njit" in source:
            digest.update(str(path).encode() + source)
    return digest.hexdigest()[:16]


def cache_of(owner: str) -> Path:
    """Return the folder of an owner's cache for the present kernels; older ones are removed."""
    current = CACHES / owner / kernel_digest(ROOT / "sparsebody")
    for outdated in set(current.parent.glob("*")) - {current}:
        shutil.rmtree(outdated, ignore_errors=True)
    return current


def use_cache_of(worker: str) -> None:
    """Give a process its own cache, before it imports numba; a new one begins as the shared."""
    own, shared = cache_of(worker), cache_of(SHARED)
    if not own.exists() and shared.exists():
        shutil.copytree(shared, own)
    os.environ["NUMBA_CACHE_DIR"] = str(own)


def fill() -> None:
    """Compile the shares in parallel, and unite their caches, unless that was done."""
    shared = cache_of(SHARED)
    if shared.exists():
        return
    running = []
    for share in SHARES:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache_of(share))}
        command = [sys.executable, __file__, share]
        running.append(subprocess.Popen(command, env=environment, cwd=ROOT))
    failures = [process.wait() for process in running]
    if any(failures):
        sys.exit("tests: kernels could not be compiled; see above")
    united = shared.with_suffix(".tmp")
    for share in SHARES:
        _add(cache_of(share), united)
        shutil.rmtree(cache_of(share))
    united.rename(shared)


def _add(cache: Path, united: Path) -> None:
    """Copy what belongs to kernels that are not there yet; an index names the files of a kernel."""
    for index in cache.rglob("*.nbi"):
        target = united / index.relative_to(cache)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in (index, *index.parent.glob(f"{index.stem}.*.nbc")):
            shutil.copy2(path, target.parent)


def _six_freedoms() -> None:
    import sparsebody as sb

    for name, parameters in (("ladder", {"rungs": 8}), ("tree", {"bodies": 9}), ("stewart", {})):
        _move(name, **parameters)
    system = _built("stewart")
    for factorization in ("block-ldl", "block-qr", "superlu"):
        dynamics = sb.ForwardDynamics(system, factorization=factorization, reduction="none")
        dynamics(system.initial_state)


def _plane_and_trees() -> None:
    import sparsebody as sb

    _move("scissor", pairs=8)
    for method in _METHODS:
        for name in ("tree",) if "loops" not in method else ("ladder", "scissor"):
            sb.forward_dynamics(_built(name), method=method)
    lift = _built("scissor", pairs=4)
    sb.determined_reactions(lift)
    for options in ({"residuals": "extended"}, {"redundancy": "krylov"}):
        sb.ForwardDynamics(lift, **options)(lift.initial_state)
    for name in ("ladder", "lattice"):
        sb.ForwardDynamics(_built(name), factorization="superlu")


def _built(name: str, **parameters: object):
    from sparsebody.model.gallery import build

    return build(name, **parameters).compile()


def _move(name: str, **parameters: object) -> None:
    import sparsebody as sb

    sb.simulate(_built(name, **parameters), duration=0.02, step=0.01)


SHARES: dict[str, Callable[[], None]] = {
    "six-freedoms": _six_freedoms,
    "plane-and-trees": _plane_and_trees,
}

if __name__ == "__main__":
    SHARES[sys.argv[1]]() if sys.argv[1:] else fill()
