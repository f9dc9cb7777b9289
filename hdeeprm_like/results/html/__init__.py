"""Reports as one HTML file that needs nothing else: no scripts to be read, no files beside it, no net.

`parts` makes the pieces (headings, tables, pictures, commands), `page` puts them into a file with its style, which is
for screens of all widths and for paper.
"""

from hdeeprm_like.results.html.page import page, write_page
from hdeeprm_like.results.html.parts import (
    Html,
    badge,
    commands,
    contents,
    data_uri,
    details,
    element,
    escaped,
    explained,
    items,
    joined,
    link,
    paragraph,
    picture_of,
    section,
    table,
)

__all__ = [
    "Html",
    "badge",
    "commands",
    "contents",
    "data_uri",
    "details",
    "element",
    "escaped",
    "explained",
    "items",
    "joined",
    "link",
    "page",
    "paragraph",
    "picture_of",
    "section",
    "table",
    "write_page",
]
