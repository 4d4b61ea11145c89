"""sparsebody doctor: the installation and its self-test, to be pasted into bug reports."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sparsebody as sb
from sparsebody import errors, viewer
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

if TYPE_CHECKING:
    from sparsebody.study.self_test import Check

REQUIRED = ("click", "h5py", "matplotlib", "networkx", "numpy", "rich", "scipy")
OPTIONAL = {  # package: what it is for
    "scikit-sparse": "CHOLMOD: factorizations and orderings of lattices",
    "pymumps": "MUMPS: factorizations over the ranks of mpiexec",
    "mujoco": "MJCF and URDF files",
    "distributed": "studies on a Dask cluster",
    "pyarrow": "studies as Parquet tables",
    "jax": "gradients in JAX",
    "torch": "gradients in PyTorch",
    "pin": "Pinocchio as a peer in studies",
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@click.command()
@click.option(
    "--self-test/--no-self-test",
    "wants_test",
    default=True,
    help="Check accelerations, a motion and files, in some 3 seconds.",
)
@arg.json_option
def doctor(wants_test: bool) -> None:
    """Show the installation and test it: versions, kernels, BLAS, CHOLMOD, threads, memory.

    Paste what it prints into bug reports; there are no names of files in it. The exit code is 1 if
    a check failed.
    """
    report = _report()
    checks: list[Check] = []
    if wants_test:
        from sparsebody.study.self_test import self_test

        checks = self_test()
    passed = all(check.passed for check in checks)
    if arg.is_given("json"):
        listed = [asdict(check) | {"passed": check.passed} for check in checks]
        tested = {"self_test": {"passed": passed, "checks": listed}} if checks else {}
        out.print_json(report | tested)
    else:
        _print_report(report)
        _print_checks(checks)
    if not passed:
        raise click.exceptions.Exit(1)


def _report() -> dict[str, Any]:
    """Return what a computation depends on besides its input."""
    from sparsebody import _core
    from sparsebody._core import _cpu
    from sparsebody.factorization import available_factorizations
    from sparsebody.ordering import ORDERINGS, available_orderings
    from sparsebody.study import machine

    with suppress(ImportError):
        import_module("sksparse.cholmod")  # for its BLAS
    import_module("scipy.linalg")
    level, browser = _cpu.level(), ""
    with suppress(errors.MissingDependencyError):
        browser = Path(viewer.find_browser()).name
    versions = {
        name: machine.package_versions(name).partition(" ")[2] for name in (*REQUIRED, *OPTIONAL)
    }
    available = available_orderings()
    return {
        "version": sb.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "kernels": {
            "in_use": _core.level,
            "available": _core.available_levels(),
            "processor_level": f"x86-64-v{level}" if level else platform.machine(),
        },
        "processor": machine.machine(),
        "cores": {"usable": machine.usable_cores(), "all": os.cpu_count()},
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
        "memory_gb": machine.memory_gb(),
        "blas": machine.loaded_blas(),
        "hdf5": import_module("h5py").version.hdf5_version,
        "factorizations": available_factorizations(),
        "cholmod_orderings": [name for name in available if ORDERINGS[name].needs == "sksparse"],
        "browser": browser,
        "packages": versions,
    }


def _print_report(report: dict[str, Any]) -> None:
    kernels, cores, memory = report["kernels"], report["cores"], report["memory_gb"]
    others = ", ".join(name for name in kernels["available"] if name != kernels["in_use"])
    also = f" (also installed: {others}; SPARSEBODY_LEVEL=NAME chooses)" if others else ""
    threads = ", ".join(f"{key}={value}" for key, value in report["threads"].items())
    free = "" if memory["available"] is None else f", {memory['available']} free"
    out.print_facts(
        {
            "sparsebody": f"{report['version']}, Python {report['python']}, {report['system']}",
            "native kernels": f"{kernels['in_use']}{also}",
            "processor": f"{report['processor']}, {kernels['processor_level']}",
            "cores": f"{cores['usable']} of {cores['all']}; {threads or 'no limit of threads set'}",
            "memory": f"{memory['total']} GiB{free}",
            "BLAS in use": report["blas"],
            "HDF5": report["hdf5"],
            "factorizations": ", ".join(report["factorizations"]),
            "CHOLMOD's orders": ", ".join(report["cholmod_orderings"]) or "CHOLMOD is missing",
            "browser": report["browser"] or "none found; CHROME_BIN=PROGRAM names one",
        }
    )
    click.echo()
    rows = [
        (name, version or "not installed", OPTIONAL.get(name, "required"))
        for name, version in report["packages"].items()
    ]
    out.print_table(("package", "version", "what it is for"), rows)


def _print_checks(checks: list[Check]) -> None:
    """Print each quantity beside its limit."""
    if not checks:
        return
    click.echo()
    rows = [
        ("pass" if one.passed else "FAIL", one.name, f"{one.value:.1e}", f"{one.limit:.0e}")
        for one in checks
    ]
    out.print_table(("", "self-test", "value", "limit"), rows)
    for one in checks:
        if one.error:
            click.echo(f"{one.name}: {one.error}")
    n_failed = sum(not one.passed for one in checks)
    verdict = f"{n_failed} of {len(checks)} checks FAILED" if n_failed else "all checks passed"
    click.echo(f"{verdict}, in {sum(one.seconds for one in checks):.1f} s")
