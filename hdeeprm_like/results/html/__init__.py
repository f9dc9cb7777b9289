"""Reports as one HTML file that needs nothing else: no scripts to be read, no files beside it, no net.

A template stands beside the module that fills it. Its name is its path in the package, ``studies/compare/page.html``.
What is text is escaped, and a name that a template lacks is an error. ``page.html`` is what all extend, with the style
for screens of all widths and for paper; ``pieces.html`` has the macros for tables, pictures and the like.
"""

import base64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.inputs import read_bytes

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

KINDS_OF_PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}


def drawn(path: Path, caption: str) -> "Markup":
    """Return a picture that holds itself, with a text that is read to those who do not see it.

    An SVG may be anybody's. As an image, other than as markup of the page, it neither runs nor loads anything, and
    covers nothing outside its frame.

    Raises:
        ResultsError: the file cannot be read or is no PNG or SVG.
    """
    from markupsafe import Markup

    kind = KINDS_OF_PICTURES.get(path.suffix.lower())
    if kind is None:
        raise ResultsError(f"{path}: only .png and .svg can be put into a page")
    data = base64.b64encode(read_bytes(path, ResultsError)).decode()
    return Markup('<img src="data:{};base64,{}" alt="{}">').format(kind, data, caption)


PACKAGE = Path(__file__).parents[2]


@cache
def environment() -> "Environment":
    """Return what finds and fills templates."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only what writes a page needs it

    made = Environment(
        loader=FileSystemLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.globals["drawn"] = drawn
    return made


def rendered(template: str, **content: Any) -> "Markup":
    """Return a template filled with content, as markup that another template takes as it is.

    Raises:
        ResultsError: a picture cannot be read.
    """
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(content))


def pieces() -> Any:
    """Return the macros of ``pieces.html`` as functions, for what is made in Python."""
    return environment().get_template("results/html/pieces.html").module


def write_page(path: Path, template: str, **content: Any) -> None:
    """Write a filled template in the place of *path*.

    Raises:
        ResultsError: a picture cannot be read, or the page cannot be written.
    """
    text = rendered(template, **content)
    with replacing(path) as file:
        file.write(text + "\n")
