"""The options file of an experiment: HDeepRM's schema (thesis 4.3, appendix F), validated.

Unknown and wrong values are refused with their path in the file and the nearest right name.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from hdeeprm_like.decision import specs
from hdeeprm_like.decision.names import CORE_POLICY_NAMES, JOB_POLICY_NAMES, Baseline, Pair, policy_in
from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.decision.rates import file_of_rates
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.open import names
from hdeeprm_like.inputs import read_json
from hdeeprm_like.limits import CORES, JOBS, SLOTS, STEPS, UNITS, refusal
from hdeeprm_like.option_sections import (
    Amount,
    Positive,
    PositiveShare,
    Section,
    Seed,
    Share,
    TraceOptions,
    TrainingSection,
    option,
    shown,
)
from hdeeprm_like.refusals import LAUNCH

ALL_PAIRS = tuple(f"{job}-{core}" for job in JOB_POLICY_NAMES for core in CORE_POLICY_NAMES)


def check_part(name: str, known: Sequence[str]) -> None:
    """Raise a ValueError if *name* is neither known nor a user's own, ``'file.py:attribute'``."""
    if ":" not in name and name not in known:
        raise ValueError(f"{name!r} is not known{did_you_mean(name, known)}")


def one_of(known: Iterable[str]) -> AfterValidator:
    """Return what refuses names of parts that are neither known nor a user's own."""

    def checked(name: str) -> str:
        check_part(name, tuple(known))
        return name

    return AfterValidator(checked)


def checked_policy(name: str, driver: str = "") -> Pair | Baseline:
    """Return the policy of a name; raise a ValueError if there is none, or it is not for this driver."""
    try:
        return policy_in(name, driver)
    except OptionsError as error:
        raise ValueError(str(error)) from None


def launched(name: str) -> str:
    """Return the name of a policy for a launch; raise a ValueError if there is none, or a launch cannot play it."""
    checked_policy(name, LAUNCH)
    return name


LaunchedPolicy = Annotated[str, AfterValidator(launched)]


