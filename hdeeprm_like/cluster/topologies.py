"""Fat trees, tori and dragonflies: their links, and the way between two of their leaves.

Parameters are those of SimGrid's ``topo_parameters``, and the ways are the ones that SimGrid takes:

| topology | parameters | example | way |
|---|---|---|---|
| `FAT_TREE` | levels; children per node of each level; parents; parallel links | `2;4,4;1,2;1,2` | D-mod-k |
| `TORUS` | size of each dimension | `4,4,2` | one dimension after the other, the shorter way around |
| `DRAGONFLY` | groups, links; chassis, links; routers, links; leaves of a router | `3,4;4,3;5,1;2` | minimal |

Links have two directions, each with the whole bandwidth, times the number of parallel links in a dragonfly.

Source: SimGrid 3.32, `FatTreeZone`, `TorusZone` and `DragonflyZone`, and routes queried from it.
"""

from collections.abc import Callable
from math import prod

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.records import Record

MOST_LEAVES = 1 << 16
MOST_LINKS = 1 << 18  # a larger topology takes seconds and hundreds of MB
UP, DOWN = 0, 1  # directions of a link, at 2 * link + direction


class Topology(Record):
    """Leaves and the links between them.

    Attributes:
        leaves: their number, the first nodes. factors: of the bandwidth of each link.
        heads: the node at the end of each link in each direction.
        near: leaves of a part of the network, a switch, ring or group, which begin at its multiples.
        way: returns the links from one leaf to another, in order, with directions.
    """

    leaves: int
    factors: tuple[float, ...]
    heads: tuple[int, ...]
    near: int
    way: Callable[[int, int], list[int]]

    @property
    def nodes(self) -> int:
        """Number of leaves, switches and routers."""
        return max(self.leaves, 1 + max(self.heads, default=0))


def topology_of(kind: str, parameters: str, before: int = 0) -> Topology:
    """Return a topology.

    Args:
        before: leaves of the fat trees before this one; SimGrid counts on, and ways follow from the number of a leaf.

    Raises:
        PlatformError: there is no such kind, or the parameters are not of that form.
    """
    if kind not in TOPOLOGIES:
        raise PlatformError(f"topology {kind!r:.40} is not known; one of {', '.join(TOPOLOGIES)} is needed")
    form, make = TOPOLOGIES[kind]
    try:
        groups = [[int(word) for word in part.split(",")] for part in parameters.replace(" ", "").split(";")]
        if min(min(group) for group in groups) < 1:
            raise ValueError
        found = fat_tree(groups, before) if make is fat_tree else make(groups)
    except (ValueError, IndexError):
        raise PlatformError(f"topology {kind}: {parameters!r:.60} is not of the form {form}") from None
    return found


def _check(leaves: int, links: int) -> None:
    """Raise, before anything is made, if a topology is too large."""
    for count, most, what in ((leaves, MOST_LEAVES, "leaves"), (links, MOST_LINKS, "links")):
        if count > most:
            raise PlatformError(f"a topology has more than {most:,} {what}, the most that are possible")


# --- fat trees


