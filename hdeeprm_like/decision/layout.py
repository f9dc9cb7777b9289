"""Meaning of the columns of an observation and of the actions, so that agents need not count columns.

An observation is a row of blocks. A block holds the same features for several things of one kind, one after the other:
for the events ahead, the cores, the nodes, or the jobs in the slots. A network that treats all things of a block alike
has no more weights for a larger machine or a longer queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

JOB, NODE = "job", "node"  # kinds of things that actions can choose


@dataclass(frozen=True)
class Block:
    """Columns with the same features of each of some things.

    Attributes:
        of: kind of the things, such as ``job``; empty for a single thing. count: number of things.
        features: (K,) names of the features of each.
    """

    of: str
    count: int
    features: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of columns of all things together."""
        return self.count * len(self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: ``"job 3 requested time"``, ``"backlog"``."""
        if not self.of:
            return self.features
        return tuple(f"{self.of} {i} {feature}" for i in range(self.count) for feature in self.features)


@dataclass(frozen=True)
class Layout:
    """Observation and actions of an agent; F columns, A actions.

    Attributes:
        shape: of an observation. blocks: of its columns, in their order. actions: (A,) names of the actions.
        slots: number of jobs that actions choose from, M; 0 if actions are policies.
        nodes: number of nodes that actions choose from, N; 1 if they choose none. Action nM + i starts the job in slot
        i on node n; one more action, if any, waits.
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
        """Return the first block of a kind with its columns; None if there is none of that kind."""
        return next((found for found in self.columns if found[0].of == of), None)

    @property
    def waiting(self) -> int:
        """Number of the action that waits, -1 if there is none."""
        return len(self.actions) - 1 if self.slots and len(self.actions) > self.slots * self.nodes else -1


def names_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the names of the columns of some blocks."""
    return tuple(name for block in blocks for name in block.names)


def plain_layout(shape: Sequence[int], actions: Sequence[str]) -> Layout:
    """Return the layout of an observation known only by its shape, such as a user's own."""
    features = tuple(f"feature {i}" for i in range(prod(shape)))
    return Layout(tuple(shape), (Block("", 1, features),), tuple(actions))
