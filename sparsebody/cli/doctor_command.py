"""sparsebody doctor: what is installed, and what of it is in use."""

from __future__ import annotations

from typing import Any

import click

from sparsebody.cli.arguments import json_option
from sparsebody.cli.output import print_json, print_table

OPTIONAL = {  # package: what it is for
    "scikit-sparse": "CHOLMOD: factorizations and orderings of lattices",
    "mujoco": "MJCF and URDF files",
    "distributed": "studies on a Dask cluster",
    "pyarrow": "studies as Parquet tables",
    "pin": "Pinocchio as a peer in studies",
}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Show the build of the native kernels in use, the BLAS, and optional packages."""
    report = _report()
    if as_json:
        print_json(report)
        return
    kernels = report["kernels"]
    others = [name for name in kernels["available"] if name != kernels["in_use"]]
    click.echo(f"sparsebody {report['version']}, Python {report['python']}")
    click.echo(
        f"native kernels: {kernels['in_use']}"
        + (f" (also installed: {', '.join(others)}; SPARSEBODY_LEVEL=NAME chooses)" * bool(others))
    )
    click.echo(f"processor: {report['processor']}, {kernels['processor_level']}")
    click.echo(f"BLAS in use: {report['blas']}\n")
    print_table(
        ("package", "version", "what it is for"),
        [
            (name, version or "not installed", OPTIONAL.get(name, "required"))
            for name, version in report["packages"].items()
        ],
    )


def _report() -> dict[str, Any]:
    import platform
    from contextlib import suppress
    from importlib import import_module

    from sparsebody import __version__, _core
    from sparsebody._core import _cpu
    from sparsebody.study import machine

    with suppress(ImportError):
        import_module("sksparse.cholmod")  # for its BLAS
    import_module("scipy.linalg")
    required = ("numpy", "scipy", "networkx", "h5py", "matplotlib")
    level = _cpu.level()
    return {
        "version": __version__,
        "python": platform.python_version(),
        "kernels": {
            "in_use": _core.level,
            "available": _core.available_levels(),
            "processor_level": f"x86-64-v{level}" if level else platform.machine(),
        },
        "processor": machine.machine(),
        "blas": machine.loaded_blas(),
        "packages": {
            name: machine.package_versions(name).partition(" ")[2]
            for name in (*required, *OPTIONAL)
        },
    }
