"""An experiment: read and check the options file and all files that it names."""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import ValidationError

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload, without_larger
from hdeeprm_like.decision.rates import file_of_rates, read_rates
from hdeeprm_like.errors import HDeepRMError, OptionsError, WorkloadError
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.formats.job_reading import Larger, Reading
from hdeeprm_like.formats.job_rules import RULES
from hdeeprm_like.formats.open import Holds, format_of, has_ending_of, load_platform, load_trace, load_workload
from hdeeprm_like.formats.shipped import Kind, found
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.trace_jobs import Limits, convert, knows_memory
from hdeeprm_like.job_checks import check_jobs
from hdeeprm_like.options import EnvOptions, Options, read_options
from hdeeprm_like.records import Record
from hdeeprm_like.values import SEED

if TYPE_CHECKING:
    from hdeeprm_like.decision.presets import Space

log = logging.getLogger(__name__)

RANDOM_POLICIES = 1  # streams of the experiment's seed, by their number
CONVERTER = 0
MODEL = 2
ESTIMATES = 3
LOAD = 4

WORKLOAD_OF_RUN, PLATFORM_OF_RUN = "workload.json", "platform.xml"  # in the folder of a run

VALIDATION, HELD_OUT = 2**31, 3 * 2**30  # episodes of a model from here on are not used in training

JobsOf: TypeAlias = Callable[[int], Workload]  # from the number of an episode


class Overrides(Record):
    """Values of the command line that override the options file; paths are relative to the current folder.

    Attributes:
        network: whether Batsim simulates the jobs, which may send messages. cores: of a pool in place of a platform.
        leave_out_larger: whether jobs of a workload larger than the platform are left out, as those of a trace are.
    """

    platform: Path | None = None
    trace: Path | None = None
    workload: Path | None = None
    seed: int | None = None
    network: bool = False
    leave_out_larger: bool = False
    cores: int | None = None


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment, read and checked.

    Attributes:
        options: of the file and the command line.
        platform_path, workload_path: their files.
        platform, workload: their contents.
        options_path: of the options file.
    """

    options: Options
    platform_path: Path
    workload_path: Path
    platform: Platform
    workload: Workload
    options_path: Path = Path()

    def rng(self, stream: int) -> np.random.Generator:
        """Return a generator for one purpose; the same for the same seed."""
        return generator(self.options.seed, stream)

    @property
    def space(self) -> "Space":
        """The decision space: observation, actions and reward."""
        return space_of(self.options.pybatsim.env, self.options_path.parent)

    @property
    def policy_seed(self) -> int:
        """Seed of the random policies."""
        return seed_of_policies(self.options.seed)


def generator(seed: int, stream: int) -> np.random.Generator:
    """Return the generator of one stream of an experiment's seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


def seed_of_policies(seed: int) -> int:
    """Return the seed of the random policies in an experiment with a seed."""
    SEED.of(seed, OptionsError, "seed")
    return int(generator(seed, RANDOM_POLICIES).integers(2**63))


class Readers(NamedTuple):
    """The readers of the two large files of an experiment; a caller may pass readers that cache them.

    That of a trace may stop when the jobs read so far are enough, as a function says.
    """

    platform: Callable[[Path, Sequence[Path]], Platform] = load_platform
    trace: Callable[[Path, Callable[[Trace], bool] | None], Trace] = load_trace


READERS = Readers()


def load_experiment(path: Path, overrides: Overrides | None = None) -> Experiment:
    """Read an options file and everything that it names.

    Raises:
        HDeepRMError: something is missing, malformed or does not fit together.
    """
    return experiment_of(path, read_options(path), overrides)


def experiment_of(
    path: Path, options: Options, overrides: Overrides | None = None, readers: Readers = READERS
) -> Experiment:
    """Read everything that options name.

    Args:
        path: of their file, which their paths are relative to, and which messages name.

    Raises:
        HDeepRMError: something is missing, malformed or does not fit together.
    """
    overrides = overrides or Overrides()
    if overrides.seed is not None:
        options = options.model_copy(update={"seed": overrides.seed})
    if overrides.cores is not None:
        if overrides.platform is not None:
            raise OptionsError("--cores and --platform exclude one another: the machine is one of them")
        options = options.model_copy(update={"platform_file_path": overrides.cores})
    platform_path, platform = platform_of(path, options, overrides.platform, readers)
    if options.nb_resources not in (None, platform.cores):
        message = f"{path}: nb_resources: {options.nb_resources}, but {platform_path} has {platform.cores} cores"
        if overrides.platform is None and overrides.cores is None:
            raise OptionsError(message)
        log.info("%s; the platform counts", message)
    check_rates(options.pybatsim.env, path.parent)
    experiment = load_jobs(path, options, platform, overrides, readers)
    if options.network and not overrides.network:
        from hdeeprm_like.cluster.links import with_network

        experiment = replace(experiment, platform=with_network(platform))
    return replace(experiment, platform_path=platform_path, options_path=path)


