"""Settings of the documentation site; `make docs` builds it.

SPARSEBODY_DOCS_ONLINE=1 resolves references to Python, NumPy, SciPy, NetworkX and Matplotlib at
their own sites; without it nothing is fetched, and such references are plain text.
"""

import importlib.metadata
import os
import sys
from pathlib import Path

import matplotlib as mpl

import sparsebody

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_extensions"), str(DOCS.parent)]
mpl.use("Agg")
is_online = os.environ.get("SPARSEBODY_DOCS_ONLINE") == "1"

project = "sparsebody"
author = "The sparsebody developers"
project_copyright = author
version = release = sparsebody.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    # in docs/_extensions
    "public_names",
    "benchmark_pages",
    "guide_links",
]
exclude_patterns = ["_build", "_extensions", "_templates", "gallery/*.ipynb", "gallery/*.py"]
nitpicky = True
nitpick_ignore_regex: list[tuple[str, str]] = []  # nothing may be missing
suppress_warnings = ["config.cache"]  # functions among the settings of the gallery

if is_online:
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "networkx": ("https://networkx.org/documentation/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

# Pages
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
numfig = math_numfig = True  # equations are numbered by pages, (2.1)
numfig_secnum_depth = 1
default_role = "name"  # of public_names: a link where there is such a public name

# API
autodoc_typehints = "none"  # docstrings give types, with shapes and units
autodoc_member_order = "bysource"
autosummary_generate = False  # pages are made by public_names
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": [str(DOCS.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/ex\d\d_",
    "ignore_pattern": r"__init__\.py",
    "image_scrapers": ("example_pictures.saved_pictures",),
    "reset_modules": ("example_pictures.fresh_folder",),
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "log_level": {"backreference_missing": "debug"},
}

# HTML
html_theme = "pydata_sphinx_theme"
html_title = "sparsebody"
# MathJax comes with the site, so that equations need no network.
mathjax = importlib.metadata.distribution("sphinx-mathjax-offline")
mathjax_path = "mathjax/tex-chtml.js"
html_static_path = ["_static", str(mathjax.locate_file("sphinx-mathjax-offline/static"))]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "first-steps": [], "limits": []}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "logo": {"text": "sparsebody"},
}
