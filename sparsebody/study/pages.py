"""Reports as a list of parts, written in Markdown or as one HTML file that holds its pictures."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sparsebody.writing import replaced

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 60em; margin: 2em auto;
       padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { padding: 0.2em 0.7em; border-bottom: 1px solid #d5dbe1; text-align: left; }
th { border-bottom: 2px solid #1f2933; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
"""


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is that of the report."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Picture:
    """A picture that lies in a file."""

    path: Path
    says: str


Part = Heading | Paragraph | Table | Picture


def write_markdown(parts: Sequence[Part], path: Path) -> Path:
    """Write a Markdown file; it links to the pictures."""
    text = "\n".join(_markdown(part, path.parent) for part in parts)
    return _written(path, text)


def write_html(parts: Sequence[Part], path: Path) -> Path:
    """Write an HTML file, which holds the pictures."""
    title = next((part.text for part in parts if isinstance(part, Heading)), "Report")
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(_html(part) for part in parts)
    return _written(
        path, f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n{body}\n</body></html>"
    )


def _written(path: Path, text: str) -> Path:
    with replaced(path) as draft:
        draft.write_text(text + "\n", encoding="utf-8")
    return path


def _markdown(part: Part, folder: Path) -> str:
    if isinstance(part, Heading):
        return f"{'#' * part.level} {part.text}\n"
    if isinstance(part, Paragraph):
        return f"{part.text}\n"
    if isinstance(part, Picture):
        return f"![{part.says}]({part.path.relative_to(folder).as_posix()})\n"
    lines = [part.header, ["---"] * len(part.header), *part.rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _html(part: Part) -> str:
    if isinstance(part, Heading):
        return f"<h{part.level}>{html.escape(part.text)}</h{part.level}>"
    if isinstance(part, Paragraph):
        return f"<p>{html.escape(part.text)}</p>"
    if isinstance(part, Picture):
        data = base64.b64encode(part.path.read_bytes()).decode()
        return f'<img alt="{html.escape(part.says)}" src="data:image/png;base64,{data}">'
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in part.header)
    rows = "\n".join(f"<tr>{''.join(map(_data, row))}</tr>" for row in part.rows)
    return f"<table><tr>{head}</tr>\n{rows}</table>"


def _data(cell: str) -> str:
    kind = ' class="number"' if cell[:1].isdigit() else ""
    return f"<td{kind}>{html.escape(cell)}</td>"
