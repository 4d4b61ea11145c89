import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.ordering import ORDERINGS

SOURCE = """
import numpy as np
import sparsebody as sb

sb.register_ordering("mine", lambda pattern: np.arange(pattern.n_blocks)[::-1])
"""


@pytest.fixture(autouse=True)
def table():
    """Leave the table as it was."""
    yield
    ORDERINGS.pop("mine", None)


@pytest.mark.parametrize("module", ["my_orderings.py", "my_orderings"])
def test_a_command_takes_an_ordering_that_a_module_registers(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_orderings.py").write_text(SOURCE)
    arguments = ["--import", module, "inspect", "ladder", "--ordering", "mine", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["ordering"] == "mine"


@pytest.mark.parametrize("module", ["nowhere.py", "no_such_module"])
def test_a_module_that_is_not_there_is_named(module):
    result = CliRunner().invoke(main, ["--import", module, "gallery"])
    assert result.exit_code == 2
    assert module in result.stderr
    assert "give a module or a .py file" in result.stderr
