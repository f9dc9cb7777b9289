"""What each column of an observation is, and what each action does: so that agents need not count columns.

An observation is a row of blocks. A block tells the same of several things of one kind, one after the other: of the
events ahead, the cores, the nodes, the jobs in the slots. A network that treats all things of a block alike has no more
weights for a larger machine or a longer queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

JOB, NODE = "job", "node"  # kinds of things that actions choose


@dataclass(frozen=True)
class Block:
    """Columns that tell the same of each of some things.

    Attributes:
        of: kind of the things, as ``job``; empty for what there is one of. count: how many things there are.
        features: (K,) names of what is told of each.
    """

    of: str
    count: int
    features: tuple[str, ...]

    @property
    def width(self) -> int:
        """Columns of all things together."""
        return self.count * len(self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: ``"job 3 requested time"``, ``"backlog"``."""
        if not self.of:
            return self.features
        return tuple(f"{self.of} {i} {feature}" for i in range(self.count) for feature in self.features)


@dataclass(frozen=True)
class Layout:
    """What an agent sees and can do; F columns, A actions.

    Attributes:
        shape: of an observation. blocks: of its columns, in their order. actions: (A,) their names.
        slots: jobs that actions choose from, M; 0 where actions are policies.
        nodes: that an action chooses one of, N; 1 where it chooses none. Action n M + i starts the job in slot i on
            node n; one more action, if there is any, waits.
    """

    shape: tuple[int, ...]
    blocks: tuple[Block, ...]
    actions: tuple[str, ...] = field(repr=False)
    slots: int = 0
    nodes: int = 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(F,) names of the columns, of an image row by row."""
        return names_of(self.blocks)

    @cached_property
    def columns(self) -> tuple[tuple[Block, slice], ...]:
        """Each block with its columns."""
        found, at = [], 0
        for block in self.blocks:
            found.append((block, slice(at, at + block.width)))
            at += block.width
        return tuple(found)

    def block(self, of: str) -> tuple[Block, slice] | None:
        """Return the first block of a kind with its columns; None if nothing of that kind is shown."""
        return next((found for found in self.columns if found[0].of == of), None)

    @property
    def waiting(self) -> int:
        """Number of the action that waits, -1 if there is none."""
        return len(self.actions) - 1 if self.slots and len(self.actions) > self.slots * self.nodes else -1


def names_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the names of the columns of blocks."""
    return tuple(name for block in blocks for name in block.names)


def plain_layout(shape: Sequence[int], actions: Sequence[str]) -> Layout:
    """Return the layout of an observation of which nothing is known but its shape, such as one of the user's own."""
    features = tuple(f"feature {i}" for i in range(prod(shape)))
    return Layout(tuple(shape), (Block("", 1, features),), tuple(actions))
