import json
import math
import re
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner
from command_line import printed

from benchmarks.record import main as record
from sparsebody.errors import MissingDependencyError, StudyError
from sparsebody.study.pages import Table, write_html
from sparsebody.study.reports import write_report
from sparsebody.study.rows import COLUMNS, read_results, write_results

SIZES = (8, 32, 128, 512, 2048, 8192)


def row(family, n, **values):
    known = {"family": family, "size": n, "n_bodies": n, "n_joints": n, "seed": 0, "status": "ok"}
    return {name: {**known, **values}.get(name, "") for name in COLUMNS}


OURS = {
    "method": "sparse",
    "factorization": "auto",
    "chosen_ordering": "natural",
    "chosen_factorization": "block-ldl",
    "largest_front": 18,
    "error": 1e-13,
    "kappa": 1e5,
    "reference_error": 1e-19,
}


def ours(n, ordering, seconds, nnz_l, ratio=math.nan):
    work = {"seconds_min": seconds, "memory_mb": 0.01 * n, "nnz_l": nnz_l, "flops": 9.0 * nnz_l}
    return row("ladder", n, ordering=ordering, auto_ratio=ratio, **work, **OURS)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rows = [ours(n, "auto", 4e-7 * n, 40 * n) for n in SIZES]
    rows += [
        ours(512, name, 1e-6 * i * 512, 60 * i * 512, 0.9 * i)
        for i, name in enumerate(("a", "annealing", "c"), 1)
    ]
    for n in SIZES[:4]:
        times = {"method": "aba", "seconds_min": 4e-9 * n**2, "memory_mb": 1e-4 * n**2}
        rows.append(row("ladder", n, error=1e-10 if n < 512 else 1e-7, **times))
    rows.append(row("ladder", 2048, method="aba", status="timeout", message="more than | 5 s"))
    rows.append(row("ladder", 8192, method="aba", status="skipped", message="timeout"))
    folder = tmp_path_factory.mktemp("results")
    document = {
        "title": "Growth of <ladders>",
        "families": {"ladder": {"mechanism": "ladder"}},
        "runs": [{"sizes": [8]}],
    }
    (folder / "study.json").write_text(json.dumps(document))
    return write_results(rows, folder / "results.csv")


@pytest.fixture(scope="module")
def text(results):
    """The report in Markdown, made with that in HTML beside it."""
    files = printed("report", results).splitlines()
    assert files == [str(results.parent / "report" / f"report.{end}") for end in ("md", "html")]
    return (results.parent / "report" / "report.md").read_text()


def test_what_is_written_is_read_again(results):
    rows = read_results(results)
    assert rows[0]["n_bodies"] == 8
    assert rows[0]["seconds_min"] == pytest.approx(3.2e-6)
    assert rows[-1]["status"] == "skipped"
    assert rows[-1]["nnz_l"] is None


@pytest.mark.parametrize(
    "line",
    [
        "| sparse | 8 to 8192 | n^1.00 (1.00 to 1.00), less than two decades | n^1.00",
        "| aba | 8 to 512 | n^2.00 (2.00 to 2.00), less than two decades",
        "| ladder | aba | 100 (between 32 and 128) | 8 to 128 | 1.28 |\n",  # of equal accuracy
        "| ladder | aba | 100 (between 32 and 128) | 8 to 512 | 5.12 | 1e-13 | 1e-07 | 512 |",
        "| ladder | aba | 3 of 4, to 128 | 1.0e-07 (512) |",
        "| ladder | 512 | natural, block-ldl | 3 | a, block-ldl | 0.90 | 0.33 |",
        "| auto: natural | block-ldl | 20480 |",
        "| aba | timeout | more than \\| 5 s | ladder 2048 |",
    ],
)
def test_the_report_tells_growth_crossovers_choices_and_failures(text, line):
    assert line in text
    assert re.search(r"\| c \| block-ldl \| 92160 \| .* \| 2.70 \|", text)
    assert "skipped |" not in text


def test_every_picture_is_there(text, results):
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    kinds = {name.rpartition("-")[2].removesuffix(".png") for name in pictures}
    assert kinds == {"time", "body", "error", "memory", "fill", "spy", "tree", "order"}
    assert all((results.parent / "report" / name).stat().st_size > 1000 for name in pictures)


def test_a_recorded_run_has_small_pictures_its_rows_and_no_patterns(results, tmp_path):
    (results.parent / "environment.json").write_text("[]")
    done = CliRunner().invoke(record, [str(results.parent), "--output", str(tmp_path / "kept")])
    assert done.exit_code == 0, done.output
    names = {file.name for file in (tmp_path / "kept").iterdir()}
    kinds = ("time", "time-per-body", "error", "memory", "512-fill")
    pictures = {f"ladder-{kind}.png" for kind in kinds}
    assert names == pictures | {"report.md", "results.csv", "environment.json"}
    assert all((tmp_path / "kept" / name).stat().st_size < 40_000 for name in pictures)


def test_the_page_is_one_file_of_well_formed_html(text, results):
    page = (results.parent / "report" / "report.html").read_text()
    assert "Growth of &lt;ladders&gt;" in page
    body = page[page.index("<body>") : page.index("</html>")]
    parsed = ET.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", body))
    images = [image.attrib["src"] for image in parsed.iter("img")]
    assert len(images) == 8
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in images)


def test_one_format_is_written_where_it_is_asked_for(results, tmp_path, monkeypatch):
    def written(results, output, *, formats, smallest):
        return [output / name for name in formats]

    monkeypatch.setattr("sparsebody.study.reports.write_report", written)
    for name in ("html", "markdown"):
        options = (f"--{name}", "--output", tmp_path)
        assert printed("report", results, *options) == f"{tmp_path / name}\n"


@pytest.mark.parametrize("text", ["2.5e-3", "-1.7", "+3"])
def test_numbers_of_a_table_are_aligned_whatever_their_sign(text, tmp_path):
    page = write_html([Table(["value"], [[text]])], tmp_path / "page.html").read_text()
    assert f'<td class="number">{text}</td>' in page


def test_what_holds_no_results_is_an_error(tmp_path):
    for text, message in (
        (None, "cannot be read: No such file"),
        ("family,size\n1,2\n", "no column 'n_bodies'"),
        (",".join(COLUMNS) + "\n", "no rows; run the study first"),
        (",".join(COLUMNS) + "\n" + "x," * (len(COLUMNS) - 1) + "x\n", "invalid literal"),
    ):
        if text is not None:
            (tmp_path / "results.csv").write_text(text)
        with pytest.raises(StudyError, match=message):
            write_report(tmp_path)


def test_parquet_holds_the_same_rows(results, tmp_path):
    pytest.importorskip("pyarrow")
    rows = read_results(results)
    again = read_results(write_results(rows, tmp_path / "results.parquet"))
    assert [str(row) for row in again] == [str(row) for row in rows]


def test_parquet_without_its_package_names_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[study\]'"):
        write_results([row("x", 1)], tmp_path / "results.parquet")
    assert list(tmp_path.iterdir()) == []