class ActionOptions(Section):
    """The actions of an agent: policy pairs (thesis 3.2.3.2), or jobs of the window, and nodes for them."""

    kind: Annotated[str, one_of(specs.ACTIONS)] | None = option(
        None,
        "Policies, jobs or machines; write your own as 'file.py:attribute'.",
        examples=list(specs.ACTIONS),
    )
    selection: list[dict[str, list[str]]] = option(
        [],
        "Objects with a job policy, built-in or 'file.py:attribute', and its core policies; empty for all 36.",
    )
    policies: list[str] = option(
        [],
        "In place of a selection: policies by name, pairs and baselines.",
        examples=[["sjf+easy", "f1+conservative", "shortest-high_gflops"]],
    )
    void: bool = option(False, "For policies: whether the agent may also decide to wait.")
    core_policy: Annotated[str, one_of(CORE_POLICY_NAMES)] | None = option(
        None, "For jobs: core policy that places them."
    )
    waiting: bool | None = option(None, "For machines: whether the agent may wait.")
    masked: bool = option(
        True, "Whether masks mark the legal actions; else an illegal action acts as a wait, with its reward."
    )

    @field_validator("selection")
    @classmethod
    def known(cls, selection: list[dict[str, list[str]]]) -> list[dict[str, list[str]]]:
        """Refuse policies that do not exist."""
        for group in selection:
            for job, cores in group.items():
                check_part(job, JOB_POLICY_NAMES)
                for core in cores:
                    checked_policy(f"{job}-{core}")
        return selection

    @field_validator("policies")
    @classmethod
    def known_policies(cls, policies: list[str]) -> list[str]:
        """Refuse policies that do not exist, and those that are listed twice."""
        found = [checked_policy(policy) for policy in policies]
        for name, policy in zip(policies, found, strict=True):
            if found.count(policy) > 1:
                raise ValueError(f"{name!r} is listed twice")
        return policies

    @model_validator(mode="after")
    def policies_stand_alone(self) -> "ActionOptions":
        """Refuse policies together with a selection or another kind."""
        if self.policies and self.selection:
            raise ValueError("selection and policies exclude one another; policies may name pairs, too")
        if self.policies and self.kind not in (None, "policies"):
            raise ValueError(f"policies are of the kind 'policies', not {self.kind!r}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the listed policies, or of the selected pairs, in the order of the file."""
        listed = [f"{job}-{core}" for group in self.selection for job, cores in group.items() for core in cores]
        return tuple(self.policies) or tuple(dict.fromkeys(listed)) or ALL_PAIRS


class WindowOptions(Section):
    """The part of the queue that an agent sees and chooses from; the default is the preset's."""

    head: int | None = option(None, "Slots for the first jobs of the queue.", least=0, most=SLOTS)
    tail: int | None = option(None, "Slots for the last jobs of the queue.", least=0, most=SLOTS)
    order: specs.QueueOrder | None = option(None, "Order of the queue that fills the slots; by arrival if missing.")
    opens: specs.Opens | None = option(
        None, "When the agent decides: jobs wait, a job of the window fits, or at every time step."
    )
    step: Amount | None = option(None, "s of one wait; 0 until the next event.")
    jump: bool = option(False, "Whether a wait lasts until the next event, whatever the step.")


class EnvOptions(Section):
    """Observation, actions and reward (thesis 3.2.3, 3.2.4); the default is the preset's."""

    preset: specs.Preset = option("HDeepRM", "A published decision space.")
    objective: str | dict[str, float] | None = option(
        None,
        "Objective of the reward, or several with weights; write your own as 'file.py:attribute'. "
        "Cost and CO2 hold a file of values over time: 'cost:tariff.csv', 'carbon:intensity.csv'.",
        examples=list(specs.OBJECTIVES),
    )
    reward: specs.Mode | None = option(
        None, "Reward from the objective: its value right after a decision, its sum until the next, ..."
    )
    gamma: Share | None = option(None, "Discount of the reward 'discounted' for each time step.")
    actions: ActionOptions = ActionOptions.model_construct()
    window: WindowOptions = WindowOptions.model_construct()
    observation: Annotated[str, one_of(specs.OBSERVATIONS)] | None = option(
        None,
        "What the agent sees; write your own observation as 'file.py:attribute'.",
        examples=list(specs.OBSERVATIONS),
    )
    horizon: int | None = option(None, "Time steps or events to look ahead.", most=STEPS)
    backlog: int | None = option(None, "Jobs outside the window in an image.", least=0, most=SLOTS)
    memory_units: int | None = option(None, "Columns for memory in an image.", least=0, most=STEPS)
    queue_sensitivity: PositiveShare = option(0.05, "Relative change of the queue at the limit of its feature.")
    until: Amount = option(0.0, "s after which an episode ends; 0 for the end of all jobs. Launches run all jobs.")
    placed: int = option(
        0,
        "Placed jobs after which an episode ends, while others still arrive; 0 for the end of all jobs.",
        least=0,
        most=JOBS,
    )
    wait: bool = option(False, "Whether observations include the waits of the jobs in the slots and the clock.")
    rates: bool = option(False, "Whether observations include the hour and the rates of objectives as cost:tariff.csv.")

    @field_validator("objective")
    @classmethod
    def known_objective(cls, objective: str | dict[str, float] | None) -> str | dict[str, float] | None:
        """Refuse objectives that do not exist."""
        for name in [objective] if isinstance(objective, str) else objective or []:
            try:
                named = file_of_rates(name)
            except OptionsError as error:
                raise ValueError(str(error)) from None
            if named is None:
                check_part(name, tuple(specs.OBJECTIVES))
        return objective


class AgentOptions(Section):
    """The agent (thesis 4.3); further keys of a learning agent go to its constructor by name."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, allow_inf_nan=False)

    type: Literal["CLASSIC", "LEARNING"] = option("CLASSIC", "Fixed policy pair, or learned.")
    policy_pair: LaunchedPolicy | None = option(
        None,
        "Pair of a classic agent, e.g. 'shortest-high_gflops', baseline, e.g. 'sjf+easy-best_fit', or "
        "learned "
        "policy, as 'zoo:steady'; may be called policy.",
    )
    run: Literal["train", "test"] | None = option(None, "Whether a learning agent learns or is evaluated.")
    hidden: Annotated[int, Field(ge=1)] | list[Annotated[int, Field(ge=1)]] | None = option(
        None, "Units in each hidden layer; or a list with one number for each layer, for agents that support it."
    )
    lr: Positive | None = option(None, "Learning rate.")
    gamma: Share | None = option(None, "Discount of later rewards.")

    @model_validator(mode="before")
    @classmethod
    def policy_is_a_policy_pair(cls, section: Any) -> Any:
        """Take ``policy`` of a classic agent for its ``policy_pair``, as at the top of an options file."""
        if not isinstance(section, dict) or "policy" not in section or section.get("type", "CLASSIC") != "CLASSIC":
            return section
        if section.get("policy_pair") is not None:
            raise ValueError("policy is short for policy_pair; leave one out")
        return {name: value for name, value in section.items() if name != "policy"} | {"policy_pair": section["policy"]}

    @field_validator("hidden", mode="before")
    @classmethod
    def units(cls, hidden: Any) -> Any:
        """Refuse layers without units, or with too many, in one line."""
        layers = hidden if isinstance(hidden, list) else [hidden]
        if hidden is not None and not (layers and all(type(units) is int and units > 0 for units in layers)):
            raise ValueError(f"{shown(hidden)}: a number of units of at least 1, or a list of such numbers, is needed")
        if any(units > UNITS.most for units in layers if hidden is not None):
            raise ValueError(f"{shown(hidden)}: {refusal(UNITS)}")
        return hidden

    @model_validator(mode="after")
    def classic_has_no_extras(self) -> "AgentOptions":
        """Refuse unknown keys of a classic agent."""
        if self.type == "CLASSIC" and self.model_extra:
            name = next(iter(self.model_extra))
            raise ValueError(f"{name!r} is not known for a CLASSIC agent{did_you_mean(name, type(self).model_fields)}")
        return self


class PybatsimOptions(Section):
    """The decision system (thesis 4.3)."""

    log_level: Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"] = "WARNING"
    env: EnvOptions = EnvOptions.model_construct()
    agent: AgentOptions = AgentOptions.model_construct()
    seed: Seed | None = option(None, "Copied here by the original's launcher.")


class Options(Section):
    """An experiment (thesis 4.3, appendix F)."""

    seed: Seed = Field(description="Seed of everything random in the experiment.")
    nb_resources: int | None = option(None, "Cores of the platform, to check it.", most=CORES)
    nb_jobs: int | None = option(
        None, "Jobs taken from the trace, which is read only as far as they need; all if missing.", most=JOBS
    )
    workload_file_path: str = option("", f"Jobs, a name, e.g. 'gaia', or a file: {names('trace', 'workload')}.")
    platform_file_path: str | int = option(
        "",
        f"Platform, a name, e.g. 'gaia', a file: {names('platform')}; or cores of a pool of equal ones.",
    )
    type_file_paths: list[str] = option([], "Files or folders that extend the types.")
    network: bool = option(
        False, "Whether the embedded simulator simulates messages and latencies as Batsim does, job by job."
    )
    policy: str | None = option(None, "Short for pybatsim.agent.policy_pair: 'sjf+easy', 'zoo:steady'.")
    whole: bool = option(
        False, "Whether a baseline places each job on a single node; a job too large for every node is rejected."
    )
    workload: TraceOptions = TraceOptions.model_construct()
    pybatsim: PybatsimOptions = PybatsimOptions.model_construct()
    training: TrainingSection = TrainingSection.model_construct()

    @field_validator("platform_file_path", mode="before")
    @classmethod
    def is_a_platform(cls, platform: Any) -> Any:
        """Refuse what is neither text nor a whole number in one line."""
        if type(platform) not in (str, int):
            raise ValueError(f"{shown(platform)}: a name, a file, or the cores of a pool as a whole number is needed")
        return platform

    @model_validator(mode="after")
    def classic_follows_one_pair(self) -> "Options":
        """Refuse a classic agent without exactly one policy pair."""
        agent, actions = self.pybatsim.agent, self.pybatsim.env.actions
        if self.whole and agent.type != "CLASSIC":
            raise ValueError("whole: needs a baseline; a LEARNING agent with the actions 'machines' chooses one node")
        if self.policy is not None:
            checked_policy(self.policy, LAUNCH)
            if agent.policy_pair is not None or agent.type != "CLASSIC":
                raise ValueError(
                    "policy: needs a CLASSIC agent without pybatsim.agent.policy_pair; omit one of the two"
                )
            return self
        if agent.type == "CLASSIC" and agent.policy_pair is None and len(actions.names) != 1:
            raise ValueError(
                f"pybatsim.agent: a CLASSIC agent follows one policy pair, {len(actions.names)} are given; set "
                "pybatsim.agent.policy_pair, or select one pair in pybatsim.env.actions.selection"
            )
        if agent.type == "CLASSIC" and agent.policy_pair is None:
            checked_policy(self.classic_policy, LAUNCH)
        return self

    @property
    def classic_policy(self) -> str:
        """The name of the policy of a classic agent."""
        return self.policy or self.pybatsim.agent.policy_pair or self.pybatsim.env.actions.names[0]


def read_options(path: Path) -> Options:
    """Read and validate an options file.

    Raises:
        OptionsError: with the path of the first wrong value in the file.
    """
    content = read_json(path, OptionsError)
    if not isinstance(content, dict):
        raise OptionsError(f"{path}: an object with the options of an experiment is needed")
    try:
        return Options.model_validate(beside(content, path.parent))
    except ValidationError as error:
        problems = error.errors()
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise OptionsError(f"{path}: {explain(problems[0])}{more}") from None


def explain(problem: Any, options: Any = Options) -> str:
    """Convert one of pydantic's errors about *options* to our one line."""
    parts = (part[:60] for part in map(str, problem["loc"]))
    location = ".".join(part if part.isprintable() else repr(part) for part in parts)
    prefix = f"{location}: " if location else ""
    if problem["type"] == "extra_forbidden":
        *parents, name = problem["loc"]
        return f"{prefix}is not known{did_you_mean(str(name), fields_at(parents, options))}"
    if problem["type"] == "missing":
        return f"{prefix}is missing"
    if problem["type"] == "literal_error":
        known = [part.strip("' ") for part in problem["ctx"]["expected"].replace(" or ", ", ").split(",")]
        near = did_you_mean(str(problem["input"]), known)
        choices = "" if near.startswith("; known") else f"; known: {', '.join(known)}"
        return f"{prefix}{shown(problem['input'])} is not known{near}{choices}"
    if problem["type"] == "value_error":
        return f"{prefix}{problem['ctx']['error']}"
    return f"{prefix}{shown(problem['input'])}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def fields_at(location: Sequence[Any], options: Any = Options) -> list[str]:
    """Return the known keys of a section, which may be an element of a list; none where there is no section."""
    section = options
    for name in location:
        if isinstance(name, int):
            continue
        inner = section.model_fields[name].annotation if name in section.model_fields else None
        section = next((one for one in (inner, *get_args(inner)) if hasattr(one, "model_fields")), None)
        if section is None:
            return []
    return list(section.model_fields)


def schema() -> dict[str, Any]:
    """Return the JSON schema of the options file."""
    content = Options.model_json_schema()
    content["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    content["title"] = "Options of an hdeeprm_like experiment"
    return content
