"""The lines of ``out_jobs.csv`` for many jobs at once, in compiled code: the bytes of `batsim_files.job_line`."""

from collections.abc import Iterator, Sequence

import numpy as np

from hdeeprm_like.engine.digits import LONGEST_NUMBER, SPARE
from hdeeprm_like.engine.job_texts import NUMBERS, Intervals, JobLines, Texts, put_ids, put_lines, put_sets
from hdeeprm_like.engine.tasks import KILLED, SUCCESS, WALLTIME_REACHED
from hdeeprm_like.results.batsim_files import SHORTEST_RUN, JobRow, job_line, quoted, unquoted
from hdeeprm_like.results.core_intervals import interval_text
from hdeeprm_like.types import Floats, Ints, Records

FINAL_STATES = {
    0: "REJECTED",
    SUCCESS: "COMPLETED_SUCCESSFULLY",
    WALLTIME_REACHED: "COMPLETED_WALLTIME_REACHED",
    KILLED: "COMPLETED_KILLED",
}
AT_ONCE = 1 << 17  # bytes of lines, which stay in the processor's cache
BEHIND = b"\n"  # each text, if none holds it


def lines_of(
    rows: Ints, names: tuple[Texts, Texts], asked: tuple[Floats, Floats, Ints], tasks: Records, cores: Intervals
) -> JobLines:
    """Return what lines of jobs are made of, see `JobLines`.

    Args:
        names: ids and profiles. asked: (J,) each, submission and walltime in s, and cores.
    """
    states = texts_of([f"{outcome == SUCCESS:d},{name}," for outcome, name in sorted(FINAL_STATES.items())])
    most = int(np.diff(cores.begins).max(initial=0))
    longest = sum(int(np.diff(texts.begins).max(initial=0)) for texts in (*names, states))
    room = AT_ONCE + longest + (NUMBERS + 2 * most) * LONGEST_NUMBER + len(states.data) + SPARE
    return JobLines(
        rows=rows.astype(np.int64),
        ids=names[0],
        profiles=names[1],
        states=states,
        submit=np.ascontiguousarray(asked[0], np.float64),
        walltime=np.ascontiguousarray(asked[1], np.float64),
        size=np.ascontiguousarray(asked[2], np.int64),
        cores=cores,
        tasks=tasks,
        out=np.empty(room, np.uint8),
        written=np.zeros(1, np.int64),
    )


def job_lines(lines: JobLines, energy: bool = True) -> Iterator[bytes | memoryview]:
    """Yield the lines, some at a time; each part is valid until the next one is wanted.

    Args:
        energy: whether that of each job was measured.
    """
    done, count, out = 0, len(lines.rows), np.asarray(lines.out).data
    while done < count:
        before, done = done, put_lines(lines, done, energy)
        if done == before:  # a number is too large for compiled code
            done += 1
            yield f"{job_line(rows_of(lines, energy, before, done)[0])}\n".encode()
        else:
            yield out[: int(lines.written[0])]


def names_of(names: Sequence[str], ids: bool = False) -> Texts:
    """Return names as CSV writes them; of the *ids* of jobs, ``workload!job``, each part on its own."""
    if quoted("".join(names))[:1] != '"':  # most have nothing to quote
        return texts_of(names)
    return texts_of(["!".join(map(quoted, name.split("!", 1 if ids else 0))) for name in names])


def texts_of(texts: Sequence[str]) -> Texts:
    """Return texts as compiled code reads them."""
    joined = "".join([BEHIND.decode().join(texts), BEHIND.decode() if texts else ""]).encode()
    data = np.frombuffer(joined + bytes(SPARE), np.uint8)
    begins = np.append(0, np.flatnonzero(data == BEHIND[0]) + 1)
    if len(begins) > len(texts) + 1:  # one holds the letter
        begins = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text.encode()) + 1 for text in texts], out=begins[1:])
    return Texts(data, begins)


def room_for(count: int, longest: int) -> Texts:
    """Return texts to be written, each of at most so many bytes."""
    return Texts(np.zeros(count * (longest + 1) + SPARE, np.uint8), np.zeros(count + 1, np.int64))


def same(text: str, count: int) -> Texts:
    """Return a text so many times."""
    one = text.encode() + BEHIND
    return Texts(np.frombuffer(one * count + bytes(SPARE), np.uint8), np.arange(count + 1) * len(one))


def ids_of(workload: str, numbers: Ints) -> Texts:
    """Return the ids of jobs of a workload with some numbers from 0 on, ``workload!number``."""
    name = texts_of([workload])
    texts = room_for(len(numbers), len(name.data) + LONGEST_NUMBER)
    put_ids(texts, name, numbers)
    return texts


def interval_sets(cores: Intervals) -> list[str]:
    """Return the interval set of each group, ``0-3 6`` for instance."""
    groups = len(cores.begins) - 1
    room = 2 * LONGEST_NUMBER * len(cores.first) + groups + SPARE
    texts = Texts(np.zeros(room, np.uint8), np.zeros(groups + 1, np.int64))
    put_sets(texts, cores)
    return strings_of(texts, range(groups))


def strings_of(texts: Texts, which: Sequence[int]) -> list[str]:
    """Return some of the texts as Python has them."""
    data, begins = np.asarray(texts.data), texts.begins
    return [data[begins[i] : begins[i + 1] - 1].tobytes().decode() for i in which]


def rows_of(lines: JobLines, energy: bool = True, first: int = 0, end: int | None = None) -> list[JobRow]:
    """Return the lines from *first* up to, not including, *end* as rows of Python's values."""
    jobs = np.asarray(lines.rows)[first:end]
    tasks, walltime = np.asarray(lines.tasks)[jobs], np.asarray(lines.walltime)[jobs]
    run = tasks["finish"] - tasks["start"]
    columns = (
        np.asarray(lines.submit)[jobs],
        np.asarray(lines.size)[jobs],
        np.where(np.isfinite(walltime), walltime, -1.0),
        tasks["outcome"],
        tasks["start"],
        np.where(run == 0.0, SHORTEST_RUN, run),
        tasks["joules"] if energy else np.full(len(jobs), -1.0),
    )
    texts = (strings_of(column, jobs.tolist()) for column in (lines.ids, lines.profiles))
    cores = (interval_text_of(lines.cores, j) for j in jobs.tolist())
    return [
        JobRow(
            job_id=unquoted(name.partition("!")[2]),
            workload=unquoted(name.partition("!")[0]),
            profile=unquoted(profile),
            submission_time=submit,
            size=size,
            walltime=limit,
            success=outcome == SUCCESS,
            final_state=FINAL_STATES[outcome],
            starting_time=start if outcome else None,
            execution_time=ran if outcome else None,
            allocated=own,
            energy=joules,
        )
        for name, profile, own, submit, size, limit, outcome, start, ran, joules in zip(
            *texts, cores, *(column.tolist() for column in columns), strict=True
        )
    ]


def interval_text_of(cores: Intervals, group: int) -> str:
    """Return the interval set of one group."""
    own = slice(*np.asarray(cores.begins)[group : group + 2].tolist())
    return " ".join(map(interval_text, cores.first[own].tolist(), cores.last[own].tolist()))
