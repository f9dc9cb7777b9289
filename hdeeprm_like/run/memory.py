"""The memory of runs: the arrays of each one in one block, aligned to cache lines, so that a fork is one copy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.run.loop import Run

LINE, WORD = 64, 16  # bytes, alignment of the blocks of runs and of the columns in them


def in_lines(rows: int, size: int) -> NDArray[np.uint8]:
    """Return rows of at least *size* bytes, aligned to cache lines, each in another cache set."""
    lines = -(-size // LINE) | 1
    memory = np.zeros((rows * lines + 1) * LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    return memory[first : first + rows * lines * LINE].reshape(rows, lines * LINE)


def own_fields(bundle: Bundle) -> Iterator[tuple[str, Any]]:
    """Yield the name and the content of each field that each run of a batch has for itself.

    A run without baselines neither reads nor writes what these remember.
    """
    for name, content in bundle.fields():
        if name not in bundle.shared and not (isinstance(content, Plans) and len(content.plans) == 0):
            yield name, content


def arrays_of(bundle: Bundle) -> Iterator[NDArray[Any]]:
    """Yield the arrays that each run of a batch has for itself."""
    for _, content in own_fields(bundle):
        if isinstance(content, Bundle):
            yield from arrays_of(content)
        else:
            yield content


def are_written_first(bundle: Bundle) -> Iterator[bool]:
    """Yield for each of these arrays whether it is written before it is read."""
    for name, content in own_fields(bundle):
        if isinstance(content, Bundle):
            yield from are_written_first(content)
        else:
            yield name in bundle.written_first


def with_arrays(bundle: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    """Return a run with other arrays in place of those that `arrays_of` yields."""
    parts = dict(bundle.fields())
    for name, content in own_fields(bundle):
        parts[name] = with_arrays(content, arrays) if isinstance(content, Bundle) else next(arrays)
    return type(bundle)(**parts)


def copy_run(source: Bundle, target: Bundle) -> None:
    """Copy the state of a run into another run of the same space, platform and jobs; arrays are made as long."""
    for name, content in source.fields():
        mine = getattr(target, name)
        if isinstance(content, Bundle):
            copy_run(content, mine)
        elif name in source.shared:
            continue
        elif mine.shape == content.shape:
            mine[...] = content
        else:
            setattr(target, name, np.array(content))


def bundles_of(bundle: Bundle) -> Iterator[Bundle]:
    """Yield the bundles within a run that it has for itself, then the run itself."""
    for _, content in own_fields(bundle):
        if isinstance(content, Bundle):
            yield from bundles_of(content)
    yield bundle


def put_notes_together(runs: list[Run]) -> None:
    """Move the records of each run (the addresses of its arrays) side by side, aligned to cache lines.

    Every decision reads most of them; scattered ones cost about 6 % of the time of many environments.
    """
    words = sum(len(bundle._words) for bundle in bundles_of(runs[0]))
    for run, line in zip(runs, in_lines(len(runs), words * 8).view(np.int64), strict=True):
        at = 0
        for bundle in bundles_of(run):
            notes = line[at : at + len(bundle._words)]
            at += len(notes)
            bundle.move_notes(notes)
            for name, content in bundle.fields():
                if isinstance(content, Bundle):
                    bundle._note(name, content)


def stack(
    arrays: Sequence[NDArray[Any]], unread: Sequence[bool], count: int
) -> tuple[NDArray[np.uint8], list[NDArray[Any]], int]:
    """Return memory for the arrays of *count* runs, filled with those of one run.

    Args:
        arrays: of one run. unread: which of them are written before they are read.

    Returns:
        (count, n) bytes, a block for each run; (count, ...) each array of all runs, as views of them; and the number of
        bytes of a block before the first of the arrays that are written before they are read.
    """
    # arrays of whole lines come first, so that they begin at lines
    order = sorted(range(len(arrays)), key=lambda i: (unread[i], arrays[i].itemsize % LINE > 0))
    sizes = np.array([-(-arrays[i].nbytes // WORD) * WORD for i in order])
    ends = np.cumsum(sizes)
    begun = dict(zip(order, (ends - sizes).tolist(), strict=True))
    blocks = in_lines(count, int(ends[-1]))
    stacked = []
    for i, array in enumerate(arrays):
        steps = (blocks.shape[1], *array.strides)
        many = np.ndarray((count, *array.shape), array.dtype, blocks.data, begun[i], steps)
        many[:] = array
        stacked.append(many)
    return blocks, stacked, int(ends[list(unread).count(False) - 1])
