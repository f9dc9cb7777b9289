"""Sections of the options file without decisions: conversion of traces, and training of agents."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from hdeeprm_like.formats.job_rules import RulesName
from hdeeprm_like.limits import BRANCHES, CORES, DECISIONS, ENVS, EPISODES, JOBS, SLOTS, Limit, refusal


class Section(BaseModel):
    """A section of the file: no unknown keys, no silent conversions, no changes afterwards.

    Validators are built with the first file that is read (``defer_build``), all at once and not section by section, so
    default sections are made without them (``model_construct``).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def option(default: Any, description: str, *, least: int = 1, most: Limit | None = None, **more: Any) -> Any:
    """Return an option of a section: its default, what the schema says of it, and the bounds of a whole number."""
    if most is None:
        return Field(default, description=description, **more)
    found = Field(default, description=description, ge=least, **more)
    found.metadata.append(at_most(most))
    return found


def at_most(limit: Limit) -> AfterValidator:
    """Return what refuses whole numbers of an option above a limit; none at all is not above it."""

    def within(value: int | None) -> int | None:
        if value is not None and value > limit.most:
            raise ValueError(f"{shown(value)}: {refusal(limit)}")
        return value

    return AfterValidator(within)


def shown(value: Any) -> str:
    """Return a wrong value in the form that messages quote."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


Seed = Annotated[int, Field(ge=0, lt=2**63)]
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Load = Annotated[float, Field(gt=0.0, le=10.0)]


class TraceOptions(Section):
    """Conversion of a trace to a workload, or a model of jobs, beyond the thesis' schema."""

    skip: int = option(0, "Jobs of the trace to leave out at its beginning.", least=0, most=JOBS)
    max_time: Positive | None = option(None, "s; longer requests are left out.")
    max_cores: int | None = option(
        None, "Larger jobs are left out; those larger than the machine, too, which are an error otherwise.", most=CORES
    )
    max_memory: Positive | None = option(None, "MB per core.")
    max_bandwidth: Positive | None = option(None, "GB/s per core.")
    runtimes: Literal["accuracy", "trace"] = option(
        "accuracy", "Real run times: drawn by the accuracy of requests, or those of the trace."
    )
    reading: RulesName = option(
        "standard", "Rules by which lines are jobs: those of SWF, of HDeepRM's converter or of RLScheduler."
    )
    missing_memory: Amount | None = option(None, "MB per core of jobs with unknown memory; without it they need none.")
    model: Literal["lublin", "mao", "ksu", "campaigns"] | None = option(
        None, "Jobs are drawn from a model; no trace is read."
    )
    preset: str | None = option(None, "Published parameters of the model, e.g. 'whole' or 'scenario-1'.")
    parameters: dict[str, Any] = option({}, "Parameters of the model; 'nodes' adapts it to another machine.")
    columns: Literal["model", "hdeeprm"] = option(
        "model", "Whether bandwidths, and memories if the model has none, are drawn as HDeepRM does."
    )
    estimates: str | dict[str, Any] | None = option(
        None, "Requested times, except in complete workloads: a model by name, or 'model' and its parameters."
    )

    @model_validator(mode="after")
    def parameters_have_a_model(self) -> "TraceOptions":
        """Refuse parameters without a model."""
        if self.model is None and (self.preset is not None or self.parameters or self.columns != "model"):
            raise ValueError("preset, parameters and columns belong to a model, which is missing")
        return self


