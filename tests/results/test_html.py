"""The pieces of self-contained HTML reports."""

from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results.html.templates import environment, pieces, write_page


class Balanced(HTMLParser):
    """Checks that what opens also closes, and keeps addresses and texts."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.texts, self.ids = [], [], [], []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.addresses += [told[name] for name in ("src", "href", "xlink:href") if name in told]
        self.ids += [told["id"]] if "id" in told else []
        if tag not in ("meta", "img", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(text):
    seen = Balanced()
    seen.feed(text)
    assert seen.open == []
    return seen


def svg(folder, name):
    path = folder / name
    path.write_text('<?xml version="1.0"?><svg width="9"><g id="a"/><use href="#a" style="clip: url(#a)"/></svg>')
    return path


def picture_of(path, caption):
    return pieces().picture(path, caption)


def test_text_never_becomes_markup_and_markup_stays():
    hostile = '<script>alert("1")</script>'
    made = pieces()
    text = made.table([hostile], [[hostile, made.badge(hostile, "good")]], caption=hostile, numbers=[])
    assert "<script" not in text
    assert read(text).texts.count(hostile) == 4
    assert made.link('"><b>', "x") == '<a href="&#34;&gt;&lt;b&gt;">x</a>'


def test_a_number_stands_on_the_right_and_a_stacked_cell_has_its_title():
    text = pieces().table(["policy", "wait"], [["fcfs", "1.5"], ["sjf", ""]], stacked=True)
    assert '<th>policy</th><th class="number">wait</th>' in text
    assert '<td data-label="policy">fcfs</td><td class="number" data-label="wait">1.5</td>' in text
    assert '<td data-label="policy">sjf</td><td class="number"></td>' in text


PAGE = """
{% extends "results/html/page.html" %}
{% from "results/html/pieces.html" import contents, picture, section %}
{% block content %}
{% call section("Part", "part") %}{% for path in paths %}{{ picture(path, "what it shows") }}{% endfor %}{% endcall %}
{{ contents([("part", "Part")]) }}
{% endblock %}
"""


def test_a_page_holds_all_that_it_needs(tmp_path):
    paths = [svg(tmp_path, name) for name in ("one.svg", "two.svg")]
    seen = read(environment().from_string(PAGE).render(title="Title", paths=paths))
    assert all(address.startswith(("#", "data:")) for address in seen.addresses)
    assert len(set(seen.ids)) == len(seen.ids)
    assert {address[1:] for address in seen.addresses if address.startswith("#")} <= set(seen.ids)


def test_a_page_whose_content_lacks_a_name_is_not_written(tmp_path):
    with pytest.raises(UndefinedError, match="'record' is undefined"):
        write_page(tmp_path / "page.html", "studies/compare/page.html", title="Title", windows="3 windows")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("content", ["no picture", "<svg><script>1</script></svg>"])
def test_what_is_no_harmless_picture_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "bad.svg").write_text(content)
    with pytest.raises(ResultsError, match=r"bad\.svg: holds no picture"):
        picture_of(tmp_path / "bad.svg", "")


def drawing(inside="", **more):
    """Return an SVG as matplotlib writes it, with something in it."""
    told = "".join(f' {key}="{value}"' for key, value in more.items())
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9">'
        f'<defs><style type="text/css">*{{stroke-linejoin: round; stroke-linecap: butt}}</style></defs>'
        f'<g id="a"{told}>{inside}</g></svg>'
    )


def test_a_drawing_of_this_program_is_taken(tmp_path):
    from hdeeprm_like.results.pictures import picture

    with picture(tmp_path / "own.svg") as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], label="a < b & c")
        axes.fill_between([0, 1], [0, 1], alpha=0.2)
        axes.imshow([[0.0, 1.0]], extent=(0, 1, 0, 1))
        axes.set_title("<title> -- of it")
        axes.legend()
    assert "<path" in picture_of(tmp_path / "own.svg", "what it shows")
    (tmp_path / "small.svg").write_text(drawing())
    assert "<svg" in picture_of(tmp_path / "small.svg", "")


@pytest.mark.parametrize(
    "content",
    [
        drawing("<script>alert(1)</script>"),
        drawing("<SCRIPT>alert(1)</SCRIPT>"),
        drawing("<foreignObject><p>x</p></foreignObject>"),
        drawing("<a href='https://x.example'>x</a>"),
        drawing("<animate attributeName='href' to='https://x.example'/>"),
        drawing("<image href='https://x.example/seen.png'/>"),
        drawing("<use xlink:href='https://x.example/x.svg#a'/>"),
        drawing("<style>body {display: none}</style>"),
        drawing("<style>@import 'https://x.example/x.css';</style>"),
        drawing("<rect style='fill: url(https://x.example/x)'/>"),
        drawing("<rect style='position: fixed; width: 100%'/>"),
        drawing("<p xmlns='http://www.w3.org/1999/xhtml'>x</p>"),
        drawing("<!--><img src=x onerror=alert(1)>--><title>x</title>"),
        drawing("<?x ><img src=x onerror=alert(1)>?>"),
        drawing("<![CDATA[<img src=x onerror=alert(1)>]]>"),
        drawing("<meta<metadata></metadata>data/>"),
        drawing(onload="alert(1)"),
        drawing(onClick="alert(1)"),
        drawing("<g>"),
    ],
)
def test_what_this_program_has_not_drawn_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "bad.svg").write_text(content)
    with pytest.raises(ResultsError, match=r"bad\.svg: holds no picture that this program has drawn") as told:
        picture_of(tmp_path / "bad.svg", "")
    assert "\n" not in str(told.value)