def platform_of(
    path: Path, options: Options, override: Path | None, readers: Readers = READERS
) -> tuple[Path, Platform]:
    """Return the file of the platform, or the number of its cores, and the platform.

    Args:
        path: of the options file. override: a file that counts in place of what the options name.
    """
    named = options.platform_file_path
    if override is None and isinstance(named, int):
        try:
            return Path(str(named)), platform_from(named)
        except OptionsError as error:
            raise OptionsError(f"{path}: platform_file_path: {str(error).removeprefix('platform: ')}") from None
    file = override or named_path(path, str(named), "platform_file_path", "--platform or --cores", "platform")
    return file, readers.platform(file, [path.parent / name for name in options.type_file_paths])


def are_options_of(recorded: object, experiment: Experiment) -> bool:
    """Return whether recorded options equal those of an experiment; missing ones have their defaults."""
    try:
        return Options.model_validate(recorded).model_dump() == experiment.options.model_dump()
    except ValidationError:
        return False


def check_rates(env: EnvOptions, folder: Path) -> None:
    """Refuse unreadable files of costs or emissions, even if a launch uses no rewards.

    Raises:
        OptionsError: the objective names one.
    """
    for name in [env.objective] if isinstance(env.objective, str) else env.objective or []:
        file = file_of_rates(name)
        if file is not None:
            read_rates(folder / file)


def space_of(env: EnvOptions, folder: Path) -> "Space":
    """Return the decision space of an options file: a preset, with the parts that the file replaces.

    Args:
        folder: that the paths of the user's own Python files are relative to.

    Raises:
        OptionsError: an object of the user's own cannot be loaded.
    """
    from hdeeprm_like.decision.named_parts import space_with  # only agents that learn need it, and their environments
    from hdeeprm_like.decision.presets import PRESETS

    actions, window = env.actions, env.window
    given: dict[str, Any] = {
        **{name: getattr(env, name) for name in ("observation", "reward", "gamma")},
        **{name: getattr(env, name) for name in ("horizon", "backlog", "memory_units", "queue_sensitivity")},
        **{name: getattr(env, name) for name in ("wait", "rates", "until", "placed")},
        **{name: getattr(window, name) for name in ("head", "tail", "order", "opens", "step", "jump")},
        **{name: getattr(actions, name) for name in ("core_policy", "waiting", "void", "masked")},
        "actions": actions.policies or actions.kind,
        "pairs": actions.names if actions.selection else None,
        "objectives": env.objective,
    }
    return space_with(PRESETS[env.preset], given, folder)


def episodes_of(experiment: Experiment) -> tuple[JobsOf, JobsOf, JobsOf]:
    """Return the jobs of episodes for training, for validation, and held out, by number."""
    from hdeeprm_like.run.episodes import Fragments  # only agents that learn need it

    training = experiment.options.training
    if experiment.options.workload.model is not None:
        made = partial(made_jobs, experiment.options_path, experiment.options, experiment.platform)
        if training.load is not None:
            made = partial(loaded, made, experiment, training.load)
        return made, lambda number: made(VALIDATION + number), lambda number: made(HELD_OUT + number)
    if training.fragment_jobs is not None:
        fragments = Fragments(
            experiment.workload,
            training.fragment_jobs,
            experiment.options.seed,
            training.candidates,
            training.compression,
        )
        drawn = partial(loaded, fragments, experiment, training.load) if training.load is not None else fragments
        return drawn, fragments.validation, fragments.held_out
    whole = partial(the_same, experiment.workload)
    return whole, whole, whole


def loaded(jobs_of: JobsOf, experiment: Experiment, load: list[float], number: int) -> Workload:
    """Return the jobs of an episode with arrivals scaled to a drawn load."""
    from hdeeprm_like.run.episodes import stretched

    rng = np.random.default_rng(np.random.SeedSequence(experiment.options.seed, spawn_key=(LOAD, number)))
    machine = experiment.platform
    return stretched(jobs_of(number), machine.cores, float(rng.uniform(load[0], load[1])), machine.reference_flops)


def the_same(workload: Workload, number: int) -> Workload:
    """Return the jobs of an episode, the same for all episodes."""
    return workload


def named_path(options_path: Path, name: str, key: str, flag: str, *kinds: Kind) -> Path:
    """Return the file of a name or path in the options file; paths are relative to that file.

    Raises:
        OptionsError: there is neither.
        HDeepRMError: there is no such name among the *kinds*.
    """
    if not name:
        raise OptionsError(f"{options_path}: {key}: is missing; set it or give {flag}")
    try:
        return Path(os.path.normpath(found(name, *kinds, folder=options_path.parent)))
    except HDeepRMError as error:
        raise type(error)(f"{options_path}: {key}: {error}") from None


def is_left_by_run(path: Path, holds: Holds) -> bool:
    """Return whether a platform or workload has the format of the files in the folders of runs."""
    left = Path(PLATFORM_OF_RUN if holds == "platform" else WORKLOAD_OF_RUN)
    return has_ending_of(path, holds) and format_of(path, holds) is format_of(left, holds)


