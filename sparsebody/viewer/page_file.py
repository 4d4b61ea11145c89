"""HTML file of a page: the bundled script, and the packed document that it shows."""

import html
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from sparsebody.viewer.packing import base64_text
from sparsebody.writing import replaced

_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
</head>
<body>
<noscript>This page draws by a script of its own; allow scripts to see it.</noscript>
<script type="text/plain" id="document">{document}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def bundled_script() -> str:
    """Return the script of all pages, with the licenses of what it contains."""
    return files("sparsebody.viewer").joinpath("page", "bundle.js").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Page:
    """A page that needs only a browser; in a notebook it shows itself."""

    document: bytes = field(repr=False)  # packed
    title: str
    height: int = 560  # of the frame in a notebook [pixels]

    @property
    def html(self) -> str:
        """The whole page."""
        return _TEMPLATE.format(
            title=html.escape(self.title),
            document=base64_text(self.document),
            script=bundled_script(),
        )

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; OutputError if the file cannot be written."""
        path = Path(path)
        with replaced(path) as draft:
            draft.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        style = "width: 100%; border: 0; border-radius: 6px"
        source = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{source}" height="{self.height}" style="{style}"></iframe>'
