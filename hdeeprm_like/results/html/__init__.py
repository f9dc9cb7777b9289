"""Reports as one HTML file that needs nothing else: no scripts to be read, no files beside it, no net.

``page.html`` is what all extend, with the style for screens of all widths and for paper; ``pieces.html`` has the macros
for tables, pictures and the like; `templates` fills a template.
"""

from hdeeprm_like.results.html.pictures import data_uri
from hdeeprm_like.results.html.templates import pieces, rendered, write_page

__all__ = ["data_uri", "pieces", "rendered", "write_page"]
