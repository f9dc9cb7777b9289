"""Names of the data shipped with the package, and the rules for arguments that are such names.

`SHIPPED` is the single table: a name of each kind, its file, its description. Options files, the command line, its
completion and the Python interface accept these names wherever they accept a path of that kind; a page of the
documentation is made from the table.

An argument is interpreted by these rules, in this order, so that a name means the same in every folder:

1. A name of the table is the file of the table, even if the current folder has a file of that name: write
``./gaia`` for that one.
2. A name of the Parallel Workloads Archive, such as ``CTC-SP2-1996-3.1-cln``, is the trace stored by ``fetch-trace``.
3. Anything else is a path. A bare word, without a separator or an ending, that does not exist raises an error as an
unknown name.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from hdeeprm_like.errors import HDeepRMError, OptionsError, PlatformError, WorkloadError, did_you_mean

Kind: TypeAlias = Literal["platform", "trace", "workload", "options", "agent", "sweep", "offsets", "log", "rates"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TITLES: Mapping[Kind, str] = {
    "platform": "platform",
    "trace": "trace",
    "workload": "workload",
    "options": "options file",
    "agent": "agent",
    "sweep": "sweep",
    "offsets": "list of windows",
    "log": "log",
    "rates": "tariff",
}
WITH_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]*(:|$)")  # CTC-SP2-1996-3.1-cln has none
LONGEST_LIST = 130  # characters of names in a message
ALL_NAMES = "hdeeprm-like example --names"


class Names(tuple["Shipped", ...]):
    """Data shipped with the package; its representation is a table of names."""

    def __repr__(self) -> str:
        columns = list(zip(*(one.words for one in self), strict=True)) or [(), (), ()]
        kind, name, size = (max(map(len, words), default=0) for words in columns)
        rows = ((*one.words, f"{one.what}{one.credit}") for one in self)
        return "\n".join(f"{row[0]:{kind}}  {row[1]:{name}}  {row[2]:>{size}}  {row[3]}" for row in rows)


class Shipped(NamedTuple):
    """A piece of data shipped with the package.

    Attributes:
        name: as used in arguments. kind: where it can be used.
        file: below `examples_folder`.
        what: description in a line. size: in words: jobs, or nodes, processors and cores. source: its origin.
        machine: of a trace or a workload: the name of its platform, or the cores of a pool.
    """

    name: str
    kind: Kind
    file: str
    what: str
    size: str = ""
    source: str = ""
    machine: str | int = ""

    @property
    def words(self) -> tuple[str, str, str]:
        """Kind, name and size; the size of a platform in cores."""
        return self.kind, self.name, self.size.rpartition(", ")[2]

    @property
    def credit(self) -> str:
        """The source in parentheses, empty for our own data."""
        return "" if self.source == OURS else f" ({self.source})"

    @property
    def path(self) -> Path:
        """The path of its file."""
        return examples_folder() / self.file


THESIS, CUNHA, ARCHIVE = "HDeepRM's thesis", "Cunha's dissertation", "Parallel Workloads Archive"
HDEEPRM, OURS, RLSCHEDULER = "HDeepRM", "this project", "RLScheduler's repository"
PUBLIC = "public figures"


def _platform(name: str, file: str, what: str, counts: tuple[int, int, int], source: str) -> Shipped:
    size = ", ".join(map(_count, counts, ("node", "processor", "core")))
    return Shipped(name, "platform", f"platforms/{file}", what, size, source)


def _jobs(name: str, file: str, what: str, jobs: int, source: str, machine: str | int) -> Shipped:
    return Shipped(
        name,
        "workload" if file.endswith(".json") else "trace",
        f"workloads/{file}",
        what,
        _count(jobs, "job"),
        source,
        machine,
    )


def _options(name: str, file: str, what: str, source: str = OURS) -> Shipped:
    return Shipped(name, "options", f"agents/{file}", what, source=source)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


SHIPPED: tuple[Shipped, ...] = (
    _platform("gaia", "gaia.json", "Gaia, University of Luxembourg, as in 2014", (153, 342, 2280), HDEEPRM),
    _platform("learning", "learning.json", "one node with two slightly different processors", (1, 2, 4), THESIS),
    _platform("das2", "das2.json", "DAS-2, site fs0, Amsterdam", (72, 72, 144), HDEEPRM),
    _platform("pik", "pik.json", "iDataPlex, Potsdam Institute for Climate Impact Research", (320, 640, 2560), HDEEPRM),
    _platform("ricc", "ricc.json", "RIKEN Integrated Cluster of Clusters, 2010", (1024, 2048, 8192), HDEEPRM),
    _platform("mc2", "mc2.json", "MetaCentrum grid, 32 clusters, as in 2013", (641, 1548, 10002), HDEEPRM),
    _platform("lumi", "lumi.json", "LUMI, CSC Kajaani, as of 2023, with GPUs", (5026, 7074, 452736), PUBLIC),
    _platform("frontier", "frontier.json", "Frontier, Oak Ridge, as of 2022, with GPUs", (9408, 9408, 602112), PUBLIC),
    _platform("pool-256", "pool_256.csv", "a pool of alike cores, of the Lublin traces", (1, 1, 256), OURS),
    _platform("two-cores", "two_cores.json", "the machine of section 4.1.4", (1, 1, 2), THESIS),
    _platform("pool-2", "pool_2.csv", "the machine of figure 2.1", (1, 1, 2), CUNHA),
    _platform("pool-3", "pool_3.csv", "the machine of figure 2.2", (1, 1, 3), CUNHA),
    _platform("pool-64", "pool_64.csv", "the largest pool of Cunha and Chaimowicz' scenarios", (1, 1, 64), CUNHA),
    _platform("pool-10-10", "pool_10_10.csv", "DeepRM's machine: ten cores, a unit of memory each", (1, 1, 10), CUNHA),
    _platform("nine-machines", "nine_machines.csv", "after Hutchison et al.; two have GPUs", (9, 9, 592), OURS),
    _platform("two-kinds", "two_kinds.json", "64 fast cores and 256 thrifty ones", (6, 12, 320), OURS),
    _platform("mixed-gpus", "mixed_gpus.json", "four kinds of nodes, two with GPUs", (40, 80, 2512), OURS),
    _jobs("gaia", "gaia.swf.gz", "Gaia, May to August 2014, whole", 51_987, ARCHIVE, "gaia"),
    _jobs("ctc-sp2", "ctc_sp2_500.swf.gz", "IBM SP2, Cornell, 1996: the first 500 jobs", 500, ARCHIVE, 338),
    _jobs(
        "ctc-sp2-windows", "ctc_sp2_windows.swf.gz",
        "IBM SP2, Cornell: ten windows of 1024 jobs", 10_240, ARCHIVE, 338,
    ),
    _jobs("nasa-ipsc", "nasa_ipsc_500.swf.gz", "iPSC/860, NASA, 1993: first 500 jobs", 500, ARCHIVE, 128),
    _jobs("lublin-1", "lublin_256.swf.gz", "Lublin-Feitelson model, 256 cores", 10_000, RLSCHEDULER, 256),
    _jobs("lublin-1-500", "lublin_256_500.swf.gz", "the first 500 jobs of lublin-1", 500, RLSCHEDULER, 256),
    _jobs("lublin-2", "lublin_256_2.swf.gz", "the same model, other jobs", 10_000, RLSCHEDULER, 256),
    _jobs("learning", "learning.json", "the learning example, appendix F", 2, THESIS, "learning"),
    _jobs("worked-one", "worked_one_job.json", "the job of section 4.1.4", 1, THESIS, "two-cores"),
    _jobs("worked-three", "worked_three_jobs.json", "the jobs of figure 2.1", 3, CUNHA, "pool-2"),
    _jobs(
        "worked-three-swapped", "worked_three_jobs_swapped.json",
        "the jobs of figure 2.1 in another order", 3, CUNHA, "pool-2",
    ),
    _jobs("worked-seven", "worked_seven_jobs.json", "jobs as of figure 2.2", 7, CUNHA, "pool-3"),
    _jobs("worked-void", "worked_void.json", "jobs as of figure 3.6", 2, THESIS, 1),
    _options("gaia", "gaia-first-high_gflops.json", "1000 jobs of Gaia, first arrived first, section 5.2", THESIS),
    _options("gaia-shortest", "gaia-shortest-high_gflops.json", "the same, shortest job first, section 5.2", THESIS),
    _options("frontier", "frontier-easy.json", "2,000 jobs on Frontier, EASY backfilling"),
    _options("learning", "reinforce.json", "the learning example, 5.4, for the agent reinforce", THESIS),
    _options("actor-critic", "actor_critic.json", "the learning example, for the agent actor-critic", THESIS),
    _options("ppo", "ppo.json", "fragments of Gaia, 36 policy pairs, for the agent ppo"),
    _options("two-kinds", "two-kinds.json", "36 pairs on two kinds of cores, policy iteration, for the agent ppo"),
    _options("ppo-window", "ppo-window.json", "jobs of lublin-1 from a window of 128, for the agent ppo"),
    _options("smdp", "smdp.json", "the semi-Markov decision process, for the agent ppo", CUNHA),
    _options("deep-backfilling", "deep-backfilling.json", "Deep Back-Filling, for the agent ppo", "Wang et al. 2022"),
    _options("job-machine", "job-machine.json", "a job and a machine for it, for the agent ppo", "Hutchison et al."),
    _options("inspector", "sched-inspector.json", "start now or wait, for the agent ppo", "SchedInspector"),
    _options("kernel", "kernel.json", "one network for every job, for the agent kernel", "RLScheduler"),
    _options("dissertation-5-1-pg", "dissertation-5-1-pg.json", "table 5.1, for the agent reinforce", CUNHA),
    _options("dissertation-5-1-a2c", "dissertation-5-1-a2c.json", "table 5.1, for the agent actor-critic", CUNHA),
    _options("dissertation-5-1-ppo", "dissertation-5-1-ppo.json", "table 5.1, for the agent ppo", CUNHA),
    _options("dissertation-5-2", "dissertation-5-2.json", "table 5.2, for the agent ppo", CUNHA),
    _options("dissertation-5-5", "dissertation-5-5.json", "table 5.5, for the agent ppo", CUNHA),
    _options("worked-three", "worked-three.json", "three jobs on two cores, figure 2.1", CUNHA),
    _options("worked-seven", "worked-seven.json", "seven jobs on three cores, figure 2.2", CUNHA),
    _options("worked-events", "worked-events.json", "one job on two cores, section 4.1.4", THESIS),
    _options("small-evolution", "zoo/evolution/small.json", "an evolution of some seconds, for --method evolution"),
    Shipped("reinforce", "agent", "agents/reinforce.py", "REINFORCE", source=THESIS),
    Shipped("actor-critic", "agent", "agents/actor_critic.py", "actor-critic, A2C", source=THESIS),
    Shipped("ppo", "agent", "agents/ppo.py", "proximal policy optimization", source=OURS),
    Shipped("kernel", "agent", "agents/kernel.py", "one small network for every job", source="RLScheduler"),
    Shipped("attention", "agent", "agents/attention.py", "every job attends to all others", source=OURS),
    Shipped("sb3_network", "agent", "agents/sb3_network.py", "a model of Stable-Baselines3, to play", source=OURS),
    Shipped("recurrent", "agent", "agents/recurrent.py", "a network with a memory", source=OURS),
    Shipped("lublin-1", "sweep", "agents/sweep.json", "two policies on nine windows of lublin-1", source=OURS),
    Shipped(
        "rlscheduler-lublin-1", "offsets", "workloads/rlscheduler_lublin_256.csv",
        "RLScheduler's windows of lublin-1", "10 windows", RLSCHEDULER,
    ),
    Shipped(
        "rlscheduler-lublin-2", "offsets", "workloads/rlscheduler_lublin_256_2.csv",
        "RLScheduler's windows of lublin-2", "10 windows", RLSCHEDULER,
    ),
    Shipped(
        "eagle", "log", "workloads/eagle_1000.csv.gz",
        "Eagle, 2019, for import table --map eagle", "1,000 jobs",
        "NREL/eagle-jobs, BSD-3-Clause",
    ),
    Shipped("tariff", "rates", "agents/tariff.csv", "an invented price of a kWh over a week", source=OURS),
)  # fmt: skip


def examples_folder() -> Path:
    """Return the folder with ``agents/``, ``platforms/`` and ``workloads/``, of the package or of a clone."""
    package = Path(__file__).parent.parent
    inside = package / "examples"
    return inside if (inside / "agents").is_dir() else package.parent


def listed(kind: str | None = None) -> Names:
    """Return the shipped data of one kind, or of all, kind by kind.

    Raises:
        OptionsError: there is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise OptionsError(f"{kind[:80]!r} is no kind of shipped data{did_you_mean(kind, KINDS)}")
    return Names(one for other in KINDS if kind in (None, other) for one in SHIPPED if one.kind == other)


