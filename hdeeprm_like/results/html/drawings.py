"""Whether an SVG can be part of a page: it holds what this program draws, and nothing that runs, loads or covers.

An SVG in a folder may be anybody's. In a page it would be markup like any other, so a drawing is taken only if all its
elements are those that matplotlib writes, which neither run nor load anything.
"""

import re
from pathlib import Path

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from hdeeprm_like.errors import ResultsError

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
ELEMENTS = frozenset(("svg", "g", "defs", "path", "use", "style", "clipPath", "rect", "image", "text"))
STYLE_OF_ALL = re.compile(r"\s*\*\{stroke-linejoin: round; stroke-linecap: butt\}\s*")  # reaches beyond the drawing
PROPERTIES = re.compile(r"[\w\s:;.,#()%'\"+-]*", re.ASCII)
COVERING = re.compile(r"position|z-index|content|@|\\|url\((?!#)", re.IGNORECASE)


def without_notes(text: str) -> str:
    """Return a drawing without its metadata and comments, which HTML reads otherwise than XML does."""
    return re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)


def check_drawing(text: str, path: Path) -> None:
    """Refuse a drawing that this program has not drawn.

    Args:
        text: of its element, `without_notes`. path: for messages.

    Raises:
        ResultsError: it holds an element or an attribute that no picture of this program has.
    """
    foreign = f"{path}: holds no picture that this program has drawn"
    if "<!" in text or "<?" in text:
        raise ResultsError(f"{foreign}: an instruction is in it")
    try:
        drawing = fromstring(text)
    except (ParseError, DefusedXmlException, ValueError) as cause:
        raise ResultsError(f"{foreign}: {' '.join(str(cause).split()):.80}") from cause
    for part in drawing.iter():
        element = str(part.tag).removeprefix(SVG)
        if element not in ELEMENTS:
            raise ResultsError(f"{foreign}: the element {element!r:.60} is in it")
        if element == "style" and not STYLE_OF_ALL.fullmatch(part.text or ""):
            raise ResultsError(f"{foreign}: it has a style for the whole page")
        for name, value in part.attrib.items():
            if not is_harmless(name, value):
                raise ResultsError(f"{foreign}: an element has the attribute {name!r:.60}")


def is_harmless(name: str, value: str) -> bool:
    """Return whether an attribute neither runs nor loads anything, nor covers what is outside the drawing."""
    plain = name.removeprefix(XLINK)
    if plain == "href":
        return value.startswith(("#", "data:image/png;base64,"))
    if plain == "style" and not PROPERTIES.fullmatch(value):
        return False
    return "{" not in plain and not plain.lower().startswith("on") and not COVERING.search(value)
