"""Progress on stderr: what is done, elapsed and left, and nothing where nobody looks."""

import io
import sys

import pytest

import sparsebody as sb
from sparsebody.analysis.inspection import PARTS, inspect_mechanism
from sparsebody.cli import output
from sparsebody.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """A function that puts a stream in the place of stderr, a terminal unless another is given."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    def put(stream=None):  # within the test: pytest has its own stderr for each phase
        stream = stream or Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return put


def test_a_bar_tells_what_is_done_the_time_and_the_time_left(shown):
    terminal = shown()
    with output.progress_bar(3) as moved:
        for done in range(4):
            moved(f"case {done}", done)
    text = terminal.getvalue()
    assert "3/3" in text
    assert "0:00:00" in text
    assert "left" in text
    assert "case 3" in text


def test_parts_of_unequal_length_promise_no_time_left(shown):
    terminal = shown()
    with output.reports(steady=False) as report:
        report("rank", 1, 5)
        report("", 5, 5)
    assert "5/5" in terminal.getvalue()
    assert "left" not in terminal.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_is_shown_to_scripts_and_where_quiet(is_terminal, shown):
    stream = shown(Terminal() if is_terminal else io.StringIO())
    with output.progress_bar(2, quiet=is_terminal) as moved:
        moved("case", 1)
    with output.reports(quiet=is_terminal) as report:
        report("part", 1, 2)
    assert stream.getvalue() == ""


def test_adaptive_steps_advance_the_bar_by_simulated_time(shown):
    terminal = shown()
    system = sb.build("pendulum").compile()
    sb.simulate(system, duration=0.5, step="auto", progress=True)
    assert "0.500/0.500 s" in terminal.getvalue()


def test_a_bar_of_a_unit_has_fractions(shown):
    terminal = shown()
    with progress_bar(0.25, "s") as moved:
        moved(0.125, "")
    assert "0.125/0.250 s" in terminal.getvalue()


def test_an_inspection_reports_its_parts():
    parts = []
    inspect_mechanism(sb.build("pendulum"), report=lambda *part: parts.append(part))
    assert parts == [(name, k, len(PARTS)) for k, name in enumerate(PARTS)]


def test_a_certificate_reports_bodies_up_to_all():
    reported = []
    sb.certify("chain", largest=128, report=lambda _, done, total: reported.append((done, total)))
    done, total = zip(*reported, strict=True)
    assert list(done) == sorted(done)
    assert (done[0], done[-1]) == (0, total[0])
    assert set(total) == {2 * (16 + 32 + 64 + 128)}
