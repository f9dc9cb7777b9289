"""The tutorials as notebooks: each block of commands or of Python becomes a cell; tests run the blocks of the pages."""

import json
import re
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)


def write_notebooks(pages: Path, folder: Path) -> None:
    """Write a notebook for each page of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells_of(page.read_text("utf-8"))}
        (folder / f"{page.stem}.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def cells_of(text: str) -> list[dict[str, Any]]:
    """Return the cells of a page."""
    cells = []
    parts = BLOCK.split(text)  # words, language, code, words, ...
    for i in range(0, len(parts), 3):
        words = re.sub(r"^!\[.*\n", "", parts[i], flags=re.MULTILINE).strip()  # pictures lie elsewhere
        if words:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": words})
        if i + 1 < len(parts):
            code = parts[i + 2].strip()
            if parts[i + 1] == "sh":
                code = re.sub("^", "!", code, flags=re.MULTILINE)
            cells.append({"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": code})
    return cells
