"""Links of the guides to files of the repository, turned into links between pages of the site.

A guide is read on the site and in the repository. There its links lead to files; here links to
examples lead to the gallery, and those to recorded results to the pages of benchmarks.
"""

import re

from sphinx.application import Sphinx

PLACES = (
    (re.compile(r"\]\((?:\.\./)+examples/(ex\d\d_\w+)\.py\)"), r"](/gallery/\1.rst)"),
    (
        re.compile(r"\]\((?:\.\./)+benchmarks/results/(\w+)/[\w.]+\)"),
        r"](/benchmarks/results/\1.md)",
    ),
    (re.compile(r"\]\((?:\.\./)+examples/studies/\)"), "](/tutorials/study.md)"),
    (re.compile(r"\]\((?:\.\./)+benchmarks/\)"), "](/benchmarks/index.md)"),
)


def to_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Rewrite the links of one page."""
    for pattern, page in PLACES:
        source[0] = pattern.sub(page, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Read every page through `to_pages`."""
    app.connect("source-read", to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
