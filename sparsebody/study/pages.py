"""Reports as a list of parts, written in Markdown or as one HTML file that holds its pictures."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sparsebody.writing import write_text

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 60em; margin: 2em auto;
       padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { padding: 0.2em 0.7em; border-bottom: 1px solid #d5dbe1; text-align: left; }
th { border-bottom: 2px solid #1f2933; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
"""


class Heading(NamedTuple):
    """A title; level 1 is that of the report."""

    text: str
    level: int = 2


class Paragraph(NamedTuple):
    """Plain text."""

    text: str


class Table(NamedTuple):
    """Cells as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Picture(NamedTuple):
    """A picture in a file of its own."""

    path: Path
    caption: str


Part = Heading | Paragraph | Table | Picture


def write_markdown(parts: Sequence[Part], path: Path) -> Path:
    """Write a Markdown file; it links to the pictures."""
    return write_text(path, "\n".join(_markdown(part, path.parent) for part in parts) + "\n")


def write_html(parts: Sequence[Part], path: Path) -> Path:
    """Write an HTML file, which holds the pictures."""
    title = next((part.text for part in parts if isinstance(part, Heading)), "Report")
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(map(_html, parts))
    page = f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n{body}\n</body></html>\n"
    return write_text(path, page)


def _markdown(part: Part, folder: Path) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {text}\n"
        case Paragraph(text):
            return f"{text}\n"
        case Picture(path, caption):
            return f"![{caption}]({path.relative_to(folder).as_posix()})\n"
        case Table(header, rows):
            lines = [header, ["---"] * len(header), *rows]
            cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in x] for x in lines)
            return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def _html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Picture(path, caption):
            data = base64.b64encode(path.read_bytes()).decode()
            return f'<img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
        case Table(header, rows):
            head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
            body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
            return f"<table><tr>{head}</tr>\n{body}</table>"


def _cell(text: str) -> str:
    kind = ' class="number"' if text.lstrip("-+")[:1].isdigit() else ""
    return f"<td{kind}>{html.escape(text)}</td>"
