"""The notebook: kept without outputs, and its cells run in one namespace, in their order."""

import ast
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib import pyplot

PATH = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


@pytest.fixture(scope="module")
def cells():
    return json.loads(PATH.read_text(encoding="utf-8"))["cells"]


def shown(source, namespace):
    """The value of the last line of a cell if it is an expression, as a kernel displays it."""
    lines = ast.parse(source).body
    last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), PATH.name, "exec"), namespace)
    if last is not None:
        return eval(compile(ast.Expression(last.value), PATH.name, "eval"), namespace)
    return None


def test_the_notebook_is_kept_without_outputs(cells):
    assert all(one["outputs"] == [] for one in cells if one["cell_type"] == "code")
    assert all(one["execution_count"] is None for one in cells if one["cell_type"] == "code")
    assert len({one["id"] for one in cells}) == len(cells)


def test_every_cell_runs_and_shows_tables(cells, monkeypatch, capsys):
    monkeypatch.setattr(pyplot, "show", lambda: None)
    namespace = {}
    values = [
        shown("".join(cell["source"]), namespace) for cell in cells if cell["cell_type"] == "code"
    ]
    tables = [value for value in values if hasattr(value, "_repr_html_")]
    names = ["Mechanism", "Mobility", "ForwardDynamics", "Accelerations", "Trajectory"]
    assert [type(value).__name__ for value in tables] == names
    for table in tables:
        assert ElementTree.fromstring(table._repr_html_()).find("table/tr") is not None
    assert namespace["difference"] < 1e-10
    assert namespace["trajectory"].energy_error < 1e-6
    assert namespace["growth"] == pytest.approx(2.0, abs=0.1)
    assert len(namespace["figure"].axes) == 2
    pyplot.close(namespace["figure"])
    assert "twice the ladder" in capsys.readouterr().out
