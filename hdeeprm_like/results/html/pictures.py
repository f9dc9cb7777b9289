"""Pictures of files as parts of a page."""

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_bytes, read_text
from hdeeprm_like.results.html.drawings import check_drawing, without_notes

if TYPE_CHECKING:
    from markupsafe import Markup

KINDS_OF_PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}


def data_uri(path: Path) -> str:
    """Return the address that holds a picture itself.

    Raises:
        ResultsError: the file cannot be read or is no PNG or SVG.
    """
    kind = KINDS_OF_PICTURES.get(path.suffix.lower())
    if kind is None:
        raise ResultsError(f"{path}: only .png and .svg can be put into a page")
    data = read_bytes(path, ResultsError)
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def drawn(path: Path, caption: str) -> "Markup":
    """Return a picture with a text that is read to those who do not see it.

    An SVG becomes part of the page, so it stays sharp at every size; a PNG is put in as it is.

    Raises:
        ResultsError: the file cannot be read, is no PNG or SVG, or is an SVG that this program has not drawn.
    """
    from markupsafe import Markup

    if path.suffix.lower() == ".svg":
        return Markup(inline_svg(path)).replace("<svg ", Markup('<svg role="img" aria-label="{}" ').format(caption), 1)
    return Markup('<img src="{}" alt="{}">').format(data_uri(path), caption)


def inline_svg(path: Path) -> str:
    """Return the ``<svg>`` element of a file; its ids get the file's name in front, since a page may hold several.

    Raises:
        ResultsError: the file cannot be read, or holds no picture that this program has drawn.
    """
    found = re.search(r"<svg\b.*</svg>", read_text(path, ResultsError), re.DOTALL)
    if not found:
        raise ResultsError(f"{path}: holds no picture that can be put into a page")
    text = without_notes(found[0])
    check_drawing(text, path)
    own = re.sub(r"\W", "-", f"{path.parent.name}-{path.stem}")
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", text)
