"""How the site is built: ``make docs``.

Sphinx is what most scientific Python packages build their pages with, so it is kept up; its search works offline, and a
warning can be made an error. It reads Markdown by MyST. Pages of reference are made from the code's tables, the first
page's player and sentence by `make_landing`. `run_blocks` runs the tutorials and the gallery, and says why it does so.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from make_cards import write_cards  # noqa: E402
from make_gallery import write_gallery  # noqa: E402
from make_landing import write_landing  # noqa: E402
from make_notebooks import write_notebooks  # noqa: E402
from make_reference import write_reference  # noqa: E402
from make_watch import write_watch  # noqa: E402
from run_blocks import filled, results_of  # noqa: E402

import hdeeprm_like  # noqa: E402

project = "hdeeprm_like"
author = "the authors of hdeeprm_like"
project_copyright = author
version = release = hdeeprm_like.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = [
    "_build",
    "__pycache__",
    *(f"reference/made/{name}.md" for name in ("names", "gain", "modes")),
]  # parts
html_theme = "furo"
html_title = f"hdeeprm_like {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("copy.js", {"defer": "defer"}), ("versions.js", {"defer": "defer"})]
# where GitHub's workflow builds the site it knows the repository; elsewhere there is no link to it
if "GITHUB_REPOSITORY" in os.environ:
    where = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{os.environ['GITHUB_REPOSITORY']}/"
    branch = os.environ.get("GITHUB_REF_NAME", "main")
    html_theme_options = {"source_repository": where, "source_branch": branch, "source_directory": "docs/"}
html_show_sourcelink = False
html_copy_source = False
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
add_module_names = False
autodoc_typehints = "none"
napoleon_use_rtype = False
default_role = "code"
suppress_warnings = ["myst.header"]  # pages that are included begin below the first level

MADE = HERE / "reference" / "made"
write_landing(MADE)
write_reference(MADE)
write_gallery(MADE / "gallery.md")
write_cards(MADE / "pictures" / "cards.png")
write_watch(MADE / "pictures" / "watch.png")
# of the guide, with pictures
DRAWN = (
    *("cluster", "policies", "placement", "networks", "experiments", "scale", "spaces", "import", "whatif", "bounded"),
    *("gymnasium", "workloads", "sweep", "predictions", "learned", "batsim"),
)
PLAYED = {f"tutorials/{page.stem}": page for page in sorted((HERE / "tutorials").glob("*.md"))}
PLAYED |= {name: HERE / f"{name}.md" for name in DRAWN}
PLAYED["reference/made/gallery"] = MADE / "gallery.md"
RESULTS = {
    name: results_of(page.read_text(encoding="utf-8"), MADE / "blocks" / f"{page.stem}.json")
    for name, page in PLAYED.items()
}
of_notebooks = {name.removeprefix("tutorials/"): found for name, found in RESULTS.items()}
write_notebooks(HERE / "tutorials", HERE / "_build" / "notebooks", of_notebooks)
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


def with_results(app, name, source):  # type: ignore[no-untyped-def]
    """Put what the blocks of a page printed and drew below them."""
    if name in RESULTS:
        up = "../" * name.count("/")
        stem = PLAYED[name].stem
        source[0] = filled(source[0], RESULTS[name], MADE / "pictures" / stem, f"{up}reference/made/pictures/{stem}")


def setup(app):  # type: ignore[no-untyped-def]
    """Register the hooks of this file with Sphinx."""
    app.connect("source-read", with_results)
    app.connect("autodoc-process-docstring", tables_for_sphinx)
