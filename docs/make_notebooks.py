"""The tutorials as notebooks: each block of commands or of Python becomes a cell with what it printed and drew."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from run_blocks import BLOCK, Result


def write_notebooks(pages: Path, folder: Path, results: Mapping[str, Sequence[Result]] | None = None) -> None:
    """Write a notebook for each page of a folder.

    Args:
        results: of the blocks of each page, by its name; cells have no outputs without them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        cells = cells_of(page.read_text("utf-8"), (results or {}).get(page.stem))
        notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
        (folder / f"{page.stem}.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def cells_of(text: str, results: Sequence[Result] | None = None) -> list[dict[str, Any]]:
    """Return the cells of a page."""
    cells = []
    parts = BLOCK.split(text)  # words, language, code, shown output, words, ...
    for i in range(0, len(parts), 4):
        words = re.sub(r"^!\[.*\n", "", parts[i], flags=re.MULTILINE).strip()  # pictures lie elsewhere
        if words:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": words})
        if i + 1 < len(parts):
            code = parts[i + 2].strip()
            if parts[i + 1] == "sh":
                code = re.sub("^", "!", code, flags=re.MULTILINE)
            made = outputs_of(results[i // 4]) if results is not None else []
            cells.append(
                {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": made, "source": code}
            )
    return cells


def outputs_of(result: Result) -> list[dict[str, Any]]:
    """Return what a block printed and drew as a notebook has it."""
    found: list[dict[str, Any]] = []
    if result.printed:
        found.append({"output_type": "stream", "name": "stdout", "text": result.printed})
    for content in result.pictures.values():
        found.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": content}})
    return found
