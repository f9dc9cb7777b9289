"""A comparison as a table of pandas that a notebook shows as the command ``compare`` prints it."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hdeeprm_like.cluster.html_table import html_table
from hdeeprm_like.studies.compare.inputs import Comparison
from hdeeprm_like.studies.compare.run import run_comparison
from hdeeprm_like.studies.compare.statistics import OF_TESTS
from hdeeprm_like.studies.compare.text import difference_lines, summary_lines


class Compared(pd.DataFrame):
    """The summary of a comparison, a row for each policy; what is taken from it is a usual table.

    Attributes:
        tests: of `statistics.p_values_of`. shown: the figures that a notebook shows, the first of which ranks.
    """

    _metadata = ("tests", "shown")
    tests: pd.DataFrame
    shown: Sequence[str]

    def _repr_html_(self) -> str:
        rows = [{str(name): value for name, value in row.items()} for row in self.to_dict("records")]
        tables = [("", summary_lines(rows, self.shown))]
        if len(rows) > 1:
            tables.append((f"Against {rows[0]['reference']}", difference_lines(rows, self.shown)))
        return "".join(html_table(title, lines[0], lines[1:]) for title, lines in tables)


def compare(
    comparison: Comparison,
    output: Path,
    processes: int | None = None,
    pictures: Sequence[str] = (),
    style: str | None = None,
) -> Compared:
    """Run a comparison as `run_comparison` does, without a progress bar, and return the summary as a table."""
    summary, tests = run_comparison(comparison, output, processes, False, pictures, style)
    found = Compared(summary)
    found.tests, found.shown = pd.DataFrame(tests, columns=list(OF_TESTS)), comparison.shown
    return found
