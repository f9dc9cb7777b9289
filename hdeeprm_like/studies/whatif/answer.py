"""Simulates a log under policies and changes, and compares each with the policy that the machine has now.

All are compared on the same jobs: those that can run under all of them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.names import case_of
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.files import null_for_nan
from hdeeprm_like.refusals import WHATIF, refuse
from hdeeprm_like.studies.whatif.calibration import Calibration, calibrate
from hdeeprm_like.studies.whatif.fidelity import Fidelity, fidelity_of
from hdeeprm_like.studies.whatif.figures import (
    ENDS,
    UNKNOWN,
    Grouping,
    OverTime,
    blocks_of,
    by,
    groups_of,
    over_time,
    ratio_of,
    row_of,
    wins_and_losses,
)
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.mechanism import NOW, Asked
from hdeeprm_like.studies.whatif.outcome import USUAL, Outcome, prepared, simulate
from hdeeprm_like.types import Bools, Ints

HARDLY = 0.01  # share of the jobs: where fewer wait for a minute, there is hardly a queue


@dataclass(frozen=True)
class Subject:
    """What the question is about.

    Attributes:
        machine, log: names. nodes, cores: of the machine; no nodes where only its cores are known.
        read: jobs in the log. left_out: those of them that are not compared, for any reason.
        begin, end: s since 1970, when the first and the last job arrive; from 0 on where the log has no dates.
        dated: whether the log has dates.
    """

    machine: str
    log: str
    nodes: int
    cores: int
    read: int
    left_out: int
    begin: float
    end: float
    dated: bool


@dataclass(frozen=True)
class Answer:
    """The whole answer.

    Attributes:
        fidelity: how well the model retells the log, or what of it is held out of a calibration; None where
            the log has no waits.
        rows: figures of each outcome, that of now first; `mechanism` lists the parts that they belong to.
        groups: of each by partition, account, size and hour. people: who wins and loses.
        jobs: that are compared. never: those that could not run, by outcome. blocks: of time.
        account: of the log. subject: the machine and the log. over_time: of each outcome, in the order of *rows*.
    """

    fidelity: Fidelity | None
    rows: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    people: list[dict[str, Any]]
    jobs: int
    blocks: int
    never: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    calibration: Calibration | None = None
    account: Account | None = None
    subject: Subject | None = None
    over_time: tuple[OverTime, ...] = ()


def answer(
    machine: Platform,
    log: Log,
    asked: Sequence[Asked],
    calibrated: bool = False,
    progress: bool = False,
) -> Answer:
    """Simulate all, and compare.

    Args:
        asked: of `asked_for`, the policy of the machine now first.
        calibrated: whether overheads of the Slurm are fitted to the first part of the log, and graded on the rest.
        progress: whether that shows how far it is.

    Raises:
        OptionsError: this machine cannot have a change, or there is nothing to calibrate.
        WorkloadError: no job could run.
    """
    for one in asked:
        own, _ = prepared(machine, log, one.policy, one.change)  # refuses a change that this machine cannot have
        refuse(case_of(one.policy, WHATIF).on(own))
    fitted = calibrate(machine, log, asked[0].policy, progress) if calibrated else None
    overheads = USUAL if fitted is None else fitted.overheads
    outcomes = [simulate(machine, log, one.policy, one.change, overheads) for one in asked]
    ran = np.isfinite(np.array([outcome.finish for outcome in outcomes])).all(axis=0)
    if not ran.any():
        raise WorkloadError("no job of the log could run on this machine")
    never = {one.name: int(np.isnan(one.finish).sum()) for one in outcomes if np.isnan(one.finish).any()}
    blocks = blocks_of(log.jobs.submit)
    rows = rows_of(asked, outcomes, ran, blocks)
    groups, users = groups_of(log), Grouping.of([user or UNKNOWN for user in log.words["User"]])
    compared = int(ran.sum())
    return Answer(
        fidelity=fidelity_of(log, outcomes[0], None if fitted is None else fitted.held),
        rows=rows,
        groups=[
            line
            for one in outcomes[1:]
            for kind, group in groups.items()
            for line in by(kind, group, one, outcomes[0], ran)
        ],
        people=[line for one in outcomes[1:] for line in wins_and_losses(users, groups["size"], one, outcomes[0], ran)],
        jobs=compared,
        blocks=int(blocks.max()) + 1,
        never=never,
        notes=(
            *log.notes,
            *(note for one in outcomes for note in one.notes),
            *(() if fitted is None else fitted.lines()),
        ),
        calibration=fitted,
        account=log.jobs.account,
        subject=subject_of(machine, log, compared),
        over_time=tuple(over_time(outcomes, ran)),
    )


def rows_of(asked: Sequence[Asked], outcomes: Sequence[Outcome], ran: Bools, blocks: Ints) -> list[dict[str, Any]]:
    """Return a row of figures for each outcome, with the ratio of its wait to that of the one that it is beside.

    Args:
        ran: (J,) whether all outcomes ran the job. blocks: (J,) of time.
    """
    rows = [row_of(one, outcomes[0], ran, blocks) for one in outcomes]
    for row, one, outcome in zip(rows, asked, outcomes, strict=True):
        row["part"], row["beside"] = one.part, outcomes[one.beside].name if one.part != NOW else None
        found = tuple(row[f"wait_{end}"] for end in ENDS)  # beside now
        if one.beside:
            found = ratio_of(outcome.wait[ran], outcomes[one.beside].wait[ran], blocks[ran])
        row |= {f"beside_{end}": value for end, value in zip(ENDS, found, strict=True)}
        row["no_queue"] = max(row["waiting"], rows[one.beside]["waiting"]) < HARDLY
    return rows


def subject_of(machine: Platform, log: Log, compared: int) -> Subject:
    """Return what an answer is about."""
    submit, read = log.jobs.submit, max(log.read, len(log.jobs))
    return Subject(
        machine=machine.name,
        log=log.name,
        nodes=machine.nodes if machine.processors > 1 else 0,
        cores=machine.cores,
        read=read,
        left_out=read - compared,
        begin=log.epoch + float(submit[0]),
        end=log.epoch + float(submit[-1]),
        dated=log.dated,
    )


def as_tables(found: Answer) -> dict[str, Any]:
    """Return an answer in the form of its JSON; an unknown ratio or interval is null."""
    return {
        "subject": None if found.subject is None else asdict(found.subject),
        "jobs": found.jobs,
        "blocks": found.blocks,
        "never_ran": found.never,
        "notes": list(found.notes),
        "account": found.account and found.account.content(),
        "calibration": None if found.calibration is None else found.calibration.as_json(),
        "fidelity": None if found.fidelity is None else found.fidelity.as_json(),
        "outcomes": [null_for_nan(row) for row in found.rows],
    }
