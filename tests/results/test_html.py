"""The pieces of self-contained HTML reports."""

import pytest
from jinja2 import UndefinedError
from pages import Page

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results.html import environment, pieces, write_page


def svg(folder, name):
    path = folder / name
    path.write_text('<?xml version="1.0"?><svg width="9"><g id="a"/><use href="#a" style="clip: url(#a)"/></svg>')
    return path


KINDS = {".svg": "data:image/svg+xml", ".png": "data:image/png"}


def picture_of(path, caption):
    return pieces().picture(path, caption)


def test_text_never_becomes_markup_and_markup_stays():
    hostile = '<script>alert("1")</script>'
    made = pieces()
    text = made.table([hostile], [[hostile, made.badge(hostile, "good")]], caption=hostile, numbers=[])
    assert "<script" not in text
    assert Page(text).texts.count(hostile) == 4
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
    seen = Page(environment().from_string(PAGE).render(title="Title", paths=paths))
    assert all(address.startswith(("#", "data:")) for address in seen.addresses)
    assert {address[1:] for address in seen.addresses if address.startswith("#")} <= set(seen.ids)


def test_a_page_whose_content_lacks_a_name_is_not_written(tmp_path):
    with pytest.raises(UndefinedError, match="'record' is undefined"):
        write_page(tmp_path / "page.html", "studies/compare/page.html", title="Title", windows="3 windows")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["own.svg", "own.png"])
def test_a_picture_is_an_image_which_neither_runs_nor_loads_anything(name, tmp_path):
    (tmp_path / name).write_text('<svg><script>alert("1")</script></svg>')
    text = picture_of(tmp_path / name, 'a "caption"')
    assert "<svg" not in text
    assert [address.partition(";")[0] for address in Page(text).addresses] == [KINDS[name[-4:]]]
    assert 'alt="a &#34;caption&#34;"' in text


def test_another_file_is_no_picture(tmp_path):
    with pytest.raises(ResultsError, match=r"own\.html: only \.png and \.svg can be put into a page"):
        picture_of(tmp_path / "own.html", "")
