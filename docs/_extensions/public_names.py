"""Pages of the API: one for each public name, and one for each folder that lists its names.

What is public is what `__all__` of the package and its folders says, under the headings of the
`__init__.pyi` files. The role `name` links a name in a docstring to its page.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDERS = {
    "sparsebody": "The package",
    "sparsebody.model": "Mechanisms",
    "sparsebody.model.gallery": "The gallery of mechanisms",
    "sparsebody.kinematics": "Kinematics",
    "sparsebody.assembly": "Assembly",
    "sparsebody.ordering": "Elimination orders",
    "sparsebody.factorization": "Factorizations",
    "sparsebody.equations": "Equations of both schools",
    "sparsebody.dynamics": "Dynamics by the sparse system",
    "sparsebody.tree": "Dynamics by a spanning tree",
    "sparsebody.methods": "Methods by name",
    "sparsebody.simulation": "Simulation",
    "sparsebody.simulation.integrators": "Integrators",
    "sparsebody.export": "Files for other programs",
    "sparsebody.linearization": "Linearization",
    "sparsebody.analysis": "Analysis",
    "sparsebody.plots": "Plots",
    "sparsebody.viewer": "3-D pages",
    "sparsebody.sparse": "Sparse matrices",
    "sparsebody.spatial": "Spatial vectors",
    "sparsebody.classical": "Algorithms of the literature",
    "sparsebody.certificates": "Certificates",
    "sparsebody.study": "Scaling studies",
    "sparsebody.corpus": "The corpus of matrices",
    "sparsebody.errors": "Errors and warnings",
}


EXPORTED = re.compile(r"\b(\w+) as \1\b")


def names_of(folder: str) -> list[str]:
    """Return the public names of a folder or module."""
    module = importlib.import_module(folder)
    if hasattr(module, "__all__"):
        return list(module.__all__)
    imported = EXPORTED.findall(Path(module.__file__).read_text())
    return imported + [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and name not in imported
        and (getattr(thing, "__module__", None) == folder or isinstance(thing, dict))
        and (callable(thing) or isinstance(thing, dict))
    ]


def headed_names(folder: str) -> dict[str, list[str]]:
    """Return the public names of a folder under the headings of its stub."""
    stub = Path(importlib.import_module(folder).__file__)
    stub = stub.with_suffix(".pyi") if stub.with_suffix(".pyi").exists() else stub
    names = names_of(folder)
    if not EXPORTED.search(stub.read_text()):
        return {"": names}
    headed: dict[str, list[str]] = {}
    heading = ""
    for line in stub.read_text().splitlines():
        if line.startswith("# ") and "ruff" not in line:
            heading = line[2:]
        for name in EXPORTED.findall(line):
            headed.setdefault(heading, []).append(name)
    others = [name for name in names if not any(name in group for group in headed.values())]
    return headed | ({"Here": others} if others else {})


def public_things() -> dict[str, Any]:
    """Return every public thing by its full name, the shortest one where it has several."""
    things: dict[str, Any] = {}
    seen: dict[int, str] = {}
    for folder in FOLDERS:
        module = importlib.import_module(folder)
        for name in names_of(folder):
            thing = getattr(module, name)
            if inspect.ismodule(thing) or (id(thing) in seen and not isinstance(thing, str)):
                continue
            seen[id(thing)] = things_name = f"{folder}.{name}"
            things[things_name] = thing
    return things


def entry(full_name: str, thing: Any) -> str:
    """Return the page of one public name."""
    folder, _, name = full_name.rpartition(".")
    lines = [name, "=" * len(name), "", f".. currentmodule:: {folder}", ""]
    if inspect.isclass(thing) and thing.__module__.startswith("sparsebody"):
        lines += [f".. autoclass:: {name}", "   :members:"]
        lines += ["   :special-members: __call__"] if "__call__" in vars(thing) else []
        lines += ["   :show-inheritance:"] if issubclass(thing, Exception) else []
        lines += ["", *(f"   {line}".rstrip() for line in field_lines(thing))]
    elif inspect.isroutine(thing) or inspect.isfunction(inspect.unwrap(thing)):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. py:data:: {name}", "", *(f"   {line}" for line in data_lines(thing))]
    return "\n".join([*lines, ""])


FIELD = re.compile(r"^    (\w+): [^#]*?(?:  # (.+))?$", re.MULTILINE)


def field_lines(thing: type) -> Iterable[str]:
    """Return the fields of a dataclass with the comments that say what they hold."""
    if not dataclasses.is_dataclass(thing):
        return []
    try:
        body = inspect.getsource(thing)
    except OSError:
        return []
    comments = dict(FIELD.findall(body))
    lines = []
    for one in dataclasses.fields(thing):
        if not one.name.startswith("_"):
            comment = comments.get(one.name, "")
            lines += [f"   * - ``{one.name}``", f"     - {literal(comment)}"]
    if not lines:
        return []
    return [".. rubric:: Fields", "", ".. list-table::", "   :widths: 1 3", "", *lines, ""]


def data_lines(thing: Any) -> Iterable[str]:
    """Return what a constant or a table of kinds holds."""
    if not isinstance(thing, Mapping):
        return [f"``{thing!r}``" if isinstance(thing, str) else f"A {type(thing).__name__}."]
    lines = ["A table by name:", ""]
    for key, value in thing.items():
        summary = getattr(value, "summary", None)
        if not isinstance(summary, str):
            summary = (inspect.getdoc(value) or "").partition("\n")[0]
        if inspect.isclass(value) or inspect.isfunction(value) or hasattr(value, "summary"):
            lines.append(f"- ``{key}``: {literal(summary)}" if summary else f"- ``{key}``")
        else:
            lines.append(f"- ``{key}``")
    return lines


def literal(text: str) -> str:
    """Return a sentence whose symbols are no markup."""
    return re.sub(r"([*_|`\\])", r"\\\1", text)


def folder_page(folder: str, things: Mapping[str, Any], by_id: Mapping[int, str]) -> str:
    """Return the page that lists the names of a folder."""
    module, title = importlib.import_module(folder), FOLDERS[folder]
    title = f"{title}: {folder}"
    first, _, _ = (inspect.getdoc(module) or "").partition("\n")
    text = [title, "=" * len(title), "", f".. currentmodule:: {folder}", ""]
    text += ["" if first.startswith("Public names") or "stand in" in first else first, ""]
    own = []
    for heading, names in headed_names(folder).items():
        if heading:
            text += [heading, "-" * len(heading), ""]
        text += [".. autosummary::", "   :nosignatures:", ""]
        for name in names:
            thing = getattr(module, name)
            full = f"{folder}.{name}"
            full = full if full in things else by_id.get(id(thing), full)
            if inspect.ismodule(thing):
                continue
            if full == f"{folder}.{name}":
                own.append(full)
            text.append(f"   {name}" if full == f"{folder}.{name}" else f"   ~{full}")
        text.append("")
    text += ["", ".. toctree::", "   :hidden:", "", *(f"   names/{name}" for name in own), ""]
    return "\n".join(text)


def write_pages(app: Sphinx) -> None:
    """Write the pages of the reference before the pages are read."""
    reference = Path(app.srcdir, "reference")
    things = public_things()
    by_id = {id(thing): name for name, thing in things.items()}
    pages = {f"names/{name}.rst": entry(name, thing) for name, thing in things.items()}
    pages |= {f"{folder}.rst": folder_page(folder, things, by_id) for folder in FOLDERS}
    pages["commands.rst"] = command_page()
    pages["index.rst"] = index_page()
    for file in [*reference.glob("names/*.rst"), *reference.glob("*.rst")]:
        if str(file.relative_to(reference)) not in pages:
            file.unlink()
    for name, text in pages.items():
        path = reference / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    app.public_things = things  # type: ignore[attr-defined]


def check_names(app: Sphinx, env: Any) -> None:
    """Warn of a public name that has come onto no page."""
    from sphinx.util import logging

    objects = env.get_domain("py").objects
    for name in app.public_things:  # type: ignore[attr-defined]
        if name not in objects:
            logging.getLogger(__name__).warning("the public name %s is on no page", name)


def index_page() -> str:
    """Return the page that lists the folders."""
    title = "Reference"
    text = [title, "=" * len(title), ""]
    text += [
        "The names that most programs need are those of the package; the folders have more.",
        "",
    ]
    text += [".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in FOLDERS)]
    return "\n".join([*text, "   commands", ""])


def command_page() -> str:
    """Return the page of all commands, each with what `--help` prints."""
    import click

    from sparsebody.cli import main

    title = "Commands"
    text = [title, "=" * len(title), "", "What ``sparsebody COMMAND --help`` prints.", ""]
    context = click.Context(main, info_name="sparsebody")
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        child = click.Context(command, info_name=name, parent=context, max_content_width=96)
        usage = command.get_help(child).splitlines()
        text += [name, "-" * len(name), "", ".. code-block:: text", ""]
        text += [*(f"   {line}".rstrip() for line in usage), ""]
    return "\n".join(text)


def name_role(name, rawtext, text, lineno, inliner, options=None, content=None):  # type: ignore[no-untyped-def]
    """Return a link to a public name, or the text in the letters of programs."""
    from docutils import nodes
    from sphinx import addnodes

    things = inliner.document.settings.env.app.public_things
    short = text.removesuffix("()").removeprefix("sb.").removeprefix("sparsebody.")
    full = next((one for one in (f"sparsebody.{short}",) if one in things), None)
    literal_text = nodes.literal(rawtext, text)
    if full is None:
        return [literal_text], []
    reference = addnodes.pending_xref(
        "", literal_text, refdomain="py", reftype="obj", reftarget=full, refexplicit=True
    )
    return [reference], []


SYMBOL = re.compile(r"(`[^`]*`)|(?<!\\)([*|])")
IS_MARKUP = re.compile(r"\s*(>>>|\.\.\. |\* |\*{1,2}\w+$|\*{1,2}\w+ :)")


def keep_symbols(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape stars and bars in a docstring, which are products and norms there and no markup."""
    for k, line in enumerate(lines):
        if not IS_MARKUP.match(line):
            lines[k] = SYMBOL.sub(lambda match: match[1] or "\\" + match[2], line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages, and define the role."""
    app.connect("autodoc-process-docstring", keep_symbols, priority=400)  # before numpydoc
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("env-check-consistency", check_names)
    app.add_role("name", name_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
