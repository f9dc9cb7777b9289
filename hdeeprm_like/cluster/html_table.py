"""Tables of HTML for notebooks, which show what an object's ``_repr_html_`` returns."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; without titles it has no head."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    lines = (f"<caption>{escape(caption)}</caption>" if caption else "", f"<tr>{head}</tr>" if head else "")
    return f"<table>{''.join(lines)}{''.join(f'<tr>{row}</tr>' for row in body)}</table>"
