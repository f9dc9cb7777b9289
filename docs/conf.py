"""How the site is built: ``make docs``.

Sphinx is what most scientific Python packages build their pages with, so it is kept up; its search works offline, and a
warning can be made an error. It reads Markdown by MyST. Pages of reference are made from the code's tables.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from make_notebooks import write_notebooks  # noqa: E402
from make_reference import write_reference  # noqa: E402

import hdeeprm_like  # noqa: E402

project = "hdeeprm_like"
author = "the authors of hdeeprm_like"
project_copyright = author
version = release = hdeeprm_like.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "__pycache__", "reference/made/names.md"]  # the last is a part of shipped.md
html_theme = "furo"
html_title = "hdeeprm_like"
html_show_sourcelink = False
html_copy_source = False
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_rtype = False
default_role = "code"
suppress_warnings = ["myst.header"]  # pages that are included begin below the first level

write_reference(HERE / "reference" / "made")
write_notebooks(HERE / "tutorials", HERE / "_build" / "notebooks")
html_extra_path = ["_build/notebooks"]  # beside the pages, as downloads
linkcheck_retries = 3
linkcheck_anchors = False


def tables_for_sphinx(app, what, name, thing, options, lines):  # type: ignore[no-untyped-def]
    """Convert the Markdown tables of a docstring to list tables for autodoc."""
    found: list[str] = []
    inside = False
    for line in lines:
        row = line.startswith("|")
        if row and not inside:
            found += ["", ".. list-table::", "   :header-rows: 1", ""]
        if inside and not row:
            found.append("")
        inside = row
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not row:
            found.append(line)
        elif not set("".join(cells)) <= {"-", ":"}:
            found += [f"   {'* ' if i == 0 else '  '}- {cell or '..'}" for i, cell in enumerate(cells)]
    lines[:] = found


def setup(app):  # type: ignore[no-untyped-def]
    """Register the hooks of this file with Sphinx."""
    app.connect("autodoc-process-docstring", tables_for_sphinx)