def load_jobs(
    path: Path, options: Options, platform: Platform, overrides: Overrides, readers: Readers = READERS
) -> Experiment:
    """Read the jobs: read a workload, convert a trace, or generate jobs by a model.

    If the options name both a complete workload (JSON) and a model, the workload is used: the options of a run do so.
    """
    if overrides.trace and overrides.workload:
        raise OptionsError("--trace and --workload exclude one another: the jobs come from one of them")
    source = overrides.workload or overrides.trace
    own = options.workload_file_path
    if source is None and options.workload.model and not is_left_by_run(Path(own), "workload"):
        if own:
            raise OptionsError(f"{path}: workload.model and workload_file_path exclude one another")
        workload = made_jobs(path, options, platform)
        check_jobs(path, workload, platform)
        return Experiment(options, Path(), Path(options.workload.model), platform, workload)
    key, flag = "workload_file_path", "--trace or --workload"
    source = source or named_path(path, options.workload_file_path, key, flag, "workload", "trace")
    if overrides.workload or (not overrides.trace and has_ending_of(source, "workload")):
        flops, network = platform.reference_flops, options.network or overrides.network or platform.routes is not None
        workload = load_workload(source, reference_flops=flops, capacity=platform.cores, network=network)
        if platform.partitions is None and source.name.endswith((".csv", ".csv.gz")):
            workload = replace(workload, demands=None)  # a log has the nodes of its own machine, not of this platform
        if overrides.leave_out_larger:
            workload = without_larger(workload, platform.cores)
        check_jobs(source, workload, platform)
        if workload.account is not None:
            workload.account.say()
        return Experiment(options, Path(), source, platform, workload)
    return converted(path, options, platform, source, readers)


def converted(
    path: Path, options: Options, platform: Platform, source: Path, readers: Readers, larger: Larger = "leave out"
) -> Experiment:
    """Read a trace as far as needed, and convert it as the options say.

    Args:
        path: of the options file. source: of the trace.
        larger: what becomes of jobs larger than the platform; an experiment leaves them out as HDeepRM's converter
            does, so that it may take the trace of a larger machine, and the account says so.
    """
    how = options.workload
    reading = Reading(platform.cores, larger, RULES[how.reading], missing_memory=how.missing_memory)

    def conversion(lines: Trace) -> Workload:
        return convert(
            lines,
            reading,
            reference_flops=platform.reference_flops,
            capacity=platform.cores,
            rng=generator(options.seed, CONVERTER),
            first=options.nb_jobs,
            skip=how.skip,
            limits=Limits(how.max_time, how.max_cores, how.max_memory, how.max_bandwidth),
            runtimes=how.runtimes,
            partitions=platform.partitions is not None,
        )

    def enough(trace: Trace) -> bool:
        if len(trace) < how.skip + (options.nb_jobs or 0) or not (trace.requested_time > 0.0).any():
            return False  # field 6 may hold the requested times of a trace without any
        if not knows_memory(trace):
            return False  # the rest of the trace decides what unknown memory means
        try:
            return len(conversion(trace)) == options.nb_jobs
        except WorkloadError:  # the whole trace says what is wrong
            return False

    # requests for partitions may stand in a file beside the trace, whose columns count as a whole
    workload = conversion(readers.trace(source, enough if options.nb_jobs and platform.partitions is None else None))
    check_jobs(source, workload, platform)
    if how.estimates is not None:
        from hdeeprm_like.cluster.synthetic.estimates import estimate_workload
        from hdeeprm_like.cluster.synthetic.models import estimates_named

        estimates = estimates_named(how.estimates, where=f"{path}: workload.estimates")
        workload = estimate_workload(workload, estimates, generator(options.seed, ESTIMATES))
    if workload.account is not None:
        workload.account.say()
    if options.nb_jobs and len(workload) < options.nb_jobs:
        log.warning("%s: holds %d jobs, %d were requested", source, len(workload), options.nb_jobs)
    return Experiment(options, Path(), source, platform, workload)


def made_jobs(path: Path, options: Options, platform: Platform, episode: int = 0) -> Workload:
    """Generate the jobs of one episode by the model of an options file; they vary with seed and episode.

    Args:
        path: of the options file, for messages.
    """
    from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named

    how = options.workload
    where = f"{path}: workload.parameters"
    assert how.model is not None
    try:
        model = model_named(how.model, how.preset, how.parameters, platform.cores, where)
        estimates = None
        if how.estimates is not None:
            estimates = estimates_named(how.estimates, where=f"{path}: workload.estimates")
        recipe = Recipe(model, estimates, how.columns)
        rng = np.random.default_rng(np.random.SeedSequence(options.seed, spawn_key=(MODEL, episode)))
        jobs = recipe.jobs(options.nb_jobs, rng)
    except (OptionsError, WorkloadError) as error:
        message = str(error)
        raise OptionsError(message if message.startswith(str(path)) else f"{path}: workload: {message}") from None
    return replace(jobs.workload(platform.reference_flops), capacity=platform.cores)
