"""A progress bar on a terminal; its library is loaded only for work that takes long enough."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

DELAY = 1.0  # s, before anything is shown
APART = 10.0  # s between two lines in a log


@contextmanager
def progress_bar(
    total: int, shown: bool, unit: str = " jobs", doing: str = "simulating", in_log: bool = False
) -> "Iterator[Callable[..., None]]":
    """Yield a function that shows how many of *total* are done, with an optional note, from the first second on.

    The bar is erased at the end. Where stderr is no terminal there is none, so that a log holds whole lines.

    Args:
        shown: whether anything is shown at all. in_log: whether there is a line each 10 s where stderr is no terminal.
    """
    begin = latest = time.monotonic()
    in_log = in_log and shown and sys.stderr is not None and not sys.stderr.isatty()
    shown = shown and sys.stderr is not None and sys.stderr.isatty()
    bar: tqdm[Any] | None = None

    def show(done: int, note: str = "") -> None:
        nonlocal bar, latest
        if in_log and (now := time.monotonic()) - latest >= APART:
            latest = now
            sys.stderr.write(f"{doing}: {done:,} of at most {total:,}{unit}, {latest - begin:.0f} s\n")
        if bar is None and shown and time.monotonic() - begin > DELAY:
            from tqdm import tqdm

            bar = tqdm(total=total, unit=unit, desc=doing, leave=False)
        if bar is not None:
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(done - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
