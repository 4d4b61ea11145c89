"""The command line, run in this process."""

import json

from click.testing import CliRunner

from sparsebody.cli import main


def run(*words):
    return CliRunner().invoke(main, [*map(str, words)])


def printed(*words):
    """Standard output of a command that succeeds."""
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def document(*words):
    """What a command prints as JSON, and nothing besides."""
    result = run(*words, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def refusal(*words, code=2):
    """Standard error of a command that prints nothing else and fails with a code."""
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert result.stderr.startswith("sparsebody: error: ")
    assert "Traceback" not in result.stderr
    return result.stderr
