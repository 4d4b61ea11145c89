"""Names on the documentation site: all that are public, and none that does not exist."""

import ast
import importlib
import importlib.util
import re
from pathlib import Path

import pytest
from test_readme import PAGES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sparsebody"


@pytest.fixture(scope="module")
def public_names():
    """The extension that writes the pages of the reference."""
    path = ROOT / "docs" / "_extensions" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_folder_with_public_names_has_a_page(public_names):
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in PACKAGE.rglob("__init__.py*")
        if re.search(r"__all__ = \[| as \w+,?$", path.read_text(), re.MULTILINE)
    }
    internal = {"sparsebody.cli", "sparsebody.model.robots", "sparsebody.model.subgroups"}
    folders = {name for name in folders if not name.startswith("sparsebody._core")}
    assert folders - internal == set(public_names.FOLDERS) & folders
    assert internal <= folders


def test_every_public_name_has_a_page(public_names):
    pages = public_names.public_things()
    things = {id(thing) for thing in pages.values()}
    for folder in public_names.FOLDERS:
        module = importlib.import_module(folder)
        for name in public_names.names_of(folder):
            thing = getattr(module, name)
            assert f"{folder}.{name}" in pages or id(thing) in things or isinstance(thing, Path)
        listed = [name for names in public_names.headed_names(folder).values() for name in names]
        assert sorted(listed) == sorted(public_names.names_of(folder))


def test_pages_and_examples_import_public_names_alone(public_names):
    programs = [path.read_text() for path in (ROOT / "examples").glob("ex*.py")]
    for text in PAGES.values():
        programs += re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    imported = {
        (node.module, alias.name)
        for program in programs
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sparsebody")
        for alias in node.names
    }
    assert len(imported) > 40
    hidden = [
        f"{module}.{name}"
        for module, name in sorted(imported)
        if module not in public_names.FOLDERS or name not in public_names.names_of(module)
    ]
    assert hidden == []


def resolved(name):
    """The thing of a dotted name."""
    first, *rest = name.split(".")
    thing = importlib.import_module(first)
    for part in rest:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = importlib.import_module(f"{thing.__name__}.{part}")
    return thing


def test_pages_name_only_what_exists():
    words = r"`(?:sb|sparsebody|linearization|Accelerations)(?:\.\w+)+"
    result = set()
    for path, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for name in re.findall(words, prose):
            result.add(name)
            full = re.sub(r"^`(sb|sparsebody)\.", "sparsebody.", name)
            full = re.sub(r"^`(?=linearization|Accelerations)", "sparsebody.", full)
            *owner, last = full.split(".")
            fields = getattr(resolved(".".join(owner)), "__dataclass_fields__", {})
            assert last in fields or resolved(full) is not None, f"{path}: {name}"
    assert len(result) > 25
