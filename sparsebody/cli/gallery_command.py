"""sparsebody gallery: list the generated mechanisms, or write one to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparsebody.cli.arguments import (
    PATH,
    json_option,
    new_file,
    parameter_option,
    unique_parameters,
)
from sparsebody.cli.output import print_json, print_table


@click.command()
@click.argument("name", required=False)
@parameter_option
@click.option(
    "--output",
    type=PATH,
    help="File (.json) to write the mechanism to; its directory is made where missing.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@json_option
def gallery(
    name: str | None,
    parameters: tuple[tuple[str, str], ...],
    output: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """List the mechanisms that can be made, or write mechanism NAME to a file."""
    if name is None:
        if parameters or output:
            raise click.UsageError("give the NAME of the mechanism to write")
        _list(as_json)
    elif output is None:
        _describe(name, unique_parameters(parameters), as_json)
    else:
        _write(name, unique_parameters(parameters), output, overwrite, as_json)


def _entries() -> list[dict[str, Any]]:
    from sparsebody.model.gallery import GALLERY

    return [
        {
            "name": name,
            "summary": entry.summary,
            "size_parameters": list(entry.size_parameters),
            "parameters": entry.defaults,
        }
        for name, entry in GALLERY.items()
    ]


def _list(as_json: bool) -> None:
    entries = _entries()
    if as_json:
        print_json(entries)
        return
    print_table(
        ("name", "parameters", "what it is"),
        [(entry["name"], _assignments(entry["parameters"]), entry["summary"]) for entry in entries],
        folded="parameters",
    )


def _assignments(parameters: dict[str, Any]) -> str:
    return " ".join(f"{key}={_word(value)}" for key, value in parameters.items())


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{part:g}" for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(name: str, parameters: dict[str, str], as_json: bool) -> None:
    from sparsebody.model.gallery import GALLERY, build

    mechanism = build(name, **parameters)
    entry = next(entry for entry in _entries() if entry["name"] == name)
    if as_json:
        sizes = {"bodies": mechanism.n_bodies, "joints": mechanism.n_joints}
        print_json(entry | sizes | {"given": parameters})
        return
    click.echo(f"{name}: {mechanism.n_bodies} bodies, {mechanism.n_joints} joints")
    click.echo(f"defaults: {_assignments(entry['parameters'])}\n")
    import inspect

    click.echo(inspect.getdoc(GALLERY[name].function))


def _write(
    name: str, parameters: dict[str, str], output: Path, overwrite: bool, as_json: bool
) -> None:
    from sparsebody.model.files import write_mechanism
    from sparsebody.model.gallery import build

    if output.suffix.lower() != ".json":
        raise click.UsageError(f"mechanisms are written as .json, not as {output.name}")
    new_file(output, overwrite)
    mechanism = build(name, **parameters)
    write_mechanism(mechanism, output)
    if as_json:
        sizes = {"bodies": mechanism.n_bodies, "joints": mechanism.n_joints}
        print_json({"name": mechanism.name, "output": str(output)} | sizes)
    else:
        click.echo(f"{output}: {mechanism.n_bodies} bodies, {mechanism.n_joints} joints")
