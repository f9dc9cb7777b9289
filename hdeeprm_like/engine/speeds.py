"""The speeds of nodes that follow a file: which share of its speed each processor has, and when that changes next.

All nodes with one file change at once, so the next date is kept for each file. Only Batsim's clock follows files, see
`batsim_network`.
"""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.speed_profiles import NO_FILES, NO_PROFILE
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined
from hdeeprm_like.engine.cores import begin_words
from hdeeprm_like.engine.joined_words import head_of
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import bits, of_pstate
from hdeeprm_like.types import Floats, Ints, Records

PROFILE = np.dtype(
    [
        ("first", "i8"),  # of its changes in Speeds.steps; they end where those of the next profile begin
        ("end", "i8"),
        ("next", "i8"),  # the change that comes next
        ("date", "f8"),  # s, when; infinite after the last one
        ("again", "f8"),  # s from the last change to the beginning of the next round, 0 for one round
        ("share", "f8"),  # of the full speed, now
        ("changed", "i8"),  # 1 if it was among the latest to change
    ],
    align=True,
)

CHANGES = np.dtype(
    [
        ("due", "f8"),  # s, the next date of a change
        ("latest", "f8"),  # s, the date of the latest change
    ],
    align=True,
)


class Speeds(Bundle, shared=("of_processor", "steps", "shares")):
    """The changing speeds of one simulation; F files.

    Attributes:
        changes: (1,) CHANGES.
        profiles: (F,) PROFILE.
        of_processor: (P,) the profile of each processor, -1 for none.
        steps: s between changes. shares: of the full speed, from each change on.
    """

    changes: Records
    profiles: Records
    of_processor: Ints
    steps: Floats
    shares: Floats


class NoSpeeds(Bundle):
    """Stand-in for the speeds of a clock where all are constant, see `batsim_actors.rates_change`."""

    nothing: Floats


def new_speeds(platform: Platform) -> Speeds:
    """Return the speeds of a simulation before its first event: full, until the first change."""
    speeds = platform.speeds or NO_FILES
    profiles = np.zeros(len(speeds.profiles), PROFILE)
    bounds = np.cumsum([0, *(len(profile.dates) for profile in speeds.profiles)])
    profiles["first"], profiles["end"], profiles["next"] = bounds[:-1], bounds[1:], bounds[:-1]
    profiles["date"] = [profile.dates[0] for profile in speeds.profiles]
    profiles["again"] = [profile.again for profile in speeds.profiles]
    profiles["share"] = 1.0
    changes = np.zeros(1, CHANGES)
    changes["due"], changes["latest"] = profiles["date"].min(initial=np.inf), -1.0
    return Speeds(
        changes=changes,
        profiles=profiles,
        of_processor=np.array(speeds.of_node or [NO_PROFILE] * platform.nodes, np.int64)[platform.processor_node],
        steps=np.concatenate([[], *(profile.steps for profile in speeds.profiles)]),
        shares=np.concatenate([[], *(profile.shares for profile in speeds.profiles)]),
    )


@compiled
def change_due(speeds: Speeds) -> None:
    """Make the changes of the next date, and find the one after."""
    changes = speeds.changes[0]
    date, following = changes.due, np.inf
    for f in range(len(speeds.profiles)):
        profile = speeds.profiles[f]
        profile.changed = 0
        while profile.date <= date:
            profile.changed, profile.share = 1, speeds.shares[profile.next]
            profile.next += 1
            if profile.next < profile.end:
                profile.date += speeds.steps[profile.next]
            elif profile.again > 0.0:
                profile.next = profile.first
                profile.date += speeds.steps[profile.first] + profile.again
            else:
                profile.date = np.inf
        following = min(following, profile.date)
    changes.latest, changes.due = date, following


@inlined
def has_changed(speeds: Speeds, p: int) -> bool:
    """Return whether the speed of a processor was among the latest to change."""
    f = speeds.of_processor[p]
    return bool(f >= 0 and speeds.profiles[f].changed == 1)


@inlined
def share_of(speeds: Speeds, p: int) -> float:
    """Return which share of its full speed a processor has."""
    f = speeds.of_processor[p]
    return float(speeds.profiles[f].share) if f >= 0 else 1.0


@compiled
def touches_change(tables: Tables, speeds: Speeds, j: int) -> bool:
    """Return whether a job has a core whose speed was among the latest to change."""
    for i in range(tables.jobs[j].first, tables.jobs[j].first + tables.jobs[j].stretches):
        stretch = tables.allocation[i]
        last = tables.core_processor[stretch.first + stretch.cores - 1]
        for p in range(tables.core_processor[stretch.first], last + 1):
            if has_changed(speeds, p):
                return True
    return False


@compiled
def slowest_share(tables: Tables, speeds: Speeds, j: int) -> float:
    """Return the flop/s of the slowest core of a job, in the current P-states at their shares of speed."""
    job, speed = tables.jobs[j], 1e300
    for i in range(job.first, job.first + job.stretches):
        w, bit, left = begin_words(tables, tables.allocation[i])
        while left > 0:
            word, p = tables.words[head_of(tables, w)], tables.words[w].processor
            count = min(left, count_bits(word.cores) - bit)
            for pstate in range(4):
                if of_pstate(word, pstate) & bits(bit, count):
                    speed = min(speed, tables.processors[p].flops[pstate] * share_of(speeds, p))
            w, bit, left = w + 1, 0, left - count
    return speed