def fat_tree(groups: list[list[int]], before: int = 0) -> Topology:
    """Return a fat tree; its nodes have labels, and a node is linked to those above that differ in one digit only."""
    (levels,), children, parents, parallel = groups
    if not len(children) == len(parents) == len(parallel) == levels:
        raise ValueError
    sizes = [prod(parents[:i]) * prod(children[i:]) for i in range(levels + 1)]
    _check(sizes[0], sum(size * up * wires for size, up, wires in zip(sizes, parents, parallel, strict=False)))
    label = [_labels([parents[d] if d < level else children[d] for d in range(levels)]) for level in range(levels + 1)]
    links: dict[tuple[int, int, int], int] = {}  # level, node, number of the link above: the link
    below: list[dict[tuple[int, int], tuple[int, int]]] = [{} for _ in range(levels + 1)]  # the first link, the child
    heads: list[int] = []
    for level in range(levels):
        place = {one: number for number, one in enumerate(label[level + 1])}
        for node, own in enumerate(label[level]):
            for port in range(parents[level]):
                parent = place[(*own[:level], port, *own[level + 1 :])]
                below[level + 1][parent, own[level]] = len(links), node
                for also in range(parallel[level]):
                    links[level, node, port + also * parents[level]] = len(links)
                    heads += [sum(sizes[: level + 1]) + parent, sum(sizes[:level]) + node]

    place_of = [{one: number for number, one in enumerate(labels)} for labels in label]

    def way(source: int, destination: int) -> list[int]:
        found: list[int] = []
        target, level, node = label[0][destination], 0, source
        while level == 0 or label[level][node][level:] != target[level:]:
            number = (before + destination) // prod(parents[:level]) % (parents[level] * parallel[level])
            found.append(2 * links[level, node, number] + UP)
            own, port = label[level][node], number % parents[level]
            node, level = place_of[level + 1][(*own[:level], port, *own[level + 1 :])], level + 1
        while level > 0:
            cable = (before + source) % parallel[level - 1] * children[level - 1]
            while level > 0 and cable < children[level - 1] * parallel[level - 1]:  # goes on below, as in SimGrid
                if cable % children[level - 1] == target[level - 1]:
                    first, node = below[level][node, target[level - 1]]
                    found.append(2 * (first + cable // children[level - 1]) + DOWN)
                    level -= 1
                cable += 1
        return found

    return Topology(sizes[0], (1.0,) * len(links), tuple(heads), children[0], way)


def _labels(most: list[int]) -> list[tuple[int, ...]]:
    """Return the digits of all numbers whose digits stay below some numbers, the first digit counting fastest."""
    found: list[tuple[int, ...]] = [()]
    for size in most:
        found = [(*one, digit) for digit in range(size) for one in found]
    return found


# --- tori


def torus(groups: list[list[int]]) -> Topology:
    """Return a torus; link *d* of each leaf leads to the next one in dimension *d*."""
    (sizes,) = groups
    leaves = prod(sizes)
    _check(leaves, leaves * len(sizes))
    steps = [prod(sizes[:d]) for d in range(len(sizes))]

    def way(source: int, destination: int) -> list[int]:
        found: list[int] = []
        for d, (size, step) in enumerate(zip(sizes, steps, strict=True)):
            here, there = source // step % size, destination // step % size
            half = size // 2
            right = here < there <= here + half or (here > half and (here + half) % size >= there)
            at = source
            while at // step % size != there:
                place = at // step % size
                after = at + step * ((place + (1 if right else -1)) % size - place)
                found.append(2 * ((at if right else after) * len(sizes) + d) + (UP if right else DOWN))
                at = after
            source = at
        return found

    heads: list[int] = []
    for leaf in range(leaves):
        for size, step in zip(sizes, steps, strict=True):
            place = leaf // step % size
            heads += [leaf + step * ((place + 1) % size - place), leaf]
    return Topology(leaves, (1.0,) * (leaves * len(sizes)), tuple(heads), sizes[0], way)


# --- dragonflies


def dragonfly(parts: list[list[int]]) -> Topology:
    """Return a dragonfly: groups of chassis of routers; router *g* of the first chassis is linked to group *g*."""
    (groups, blue), (chassis, black), (routers, green), (leaves,) = parts
    each = chassis * routers
    total = groups * each * leaves
    of_chassis = groups * (chassis * routers * (routers - 1) + routers * chassis * (chassis - 1)) // 2
    _check(total, total + of_chassis + groups * (groups - 1) // 2)
    if groups > routers:
        raise PlatformError(f"topology DRAGONFLY: {groups} groups need as many routers in a chassis, not {routers}")
    factors = [1.0] * total
    heads = [node for leaf in range(total) for node in (total + leaf // leaves, leaf)]
    number: dict[tuple[str, int, int], int] = {}

    def connect(colour: str, one: int, other: int, factor: int) -> None:
        number[colour, one, other] = 2 * len(factors) + UP
        number[colour, other, one] = 2 * len(factors) + DOWN
        factors.append(float(factor))
        heads.extend((total + other, total + one))

    for first in range(0, groups * each, routers):
        for j in range(routers):
            for k in range(j + 1, routers):
                connect("green", first + j, first + k, green)
    for first in range(0, groups * each, each):
        for j in range(chassis):
            for k in range(j + 1, chassis):
                for blade in range(routers):
                    connect("black", first + j * routers + blade, first + k * routers + blade, black)
    for g in range(groups):
        for h in range(g + 1, groups):
            connect("blue", g * each + h, h * each + g, blue)

    def way(source: int, destination: int) -> list[int]:
        here, there = source // leaves, destination // leaves
        found, at = [2 * source + UP], here

        def go(colour: str, to: int) -> None:
            nonlocal at
            found.append(number[colour, at, to])
            at = to

        group = there // each
        if here // each != group:
            own = here // each * each
            if at % routers != group:
                go("green", at - at % routers + group)
            if at - own >= routers:
                go("black", own + group)
            go("blue", group * each + here // each)
        if at % routers != there % routers:
            go("green", at - at % routers + there % routers)
            at = there // each * each + there % routers  # SimGrid goes on from the first chassis, without a link to it
        if at != there:
            go("black", there)
        return [*found, 2 * destination + DOWN]

    return Topology(total, tuple(factors), tuple(heads), each * leaves, way)


TOPOLOGIES = {
    "FAT_TREE": ("LEVELS;CHILDREN,...;PARENTS,...;PARALLEL LINKS,...", fat_tree),
    "TORUS": ("SIZE,SIZE,...", torus),
    "DRAGONFLY": ("GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;LEAVES", dragonfly),
}