def shipped(*kinds: Kind) -> dict[str, Shipped]:
    """Return the shipped data of some kinds by name; kinds that one argument accepts share no name."""
    return {one.name: one for one in SHIPPED if one.kind in kinds}


def names_of(*kinds: Kind) -> list[str]:
    """Return the names that an argument of some kinds accepts, for shell completion."""
    return [*shipped(*kinds), *(_archive() if "trace" in kinds else ())]


def name_of(path: Path) -> str:
    """Return the name of a shipped file, given by its path as from `found`; for other files the stem."""
    return next((one.name for one in SHIPPED if one.path == path), path.stem)


def is_name(given: str | Path, *kinds: Kind) -> bool:
    """Return whether an argument is a name and not a path, see the rules of this module."""
    return str(given) in shipped(*kinds) or _is_of_archive(str(given), kinds)


def found(given: str | Path, *kinds: Kind, folder: Path = Path()) -> Path:
    """Return the file of an argument, by the rules of this module.

    Args:
        kinds: accepted kinds. folder: base of relative paths; the current folder for an argument.

    Returns:
        The file of the name; or the path, which need not exist unless it looks like a name.

    Raises:
        HDeepRMError: of the class of the first kind; the name is unknown, or its file is missing.
    """
    text = str(given)
    known = shipped(*kinds)
    if text in known:
        if os.path.lexists(folder / text):
            _warn(text, TITLES[known[text].kind])
        path = known[text].path
        if not path.is_file():
            raise _error(kinds)(f"{text}: {path} is missing; this installation of hdeeprm_like is not whole")
        return path
    if _is_of_archive(text, kinds):
        return _stored(text)
    if looks_like_a_name(text) and not os.path.lexists(folder / text):
        raise _error(kinds)(unknown(text, *kinds))
    return folder / text


