"""sparsebody certify: how a family of mechanisms grows in one elimination order, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    is_file_name,
    json_option,
    parameter_option,
    unique_parameters,
)
from sparsebody.cli.output import print_json, print_table

if TYPE_CHECKING:
    from sparsebody.certificates.certificate import Certificate
    from sparsebody.certificates.inertia_certificates import InertiaCertificate
    from sparsebody.study.families import Family

METHODS = ("sparse", "loops-aba", "crba")


@click.command()
@click.argument("family")
@parameter_option
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="sparse",
    show_default=True,
    help="The whole graph; the recursion with loops on a tree; nonzeros of H on every tree.",
)
@click.option("--ordering", metavar="NAME", help="Of method sparse.  [default: auto]")
@click.option("--tree", metavar="NAME", help="Of method loops-aba.  [default: minimum-fronts]")
@click.option(
    "--largest",
    type=click.IntRange(1),
    help="Bodies of the largest member.  [default: 4096, or 1024 on trees]",
)
@click.option("--time", is_flag=True, help="Measure the accelerations, too.")
@json_option
def certify(
    family: str,
    parameters: tuple[tuple[str, str], ...],
    method: str,
    ordering: str | None,
    tree: str | None,
    largest: int | None,
    time: bool,
    as_json: bool,
) -> None:
    """Certify how FAMILY, a mechanism of the gallery, grows: O(n) with a proof, or what it is.

    It is built at growing sizes; size parameters that -p leaves open grow together. Where fronts
    stay bounded, that is proved from the elimination itself, for all sizes at which family and
    ordering go on alike; elsewhere exponents are fitted, and compared with bounds for every order.

    \b
      sparsebody certify ladder
      sparsebody certify lattice -p rows=4 -p layers=1
      sparsebody certify lattice -p layers=1 --ordering nested-dissection
    """  # noqa: D301 (a backspace keeps click from filling the lines)
    _check_options(method, ordering, tree, time)
    grown = _family(family, parameters)
    certificate: Certificate | InertiaCertificate
    if method == "crba":
        from sparsebody.certificates.inertia_certificates import LARGEST, certify_inertia

        certificate = certify_inertia(grown, largest=LARGEST if largest is None else largest)
    else:
        from sparsebody.certificates.certifying import certify as certified

        certificate = certified(
            grown,
            ordering or "auto",
            method=method,
            tree=tree or "minimum-fronts",
            largest=largest,
            time=time,
        )
    if as_json:
        print_json(certificate.to_dict())
        return
    for line in certificate.lines():
        click.echo(line)
    click.echo()
    print_table(*certificate.table())


def _check_options(method: str, ordering: str | None, tree: str | None, time: bool) -> None:
    if ordering is not None and method != "sparse":
        raise click.UsageError(f"--ordering is for method sparse, not for {method}")
    if tree is not None and method != "loops-aba":
        raise click.UsageError(f"--tree is for method loops-aba, not for {method}")
    if time and method == "crba":
        raise click.UsageError("--time is for methods sparse and loops-aba, not for crba")


def _family(name: str, parameters: tuple[tuple[str, str], ...]) -> Family:
    """Return a family of the gallery with some parameters given."""
    from sparsebody.certificates.eliminations import gallery_family

    if is_file_name(name):
        raise click.UsageError(f"{name} is one mechanism; give a family of `sparsebody gallery`")
    return gallery_family(name, unique_parameters(parameters))
