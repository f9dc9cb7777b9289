"""The table of the modes in which a baseline applies its order of the queue; see `decision.names` for their names.

To add a mode, write the function that starts jobs, and add its entry here. Nothing heavy is imported.
"""

from hdeeprm_like.decision.specs import Spec

IN_ORDER, BY_ARRIVAL, SHORTEST_FIRST = 0, 1, 2  # orders of the candidates for backfilling


class ModeSpec(Spec):
    """A mode.

    Attributes:
        start: ``module:function`` in `decision.policies` that starts jobs of baseline *k* at a decision, given
            ``(tables, plans, k)``.
        on_nodes: the same on a platform with partitions; empty for a mode that does not serve these.
        memory: ``module:function`` there that makes what a baseline of this mode remembers between decisions, given
            ``(state, baseline, jobs)``, with capacity for so many jobs; a `bundles.Bundle`. Empty for a mode without
            memory. A function that starts jobs gets it if it takes ``(tables, plans, memory, k)``.
        streams: whether jobs can be streamed through it: it keeps nothing of a job but the job's row.
        candidates: in which order jobs behind the head are examined. looks_at_ends: whether it reads when running jobs
            are expected to end. profiles: whether it reserves for each job, on a profile of what is free at each date.
    """

    start: str = ""
    on_nodes: str = ""
    memory: str = ""
    streams: bool = False
    candidates: int = IN_ORDER
    looks_at_ends: bool = True
    profiles: bool = False


MODES_BY_NAME: dict[str, ModeSpec] = {
    "strict": ModeSpec(
        "starts jobs in order until one does not fit",
        start="easy:start_in_order",
        on_nodes="node_starts:start_heads",
        streams=True,
        looks_at_ends=False,
    ),
    "greedy": ModeSpec(
        "starts every job that fits, in order",
        start="easy:start_all_that_fit",
        on_nodes="node_starts:start_without_reservations",
        streams=True,
        looks_at_ends=False,
    ),
    "commit": ModeSpec(
        "picks the first job of the order, and waits until it fits even if others come before it meanwhile",
        "RLScheduler's code",
        start="committed:start_committed",
        on_nodes="node_starts:start_heads",
        memory="committed:new_pick",
        candidates=BY_ARRIVAL,
    ),
    "easy": ModeSpec(
        "reserves cores for the head of the queue and backfills, in order, what does not delay it",
        "Lifka 1995",
        start="easy:start_with_backfilling",
        on_nodes="node_starts:start_around_heads",
        memory="easy:new_tries",
        streams=True,
    ),
    "conservative": ModeSpec(
        "gives each job a reservation and starts what delays none before it",
        "Mu'alem and Feitelson 2001",
        start="conservative:start_conservative",
        on_nodes="node_starts:start_around_all",
        memory="conservative:new_reservations",
        streams=True,
        profiles=True,
    ),
    "packing": ModeSpec(
        "starts the pair of job and node with the best score until none fits",
        "Grandl et al. 2014",
        start="easy:start_best_pairs",
        on_nodes="node_starts:start_without_reservations",
        looks_at_ends=False,
    ),
    "easyfcfs": ModeSpec(
        "as easy, but backfills in order of arrival",
        start="easy:start_with_backfilling",
        on_nodes="node_starts:start_around_heads",
        memory="easy:new_tries",
        streams=True,
        candidates=BY_ARRIVAL,
    ),
    "easysjf": ModeSpec(
        "as easy, but backfills the shortest requests first",
        start="easy:start_with_backfilling",
        on_nodes="node_starts:start_around_heads",
        memory="easy:new_tries",
        streams=True,
        candidates=SHORTEST_FIRST,
    ),
    "commitbackfill": ModeSpec(
        "as commit, and backfills around the job that it waits for",
        "RLScheduler's code",
        start="committed:start_committed",
        on_nodes="node_starts:start_around_heads",
        memory="committed:new_pick",
        candidates=BY_ARRIVAL,
    ),
    "scored": ModeSpec(
        "a learned policy starts jobs itself",
        start="scored:start_scored",
        on_nodes="node_starts:start_around_heads",
        memory="scored:new_scored",
    ),
    "reserve": ModeSpec(
        "starts every job that fits, but keeps some cores for short jobs",
        start="reserve:start_beside_reserve",
        on_nodes="reserve:start_beside_kept",
        memory="reserve:new_reserve",
        streams=True,
        looks_at_ends=False,
    ),
    "slurm": ModeSpec(
        "Slurm's own schedulers start jobs; needs partitions",
        start="easy:start_in_order",
        on_nodes="slurm:start_like_slurm",
    ),
    "bounded": ModeSpec(
        "starts every job that fits beside a start that each job is guaranteed",
        start="easy:start_all_that_fit",
        on_nodes="node_plans:start_around_guarantees",
    ),
}

MODES = {name: number for number, name in enumerate(MODES_BY_NAME)}
"""The number of each mode in compiled code."""

COMMIT_BACKFILL, SCORED, SLURM, BOUNDED = (MODES[name] for name in ("commitbackfill", "scored", "slurm", "bounded"))
