"""Writer of workloads as Batsim's JSON: one job, and one profile, per line."""

import json
from collections.abc import Iterable, Iterator, Sequence
from json.encoder import encode_basestring_ascii as as_json
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from hdeeprm_like.cluster.partitions import Demand
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.batsim_numbers import write_number
from hdeeprm_like.formats.demands_json import keys_of
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.formats.text_lines import lines_of
from hdeeprm_like.types import Bools, Floats, Ints

NEXT = ",\n"
PROFILE_BEGINS = {True: '"delay", "delay": ', False: '"parallel_homogeneous", "com": %s, "cpu": '}
EXACT = 2**53  # integers up to here are exact as floats


def write_workload(workload: Workload, path: Path) -> None:
    """Write a Batsim workload that reads back as the same columns; one job, and one profile, per line.

    Jobs with the same profile name and the same numbers share a profile; if one name has several contents, all but the
    first get a number appended. Numbers are written as integers if that is exact.

    Raises:
        WorkloadError: the jobs come from several files, which one file cannot hold.
        ResultsError: the file cannot be written.
    """
    names = sorted({identifier.partition("!")[0] for identifier in workload.ids})
    if len(names) != 1:
        raise WorkloadError(f"{path}: cannot hold the jobs of several workloads ({', '.join(names)})")
    profiles = _profiles(workload)
    with replacing(path) as file:
        file.write(f'{{"nb_res": {workload.capacity}, "jobs": [\n')
        _write_list(file, _job_lines(workload, profiles))
        file.write('\n], "profiles": {\n')
        _write_list(file, _profile_lines(workload, profiles))
        file.write("\n}}\n")


def _write_list(file: TextIO, parts: Iterable[str]) -> None:
    """Write lines with the separator of list elements, the last one without it."""
    between = ""
    for part in parts:
        file.write(between)
        file.write(part.removesuffix(NEXT))
        between = NEXT


class Profiles(NamedTuple):
    """The profiles of a file.

    Attributes:
        first: (P,) the first job of each profile. names: (P,) its name as JSON. of_job: (J,) profile of each job.
    """

    first: Ints
    names: list[str]
    of_job: Ints


def _profiles(workload: Workload) -> Profiles:
    """Return the profiles of the jobs, each with a unique name."""
    delays = workload.delay >= 0
    columns = (
        np.where(delays, workload.delay, -1.0),
        np.where(delays, 0.0, workload.ops),
        workload.requested_time,
        workload.requested_ops,
        workload.memory,
        workload.bandwidth,
        workload.gpus_of_job,
        np.nan_to_num(workload.bytes),
    )
    known: dict[tuple[Any, ...], int] = {}
    first: list[int] = []
    of_job: list[int] = []
    names: dict[str, int] = {}
    for row, key in enumerate(zip(workload.profiles, *(column.tolist() for column in columns), strict=True)):
        place = known.get(key)
        if place is None:
            place = known[key] = len(first)
            first.append(row)
            name, number = key[0], 1
            while name in names:
                number += 1
                name = f"{key[0]}_{number}"
            names[name] = place
        of_job.append(place)
    return Profiles(np.array(first, np.int64), list(map(as_json, names)), np.array(of_job, np.int64))


def _job_lines(workload: Workload, profiles: Profiles) -> Iterator[str]:
    """Yield the jobs as JSON."""
    names, limited = profiles.names, np.isfinite(workload.walltime)
    nothing = [""] * len(workload)
    known, programs = workload.user >= 0, workload.program >= 0
    demands = None if workload.demands is None else list(map(_demand, workload.demands.each()))
    return lines_of(
        f'{{"id": %s, "subtime": %s, "res": %s, "profile": %s%s%s%s%s}}{NEXT}',
        _bare_ids(workload.ids),
        _exact_numbers(workload.submit),
        workload.size.tolist(),
        [names[place] for place in profiles.of_job.tolist()],
        _where_known(limited, ', "walltime": %s', workload.walltime) if limited.any() else nothing,
        _where_known(known, ', "user": %s', workload.user) if known.any() else nothing,
        _where_known(programs, ', "program": %s', workload.program) if programs.any() else nothing,
        demands or nothing,
    )


def _profile_lines(workload: Workload, profiles: Profiles) -> Iterator[str]:
    """Yield the profiles as JSON."""
    first = profiles.first
    delays, gpus = workload.delay[first] >= 0, workload.gpus_of_job[first]
    work = np.where(delays, workload.delay[first], workload.ops[first])
    sent = _exact_numbers(np.nan_to_num(workload.bytes[first]))
    kinds = [
        PROFILE_BEGINS[True] if kind else PROFILE_BEGINS[False] % com
        for kind, com in zip(delays.tolist(), sent, strict=True)
    ]
    return lines_of(
        f'%s: {{"type": %s%s, "req_time": %s, "req_ops": %s, "mem": %s, "mem_bw": %s%s}}{NEXT}',
        profiles.names,
        kinds,
        _exact_numbers(work),
        *(
            _exact_numbers(column[first])
            for column in (workload.requested_time, workload.requested_ops, workload.memory, workload.bandwidth)
        ),
        _where_known(gpus != 0, ', "gpus": %s', gpus) if gpus.any() else [""] * len(first),
    )


def _where_known(known: Bools, form: str, numbers: Floats | Ints) -> list[str]:
    """Return the text of a key and a number for each job, empty if unknown."""
    found = iter(_exact_numbers(numbers[known]))
    return [form % next(found) if own else "" for own in known.tolist()]


def _exact_numbers(numbers: Floats | Ints) -> Sequence[int | str]:
    """Return the printed numbers of `_exact`."""
    whole = np.asarray(numbers, np.float64)
    if len(whole) and np.abs(whole).max() < EXACT and (whole == np.trunc(whole)).all():
        found: list[int] = whole.astype(np.int64).tolist()
        return found
    return [_exact(number) for number in whole.tolist()]


def _demand(demand: Demand) -> str:
    """Return the requests of a job on a platform with partitions as JSON, to append to its other keys."""
    return "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in keys_of(demand).items())


def _bare_ids(identifiers: Sequence[str]) -> list[str]:
    """Return the ids without their workload as JSON."""
    texts = [identifier.partition("!")[2] for identifier in identifiers]
    try:
        plain = max(map(len, texts)) <= 18 and list(map(str, map(int, texts))) == texts and "-" not in "".join(texts)
    except ValueError:
        plain = False
    return texts if plain else list(map(_bare, identifiers))


def _bare(identifier: str) -> str:
    """Return an id without its workload as JSON, as an integer if it is one."""
    text = identifier.partition("!")[2]
    if text.isascii() and text.isdigit() and str(int(text[:18])) == text:
        return text
    return json.dumps(text)


def _exact(number: float) -> str:
    """Return the shortest JSON that reads back as the same float, in Batsim too."""
    return str(int(number)) if abs(number) < EXACT and number == int(number) else write_number(number)
