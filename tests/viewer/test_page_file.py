import hashlib
import html
import re
from importlib.resources import files

import pytest

import sparsebody as sb
from sparsebody.errors import OutputError
from sparsebody.viewer.page_file import bundled_script

PAGE = files("sparsebody.viewer") / "page"
SOURCES = ("build.mjs", "package.json", "package-lock.json")


def test_the_bundle_was_made_from_the_committed_sources():
    digest = hashlib.sha256()
    names = sorted(f"src/{path.name}" for path in (PAGE / "src").iterdir())
    for name in (*SOURCES, *names):
        digest.update(f"{name}\n".encode() + (PAGE / name).read_bytes())
    assert digest.hexdigest() in bundled_script()[:400], "run: make viewer"


def test_the_bundle_carries_the_licenses_of_what_it_contains():
    for name in ("three", "fflate"):
        text = (PAGE / f"LICENSE.{name}").read_text()
        assert text.strip() in bundled_script()


def test_versions_are_pinned():
    assert re.search(r'"three": "0\.\d+\.\d+"', (PAGE / "package.json").read_text())


def test_a_page_needs_nothing_from_elsewhere():
    page = _page()
    outside = re.sub(r"/\*!.*?\*/", "", page.html, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!data:)', outside)


def test_a_notebook_shows_the_page_in_a_frame():
    page = _page()
    match = re.fullmatch(r'<iframe srcdoc="([^"]*)" .*></iframe>', page._repr_html_(), re.DOTALL)
    assert html.unescape(match.group(1)) == page.html


def test_titles_are_escaped():
    mechanism = sb.build("pendulum")
    mechanism.name = "<script>"
    from sparsebody.viewer import page_of

    assert "<title>&lt;script&gt;</title>" in page_of(mechanism).html


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OutputError, match="missing"):
        _page().save(tmp_path / "missing" / "page.html")


def _page():
    from sparsebody.viewer import page_of

    return page_of(sb.build("four-bar"))
