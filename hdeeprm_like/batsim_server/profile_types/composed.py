"""The profile type ``composed``: other profiles one after the other."""

from typing import NamedTuple

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, Profile, ProfileType, RunningJob, Steps, Task
from hdeeprm_like.values import COUNT


class Sequence(NamedTuple):
    """Profiles run one after the other, the whole sequence *repeat* times."""

    profiles: list[Profile]
    repeat: int


def read(fields: Fields, find: FindProfile) -> Sequence:
    """Return the sequence with its profiles found by name."""
    names = fields.data.get("seq")
    if not isinstance(names, list) or not names:
        raise fields.refusal("seq must be a list of profiles that is not empty")
    profiles = [find(name) for name in names]
    repeat = COUNT.of(fields.data.get("repeat", fields.data.get("nb", 1)), fields.error, fields.where, "repeat")
    return Sequence(profiles, repeat)


def run(running: RunningJob, task: Task, sequence: Sequence) -> Steps:
    """Run the profiles in turn, until one ends with a nonzero code."""
    for index in range(sequence.repeat * len(sequence.profiles)):
        if code := (yield from running.perform_part(task, sequence.profiles[index % len(sequence.profiles)])):
            return code
    return 0


COMPOSED = ProfileType(
    "the profiles of ``seq`` one after the other, ``repeat`` times",
    read,
    run,
    any_size=lambda sequence: all(profile.any_size for profile in sequence.profiles),
    parts=lambda sequence: sequence.profiles,
    silent=lambda sequence: all(profile.type.silent(profile.parameters) for profile in sequence.profiles),
)