class PolicyIterationSection(Section):
    """How ``train --method policy_iteration`` improves an agent."""

    iterations: int = option(6, "In all.", most=EPISODES)
    windows: int = option(64, "Episodes of an iteration, played side by side.", most=ENVS)
    every: int = option(
        25, "Decisions of an episode from one that is compared to the next, in the mean.", most=DECISIONS
    )
    alternatives: int = option(
        3, "Actions tried at such a decision, drawn by the policy; 0 for all that are legal.", least=0, most=SLOTS
    )
    horizon: Amount = option(172800.0, "s that both branches are followed for; 0 to the end of the episode.")
    lasts: Amount = option(3600.0, "s for which another policy is applied.")
    branches: int = option(512, "Forks of simulations in memory at once.", least=2, most=BRANCHES)
    start: str | None = option(
        None, "Name of the action that the agent prefers at first, whatever it sees, as 'saf+reserve:32'."
    )
    step: Positive = option(10.0, "By how much logits move for an advantage of one standard deviation.")
    shares: Annotated[list[PositiveShare], Field(min_length=1, max_length=16)] = option(
        [0.5, 1.0], "Shares of the way from the policy to what was learned, tried in validation."
    )
    sure: Amount = option(
        2.0, "By how many standard errors a candidate has to be better than the policy to replace it."
    )
    epochs: int = option(10, "Passes over the compared decisions, at most.", most=EPISODES)
    minibatch: int = option(512, "Decisions in a gradient step.", most=DECISIONS)
    huber: Positive = option(3.0, "Standard deviations from which on the loss of an advantage is linear.")


class TrainingSection(Section):
    """Training of learning agents, beyond the thesis' schema."""

    episodes: int = option(350, "Number of training episodes.", most=EPISODES)
    steps: int = option(0, "Decisions to learn from, in place of episodes.", least=0, most=DECISIONS)
    n_steps: int = option(
        0, "Decisions of each episode between two updates; 0 learns from whole episodes.", least=0, most=DECISIONS
    )
    envs: int = option(1, "Parallel episodes of one update.", most=ENVS)
    parts: int = option(
        1, "Parts of these episodes, each with its own random numbers; an engine distributes them.", most=ENVS
    )
    alike: int = option(1, "Consecutive episodes with the same jobs.", most=EPISODES)
    fragment_jobs: int | None = option(
        None, "Jobs of each episode, a fragment of the workload; the whole workload if missing.", most=JOBS
    )
    candidates: int = option(1, "Each fragment is the busiest of so many drawn ones.", most=EPISODES)
    compression: Annotated[float, Field(ge=1)] = option(1.0, "Jobs arrive up to so many times faster.")
    load: Annotated[list[Load], Field(min_length=2, max_length=2)] | None = option(
        None,
        "Arrivals are scaled to a load, drawn between these for each episode; "
        "of fragments only in those to learn from.",
    )
    prior: int = option(
        0,
        "Training episodes in which each action runs as a constant policy; agents first prefer the best.",
        least=0,
        most=EPISODES,
    )
    baseline: str | None = option(
        None, "Policy whose returns on the same jobs are subtracted at each time, e.g. 'sjf+easy'."
    )
    imitate: str | None = option(
        None, "Policy that agents imitate before training, e.g. 'sjf+easy' or 'saf+reserve:32'."
    )
    imitate_episodes: int = option(64, "Episodes of the imitated policy.", most=ENVS)
    imitate_epochs: int = option(20, "Passes over its decisions.", most=EPISODES)
    checkpoint_every: int = option(100, "Episodes between two checkpoints.", most=EPISODES)
    evaluate_every: int = option(0, "Episodes between two evaluations, 0 for none.", least=0, most=EPISODES)
    evaluation_episodes: int = option(10, "Size of the fixed evaluation set.", most=ENVS)
    greedy: bool = option(True, "Whether tests take the most probable action instead of drawing one.")
    clock: Literal["batsim", "textbook", "one-by-one"] = option(
        "batsim",
        "Of training episodes: Batsim's, the faster one where messages take no time, or that one with a "
        "decision after each single arrival or end.",
    )
    best: Literal["reward", "mean_slowdown", "bounded_slowdown", "wait", "makespan"] = option(
        "reward", "Measure that selects best.pt."
    )
    policy_iteration: PolicyIterationSection = option(
        PolicyIterationSection.model_construct(), "Of the method policy_iteration."
    )
    held_out: int = option(
        0,
        "Held-out episodes that the best agent plays at the end, and each action as a constant policy.",
        least=0,
        most=ENVS,
    )

    @field_validator("load")
    @classmethod
    def load_rises(cls, load: list[float] | None) -> list[float] | None:
        """Refuse a range whose end is below its beginning."""
        if load is not None and load[0] > load[1]:
            raise ValueError(f"{load}: the smallest and the largest load are needed, in this order")
        return load
