"""A progress bar that is loaded only where something takes long enough to be shown."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

DELAY = 1.0  # s, before anything is shown


@contextmanager
def progress_bar(
    total: int, shown: bool, unit: str = " jobs", doing: str = "simulating"
) -> "Iterator[Callable[..., None]]":
    """Give what shows how many of *total* are done, and a note if it gets one, from a second on; nothing of it stays.

    Args:
        shown: whether anything is shown at all.
    """
    begin = time.monotonic()
    bar: tqdm[Any] | None = None

    def show(done: int, note: str = "") -> None:
        nonlocal bar
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
