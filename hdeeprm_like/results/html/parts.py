"""The pieces of an HTML report.

Every function takes plain text, which it escapes, or `Html`, which it takes as it is, and returns `Html`. So a piece
can be put into any other one, and what comes from a file of a user never becomes markup by accident.
"""

import base64
import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_bytes, read_text
from hdeeprm_like.results.html.drawings import check_drawing, without_notes

KINDS_OF_PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(text: object) -> Html:
    """Return markup that shows a text; `Html` is returned as it is."""
    return text if isinstance(text, Html) else Html(html.escape(str(text)))


def joined(parts: Iterable[object], between: str = "\n") -> Html:
    """Return pieces one after the other."""
    return Html(between.join(escaped(part) for part in parts))


def element(name: str, *content: object, **attributes: str) -> Html:
    """Return one element; ``class_`` and ``data_x`` stand for ``class`` and ``data-x``."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    told = "".join(f' {names[key]}="{html.escape(value)}"' for key, value in attributes.items() if value)
    return Html(f"<{name}{told}>{joined(content, '')}</{name}>")


def section(title: str, *content: object, anchor: str = "", level: int = 2) -> Html:
    """Return content under a heading of a level from 1 to 6 that links can point to by its anchor."""
    return element("section", element(f"h{level}", title), joined(content), id=anchor)


def paragraph(*content: object) -> Html:
    """Return a paragraph."""
    return element("p", *content)


def link(target: str, text: object) -> Html:
    """Return a link to an address, or to an anchor of this page as ``"#anchor"``."""
    return element("a", text, href=target)


def items(entries: Iterable[object]) -> Html:
    """Return a list with a dot before each entry."""
    return element("ul", joined(element("li", entry) for entry in entries))


def contents(entries: Iterable[tuple[str, str]]) -> Html:
    """Return the table of contents for pairs of anchor and title."""
    return element("nav", items(link(f"#{anchor}", title) for anchor, title in entries))


def badge(text: str, kind: str = "") -> Html:
    """Return a short word on a coloured ground; *kind* is one of good, fair, weak, bad and plain.

    The word says what the colour means, for those who print in grey or see no colours.
    """
    return element("span", text, class_=f"badge {kind or 'plain'}")


def explained(text: object, meaning: str) -> Html:
    """Return text whose meaning is shown where one points at it."""
    return element("abbr", text, title=meaning)


def table(
    titles: Sequence[object],
    rows: Iterable[Sequence[object]],
    caption: object = "",
    numbers: Sequence[int] = (),
    stacked: bool = False,
) -> Html:
    """Return a table; one that is wider than the screen is scrolled by itself.

    Args:
        numbers: columns, counted from 0, whose cells stand on the right.
        stacked: whether narrow screens show a list of its cells for each row, so that no column lies beyond their edge.
    """
    labels = dict(enumerate(map(plain, titles))) if stacked else {}

    def row(cells: Sequence[object], name: str) -> Html:
        aligned = (
            element(
                name,
                cell,
                class_="number" if place in numbers else "",
                data_label=labels.get(place, "") if name == "td" and cell != "" else "",
            )
            for place, cell in enumerate(cells)
        )
        return element("tr", joined(aligned, ""))

    head = element("thead", row(titles, "th"))
    body = element("tbody", joined(row(cells, "td") for cells in rows))
    told = element("caption", caption) if caption else Html()
    return element("div", element("table", told, head, body), class_="scroll stacked" if stacked else "scroll")


def commands(lines: Iterable[str]) -> Html:
    """Return command lines as one can copy them."""
    return element("pre", element("code", "\n".join(lines)))


def details(summary: object, *content: object) -> Html:
    """Return content that is shown when its summary is clicked on, and always on paper."""
    return element("details", element("summary", summary), joined(content))


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


def picture_of(path: Path, caption: object) -> Html:
    """Return a picture with the text that stands below it, which is also read to those who do not see it.

    An SVG becomes part of the page, so it stays sharp at every size; a PNG is put in as it is.

    Raises:
        ResultsError: the file cannot be read or is no PNG or SVG.
    """
    if path.suffix.lower() == ".svg":
        drawn = inline_svg(path, caption)
    else:
        drawn = Html(f'<img src="{data_uri(path)}" alt="{html.escape(plain(caption))}">')
    return element("figure", drawn, element("figcaption", caption))


def inline_svg(path: Path, caption: object = "") -> Html:
    """Return the ``<svg>`` element of a file; its ids get the file's name in front, since a page may hold several.

    Raises:
        ResultsError: the file cannot be read, or holds no picture that this program has drawn.
    """
    found = re.search(r"<svg\b.*</svg>", read_text(path, ResultsError), re.DOTALL)
    if not found:
        raise ResultsError(f"{path}: holds no picture that can be put into a page")
    drawn = without_notes(found[0])
    check_drawing(drawn, path)
    own = re.sub(r"\W", "-", f"{path.parent.name}-{path.stem}")
    drawn = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", drawn)
    label = html.escape(plain(caption) or path.stem)
    return Html(drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))


def plain(content: object) -> str:
    """Return the text of a piece without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", content)) if isinstance(content, Html) else str(content)
