"""Blocks of a page are run when the site is built, and what they print and draw is put below them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

import run_blocks  # noqa: E402
from make_gallery import QUESTIONS, write_gallery  # noqa: E402
from make_notebooks import cells_of  # noqa: E402
from run_blocks import MOST_LINES, Result, filled, results_of, shortened  # noqa: E402

from hdeeprm_like.results.plots import PICTURES, SEVERAL  # noqa: E402

PNG = "iVBORw0KGgo="
PAGE = """# Page

```python
from pathlib import Path
value = 6 * 7
print(value)
```

Words.

```python
Path("drawn.png").write_bytes(b"picture")
print(value + 1)
```

```text
43
```
"""


def test_a_block_gets_its_output_unless_the_page_shows_one_and_its_pictures(tmp_path):
    results = results_of(PAGE, tmp_path / "page.json")
    assert [result.printed for result in results] == ["42\n", "43\n"]
    text = filled(PAGE, results, tmp_path / "pictures", "pictures")
    assert "print(value)\n```\n\n```text\n42\n```\n\nWords." in text
    assert text.count("```text\n43\n```") == 1
    assert text.rstrip().endswith("![drawn](pictures/drawn.png)")
    assert (tmp_path / "pictures" / "drawn.png").read_bytes() == b"picture"


def test_a_page_is_run_again_only_where_a_block_or_the_package_changed(tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(run_blocks, "run", lambda blocks: runs.append(None) or [Result("a\n"), Result("b\n")])
    kept = tmp_path / "page.json"
    assert results_of(PAGE, kept) == results_of(PAGE.replace("Words", "Other words"), kept)
    assert len(runs) == 1
    results_of(PAGE.replace("6 * 7", "6 * 8"), kept)
    assert len(runs) == 2
    monkeypatch.setattr(run_blocks, "sources", lambda: "other")
    results_of(PAGE.replace("6 * 7", "6 * 8"), kept)
    assert len(runs) == 3


def test_a_block_that_fails_ends_the_build_with_what_it_said(tmp_path):
    with pytest.raises(RuntimeError, match="no such thing"):
        results_of("```python\nraise ValueError('no such thing')\n```\n", tmp_path / "page.json")
    assert not (tmp_path / "page.json").exists()


def test_a_long_output_is_cut_in_its_middle():
    lines = [str(number) for number in range(MOST_LINES)]
    assert shortened("\n".join(lines)).splitlines() == lines
    cut = shortened("\n".join([*lines, "end"])).splitlines()
    assert len(cut) == MOST_LINES + 1
    assert (cut[0], cut[MOST_LINES // 2], cut[-1]) == ("0", "...", "end")


def test_a_notebook_has_the_outputs_in_its_cells():
    cells = cells_of(PAGE, [Result("42\n"), Result("43\n", {"drawn.png": PNG})])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["outputs"][0]["text"] for cell in code] == ["42\n", "43\n"]
    assert code[1]["outputs"][1]["data"] == {"image/png": PNG}
    assert not any("43" in cell["source"] for cell in cells)
    assert [cell["outputs"] for cell in cells_of(PAGE) if cell["cell_type"] == "code"] == [[], []]


def test_the_gallery_has_every_kind_of_picture_below_a_question(tmp_path):
    write_gallery(tmp_path / "gallery.md")
    text = (tmp_path / "gallery.md").read_text()
    assert text.count("\n## ") == len(QUESTIONS)
    for kind in (*PICTURES, *SEVERAL):
        assert f"hdeeprm-like visual {kind} --run" in text