def existing(given: str | Path, *kinds: Kind) -> Path:
    """Return the file of an argument of the Python interface, as `found`; raise at once if it does not exist.

    Raises:
        HDeepRMError: of the class of the first kind; there is no such name, or no such file.
    """
    path = found(given, *kinds)
    if not os.path.lexists(path):
        raise _error(kinds)(f"{path}: no such file; names of shipped data: {_listed(shipped(*kinds))}")
    return path


def looks_like_a_name(text: str) -> bool:
    """Return whether a text has no separator, no ending of a file, and more than ``-`` and ``.``."""
    separated = os.sep in text or text.startswith("~")
    return text.strip("-.") != "" and not separated and WITH_ENDING.search(text) is None


def unknown(text: str, *kinds: Kind) -> str:
    """Return a message on an unknown name: its other kinds or the nearest name, and the known ones."""
    wanted = " or ".join(TITLES[kind] for kind in kinds)
    others = [TITLES[kind] for kind in KINDS if kind not in kinds and text in shipped(kind)]
    if others:
        return f"{text!r} is a name of: {', '.join(others)}; but no {wanted}; known: {_listed(shipped(*kinds))}"
    near = did_you_mean(text, names_of(*kinds))
    near = near if "did you mean" in near else ";"
    return f"{text!r:.80} is no shipped {wanted}, and no file{near} known: {_listed(shipped(*kinds))}"


