"""Pictures of examples for the gallery: the files that a program saves in the temporary folder.

The examples are plain programs that save their figures there. Each runs with an empty temporary
folder of its own; what a block leaves in it goes into the page: PNG and SVG files as pictures, an
HTML file (a page of the viewer) as a frame. All frames of the site share one file of the script.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from sparsebody.viewer.page_file import bundled_script

FRAME = """
.. raw:: html

    <iframe src="{source}" class="viewer-frame" loading="lazy" title="{title}"></iframe>
    <p><a href="{source}" target="_blank">This page in a window of its own</a></p>

"""


def fresh_folder(gallery_conf: dict[str, Any], file_name: str | None) -> None:
    """Give the next example an empty temporary folder."""
    if tempfile.tempdir and Path(tempfile.tempdir).name.startswith("sparsebody-example-"):
        shutil.rmtree(tempfile.tempdir, ignore_errors=True)
    tempfile.tempdir = None
    tempfile.tempdir = tempfile.mkdtemp(prefix="sparsebody-example-")


def saved_pictures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reStructuredText that shows the files which a block has saved."""
    paths, text, pictures = block_vars["image_path_iterator"], "", []
    files = sorted(Path(tempfile.gettempdir()).rglob("*"), key=lambda file: file.stat().st_mtime_ns)
    for file in files:
        if file.suffix in (".png", ".svg"):
            target = Path(next(paths)).with_suffix(file.suffix)
            pictures.append(str(target))
        elif file.suffix == ".html":
            name = f"{Path(block_vars['src_file']).stem}-{file.name}"
            target = Path(gallery_conf["src_dir"], "_static", "viewer", name)
            share_script(file, target.with_name("viewer.js"))
            text += FRAME.format(source=f"../_static/viewer/{name}", title=file.stem)
        else:
            continue
        shutil.move(file, target)
    if pictures:
        text = figure_rst(pictures, gallery_conf["src_dir"]) + text
    return text


def share_script(page: Path, shared: Path) -> None:
    """Let a page load its script from a file beside it, which is written where it is missing."""
    script, text = bundled_script(), page.read_text(encoding="utf-8")
    own = f"<script>{script}</script>"
    if own not in text:
        raise ValueError(f"{page} is no page of the viewer")
    shared.parent.mkdir(parents=True, exist_ok=True)
    shared.write_text(script, encoding="utf-8")
    page.write_text(text.replace(own, f'<script src="{shared.name}"></script>'), encoding="utf-8")
