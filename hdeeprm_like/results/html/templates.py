"""Pages from templates: what is text is escaped, and a name that a template lacks is an error.

A template stands beside the module that fills it. Its name is its path in the package, ``studies/compare/page.html``.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.html.pictures import drawn

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
