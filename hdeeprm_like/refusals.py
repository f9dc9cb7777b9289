"""The table of what does not go together: policies, what plays them, and what they play on.

Everything that plays a policy looks here before anything runs, and no other module decides it. The reference of
the docs is made from it, and a generated test plays what it does not refuse.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from hdeeprm_like.errors import HDeepRMError, OptionsError, PlatformError

if TYPE_CHECKING:
    from hdeeprm_like.cluster.platform import Platform

SIMULATE, LAUNCH, BATSIM = "simulate", "launch", "launch with Batsim"
ENVIRONMENT, ENVIRONMENTS = "environment", "environments"
STREAM, COMPARE, WHATIF, EXPLAIN, WATCH = "stream", "compare", "whatif", "explain", "slurm watch"

DRIVERS = {
    SIMULATE: "`simulate()` of Python",
    LAUNCH: "the command `launch`, simulated in this process",
    BATSIM: "`launch` with Batsim 4 or 5, and the policy as a scheduler that Batsim calls",
    ENVIRONMENT: "a single environment of Gymnasium",
    ENVIRONMENTS: "a vector environment",
    STREAM: "the command `stream`",
    COMPARE: "the commands `compare` and `benchmark`",
    WHATIF: "the command `whatif`",
    EXPLAIN: "the command `explain`",
    WATCH: "`slurm watch`, also without `--apply`",
}

PAIR, OWN, BASELINE, AGENT, RECORDED = "pair", "own job policy", "baseline", "agent", "recorded"  # kinds of policies

AGENTS_PLAYED = (SIMULATE, COMPARE)
EVENT_CLOCKS = ("textbook", "one-by-one")
STREAMED = "take a pair, as first-high_gflops, or a baseline, as sjf+easy"


class Case(NamedTuple):
    """What is to go together; what is not known yet, or does not matter, has its default.

    Attributes:
        policy: its name. kind: of it. order, mode: of a baseline.
        learned: whether it is a learned policy. uses_file: whether it is or uses a learned policy or predictor.
        python: whether a part is a user's own Python.
        looks_back, needs_run_times: of `Baseline`. by_score: whether a placement score chooses its cores.
        streams: whether its mode keeps nothing of a job but the job's row. bounded: whether its name guarantees starts.
        sets_watch: whether its name says how a watch looks.
        driver: of `DRIVERS`. clock: of the simulation. platform: its name. partitions: None if it is not known.
        own_priorities: whether the platform is that of a Slurm, whose weights multifactor has in every mode.
        capped, network, changing_speeds: what the platform has. whole: whether one node takes all cores.
        exclusive: whether a job requests whole nodes.
    """

    policy: str = ""
    kind: str = BASELINE
    order: str = ""
    mode: str = ""
    learned: bool = False
    uses_file: bool = False
    python: bool = False
    looks_back: bool = False
    needs_run_times: bool = False
    by_score: bool = False
    streams: bool = True
    bounded: bool = False
    sets_watch: bool = False
    driver: str = ""
    clock: str = ""
    platform: str = ""
    partitions: bool | None = None
    own_priorities: bool = False
    capped: bool = False
    network: bool = False
    changing_speeds: bool = False
    whole: bool = False
    exclusive: bool = False

    @property
    def like_slurm(self) -> bool:
        """Whether it ranks the jobs as Slurm does."""
        return self.mode == "slurm" or (self.order == "multifactor" and self.own_priorities)

    def on(self, platform: "Platform", whole: bool = False) -> "Case":
        """Return the same on a platform."""
        return self._replace(
            platform=platform.name,
            partitions=platform.partitions is not None,
            own_priorities=platform.partitions is not None and bool(platform.partitions.settings),
            capped=platform.power_cap < float("inf"),
            network=platform.routes is not None,
            changing_speeds=platform.speeds is not None,
            whole=whole,
        )


class Refusal(NamedTuple):
    """A row of the table.

    Attributes:
        who, where: what does not go together, in words.
        line: the message; begins with the policy, or with *error* for what the platform does not go with.
        holds: whether it holds in a case.
    """

    who: str
    where: str
    line: str
    holds: Callable[[Case], bool]
    error: type[HDeepRMError] = OptionsError


ANY = "everything"

REFUSALS = (
    Refusal(
        "a trained agent, `agent:DIR`",
        "all but `simulate` and `compare`",
        "{policy}: is a trained agent, which simulate and compare play; name a policy here, as sjf+easy",
        lambda case: case.kind == AGENT and case.driver not in AGENTS_PLAYED,
    ),
    Refusal(
        "a trained agent with `whole`",
        SIMULATE,
        "whole: the agent {policy} places jobs as it has learned to; whole is for baselines, as sjf+greedy",
        lambda case: case.kind == AGENT and case.whole and case.driver == SIMULATE,
    ),
    Refusal(
        "the recorded schedule, `actual`",
        "all but `compare`",
        "{policy}: is the schedule that a trace records, which compare shows; name a policy here, as sjf+easy",
        lambda case: case.kind == RECORDED and case.driver != COMPARE,
    ),
    Refusal(
        "all but learned policies",
        EXPLAIN,
        "{policy}: is no learned policy, zoo:NAME or scored:FILE.json, which explain is for",
        lambda case: case.driver == EXPLAIN and not case.learned,
    ),
    Refusal(
        "a job policy of one's own",
        f"{LAUNCH}, {BATSIM}",
        "{policy}: is a job policy of your own, which needs a LEARNING agent",
        lambda case: case.kind == OWN and case.driver in (LAUNCH, BATSIM),
    ),
    Refusal(
        "a job policy or a run-time predictor of one's own",
        ENVIRONMENTS,
        "{policy}: is Python, which does not run side by side in compiled code; gymnasium.vector.SyncVectorEnv does",
        lambda case: case.python and case.driver == ENVIRONMENTS,
    ),
    Refusal(
        "a learned policy, or one that uses a learned policy or predictor",
        STREAM,
        "{policy}: learned policies and predictors use what they know of ended jobs, so no jobs are streamed through "
        "them; take a baseline, as sjf+easy, or the command compare",
        lambda case: case.uses_file and case.driver == STREAM,
    ),
    Refusal(
        "a policy that uses what it knows of ended jobs, as `multifactor` and `sjf@ewma+easy`",
        STREAM,
        f"{{policy}}: uses what it knows of ended jobs, so no jobs are streamed through it; {STREAMED}",
        lambda case: case.looks_back and case.driver == STREAM,
    ),
    Refusal(
        "a baseline in a mode that plans for all jobs",
        STREAM,
        f"{{policy}}: keeps a plan of all jobs, so no jobs are streamed through it; {STREAMED}",
        lambda case: not case.streams and case.driver == STREAM,
    ),
    Refusal(
        "a job policy of one's own",
        STREAM,
        f"{{policy}}: is Python, through which no jobs are streamed; {STREAMED}",
        lambda case: case.kind == OWN and case.driver == STREAM,
    ),
    Refusal(
        ANY,
        f"{STREAM} on the clock `batsim`",
        "clock {clock!r}: jobs are streamed on textbook and one-by-one only",
        lambda case: case.driver == STREAM and case.clock not in ("", *EVENT_CLOCKS),
    ),
    Refusal(
        "a pair, or a job policy of one's own",
        f"{WHATIF}, {WATCH}",
        "{policy}: is a pair, which has no order that a mechanism applies; take a baseline, as smallest+strict",
        lambda case: case.kind in (PAIR, OWN) and case.driver in (WHATIF, WATCH),
    ),
    Refusal(
        "a policy that uses actual run times: `oracle`, `...P`, `@actual`",
        f"{BATSIM}, {WATCH}",
        "{policy}: needs actual run times, which only the embedded simulator knows",
        lambda case: case.needs_run_times and case.driver in (BATSIM, WATCH),
    ),
    Refusal(
        "guaranteed starts, `+bounded`",
        WATCH,
        "{policy}: cannot guarantee starts, because Slurm starts the jobs",
        lambda case: case.bounded and case.driver == WATCH,
    ),
    Refusal(
        "jobs that request whole nodes",
        BATSIM,
        "platform {platform!r}: a job gets whole nodes, and Batsim gives no more cores than requested",
        lambda case: case.exclusive and case.driver == BATSIM,
    ),
    Refusal(
        "how a watch looks, `+slurm:60:5000`",
        WATCH,
        "{policy}: write the order alone, and how a watch looks in its own options, --interval and --max-factor",
        lambda case: case.sets_watch and case.driver == WATCH,
    ),
    Refusal(
        "`+slurm`, or Slurm's own priorities in a model of it",
        BATSIM,
        "{policy}: ranks all jobs beforehand as Slurm does, and Batsim names each at its submission; take --simulator "
        "embedded",
        lambda case: case.like_slurm and case.driver == BATSIM,
    ),
    Refusal(
        "`+slurm`, or Slurm's own priorities in a model of it",
        ENVIRONMENTS,
        "{policy}: ranks the jobs of each episode beforehand, which runs side by side do not; take a single "
        "environment, or gymnasium.vector.SyncVectorEnv",
        lambda case: case.like_slurm and case.driver == ENVIRONMENTS,
    ),
    Refusal(
        "`+slurm`",
        "a platform without partitions",
        "{policy}: needs a platform with partitions, as hdeeprm-like import and hdeeprm-like whatif make them",
        lambda case: case.mode == "slurm" and case.partitions is False,
    ),
    Refusal(
        "a placement score, `-zoo:NAME`, `-scored:FILE.json` or a learned policy with one",
        "a platform with partitions",
        "{policy}: chooses cores by a placement score, but on a platform with partitions Slurm's weights choose the "
        "nodes; give it another placement, as -high_gflops",
        lambda case: case.by_score and bool(case.partitions),
    ),
    Refusal(
        "a pair, or a job policy of one's own",
        "`whole`",
        "whole: the policy pair {policy} spreads jobs over nodes; take a baseline, as sjf+greedy",
        lambda case: case.kind in (PAIR, OWN) and case.whole,
    ),
    Refusal(
        ANY,
        "a power cap with partitions",
        "platform {platform!r}: a power cap is not supported with platforms with partitions",
        lambda case: case.capped and bool(case.partitions),
        PlatformError,
    ),
    Refusal(
        ANY,
        "a power cap with `whole`",
        "platform {platform!r}: a power cap is not supported with jobs that run whole on a node",
        lambda case: case.capped and case.whole,
        PlatformError,
    ),
    Refusal(
        ANY,
        "a network on the clocks `textbook` and `one-by-one`",
        "network: the clock {clock!r} knows no latencies; use 'batsim'",
        lambda case: case.network and case.clock in EVENT_CLOCKS,
    ),
    Refusal(
        ANY,
        "changing speeds on the clocks `textbook` and `one-by-one`",
        "platform {platform!r}: speed_file: the clock {clock!r} follows none; use 'batsim'",
        lambda case: case.changing_speeds and case.clock in EVENT_CLOCKS,
    ),
)
"""Every pair of parts that do not go together; the first row that holds is the answer."""


def refusal_of(case: Case) -> HDeepRMError | None:
    """Return why something does not go together; None if it does."""
    for row in REFUSALS:
        if row.holds(case):
            shown = case._replace(policy=f"{case.policy:.80}")
            return row.error(row.line.format(**shown._asdict()))
    return None


def refuse(case: Case) -> None:
    """Raise if something does not go together.

    Raises:
        HDeepRMError: why, in one line.
    """
    found = refusal_of(case)
    if found is not None:
        raise found