def _listed(names: Mapping[str, object]) -> str:
    """Return names for a message, shortened with a pointer to the full list if they are too many."""
    text = ""
    for number, name in enumerate(names):
        if len(text) + len(name) > LONGEST_LIST:
            return f"{text}and {len(names) - number} more ({ALL_NAMES})"
        text += f"{name}, "
    return text.removesuffix(", ")


def _error(kinds: Sequence[Kind]) -> type[HDeepRMError]:
    errors = {"platform": PlatformError, "trace": WorkloadError, "workload": WorkloadError, "offsets": WorkloadError}
    return errors.get(kinds[0], OptionsError)


def _is_of_archive(text: str, kinds: Sequence[Kind]) -> bool:
    return "trace" in kinds and looks_like_a_name(text) and text in _archive()


def _warn(name: str, title: str) -> None:
    import logging  # needed only for warnings

    message = "%s: is taken as the shipped %s; write ./%s for the file of this folder"
    logging.getLogger(__name__).warning(message, name, title, name)


def _archive() -> Sequence[str]:
    from hdeeprm_like.formats.archive import TRACES  # it imports the download code, which is slow

    return tuple(TRACES)


def _stored(name: str) -> Path:
    """Return the file of a trace of the archive.

    Raises:
        WorkloadError: it has not been downloaded yet; the message says how.
    """
    from hdeeprm_like.formats.archive import trace_folder

    for ending in (".swf.gz", ".swf"):
        if (path := trace_folder() / f"{name}{ending}").exists():
            return path
    raise WorkloadError(f"{name}: is too large for the package; download it once with: hdeeprm-like fetch-trace {name}")
