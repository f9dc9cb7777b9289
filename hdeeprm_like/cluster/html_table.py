"""Tables of HTML for notebooks, which show what an object's ``_repr_html_`` returns."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; without titles it has no head, without a caption none."""
    lines = [f"<caption style='white-space: nowrap'>{escape(caption)}</caption>"] if caption else []
    lines += [f"<tr>{''.join(f'<th>{escape(title)}</th>' for title in titles)}</tr>"] if titles else []
    lines += [f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"
