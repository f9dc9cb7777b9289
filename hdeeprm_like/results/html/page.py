"""One HTML file out of pieces, with the style that all reports share."""

from pathlib import Path

from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.html.parts import Html, element, escaped, joined

STYLE = """
:root { --text: #1b1b1b; --soft: #5a5a5a; --line: #d9d9d9; --ground: #f6f7f8; --link: #00528f; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 76rem; color: var(--text); background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 2.4rem 0 .6rem; border-top: 1px solid var(--line);
  padding-top: 1.2rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p, ul { margin: .4rem 0 .8rem; max-width: 60rem; }
ul { padding-left: 1.3rem; }
a { color: var(--link); }
nav ul { columns: 22rem; list-style: none; padding: 0; font-size: .92rem; }
nav li { break-inside: avoid; }
.scroll { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .28rem .6rem; border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--soft); background: #fff; }
tbody tr:nth-child(even) { background: var(--ground); }
td { max-width: 26rem; }
.number { text-align: right; }
figure { margin: .8rem 0 1.4rem; break-inside: avoid; }
figure svg, figure img { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 60rem; }
pre { background: var(--ground); border: 1px solid var(--line); padding: .6rem .8rem; overflow-x: auto;
  font-size: .84rem; line-height: 1.45; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
details { margin: .4rem 0 1rem; }
summary { cursor: pointer; color: var(--link); }
abbr[title] { text-decoration: underline dotted; text-underline-offset: .2em; cursor: help; }
.badge { display: inline-block; padding: 0 .5em; border-radius: .25em; white-space: nowrap; border: 1px solid;
  font-size: .95em; }
.badge.good { background: #d9f0e3; border-color: #1d7a4d; color: #0c4a2c; }
.badge.fair { background: #e3f0d0; border-color: #5d7f1e; color: #364c0d; }
.badge.weak { background: #fdf0cd; border-color: #9a7406; color: #5f4700; }
.badge.bad { background: #f9dcd6; border-color: #b23a1e; color: #7a2410; }
.badge.plain { background: #eceef0; border-color: #8a9099; color: #3d434b; }
@media (max-width: 640px) {
  body { font-size: 15px; padding: .8rem .7rem 2rem; }
  h1 { font-size: 1.35rem; }
  th, td { padding: .25rem .4rem; }
}
@media screen and (max-width: 640px) {
  figure { overflow-x: auto; }
  figure :is(svg, img) { max-width: none; width: 40rem; }
  .stacked :is(table, tbody, tr, td, caption) { display: block; }
  .stacked thead, .stacked td:empty { display: none; }
  .stacked tr { padding: .35rem .4rem; border-bottom: 1px solid var(--line); }
  .stacked td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .05rem 0; max-width: none;
    overflow-wrap: anywhere; }
  .stacked td:first-child { font-weight: 600; }
  .stacked td:not(:first-child)::before { content: attr(data-label); color: var(--soft);
    text-align: left; flex: none; max-width: 40%; }
}
@media print {
  @page { size: A4; margin: 14mm 12mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  table { font-size: 7.6pt; }
  .scroll, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  th, td { padding: .15rem .3rem; }
  tr, .badge { break-inside: avoid; }
  thead { display: table-header-group; }
  h2, h3, caption, thead { break-after: avoid; }
  tbody tr:first-child { break-before: avoid; }
  a { color: inherit; text-decoration: none; }
  details > summary { list-style: none; }
  details::details-content { content-visibility: visible; height: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .screen { display: none; }
}
"""


def page(title: str, *content: object, script: str = "", style: str = "") -> Html:
    """Return a whole page.

    Args:
        script: of a viewer in it; all that is text must be readable without it.
        style: rules of that viewer.
    """
    head = joined(
        (
            Html('<meta charset="utf-8">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html('<link rel="icon" href="data:,">'),  # else browsers ask for one, and complain where there is none
            element("title", title),
            Html(f"<style>{STYLE}{style}</style>"),
        )
    )
    run = Html(f"<script>{script}</script>") if script else Html()
    body = joined((element("h1", title), *content, run))
    return Html(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{escaped(body)}\n</body>\n</html>\n'
    )


def write_page(path: Path, text: Html) -> None:
    """Write a page in the place of *path*.

    Raises:
        ResultsError: it cannot be written.
    """
    with replacing(path) as file:
        file.write(text)
