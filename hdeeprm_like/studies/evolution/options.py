"""The options file of an evolution: from where the search begins, on which jobs, and what counts as better."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_bytes, read_json
from hdeeprm_like.limits import CORES, ENVS, EPISODES, JOBS, WINDOWS
from hdeeprm_like.option_sections import Load, Positive, Section, Share, option
from hdeeprm_like.options import explain

OBJECTIVE = {"bounded_slowdown": 1.0, "bounded_slowdown_p95": 0.1, "wait": 0.3, "wait_max": 0.3, "utilization": 1.0}
OF_CORES = ("turnaround", "energy", "energy_delay_product")  # what the choice of cores changes
BOTH_WAYS = ("bounded_slowdown", "bounded_slowdown_p95", *OF_CORES)  # the others count only where they are worse
KNOWN = dict.fromkeys((*BOTH_WAYS, *OBJECTIVE))


class Source(Section):
    """Where windows come from: a part of a trace, or a model."""

    trace: str | None = option(None, "A trace by its name, or its path relative to the options file.")
    begin: Share = option(0.0, "Where the part of the trace begins that is learned from.")
    end: Share = option(1.0, "Where it ends.")
    step: int = option(1, "Windows begin at multiples of so many jobs of that part.", most=JOBS)
    model: Literal["lublin"] | None = option(None, "A model that makes jobs, in place of a trace.")
    preset: Literal["batch", "interactive", "whole", "both"] = option("batch", "Parameters of the model.")
    estimates: Literal["exact", "tsafrir"] = option("exact", "Of the users of a model.")
    users: int = option(1, "Users of a model, the busiest having most of the jobs.", most=JOBS)
    cores: int | None = option(
        None, "Of the machine, wider jobs taking all of it; as the trace says if missing.", most=CORES
    )
    wide: int = option(1, "Every number of cores is multiplied by it.", most=CORES)
    platform: str | None = option(
        None,
        "A machine by its name or path, in place of a pool of equal cores: jobs compute, and request "
        "memory and bandwidth; those of a model are for so many *cores* of it, or for all.",
    )
    gpu_jobs: Share = option(0.0, "Share of a model's jobs that request GPUs on the platform.")
    load: tuple[Load, Load] | None = option(
        None, "Each window is stretched to a load between these; as it is if missing."
    )

    @model_validator(mode="after")
    def one_of_both(self) -> "Source":
        """Refuse a source that is neither a trace nor a model, or both."""
        if (self.trace is None) == (self.model is None):
            raise ValueError("either trace or model is needed")
        if self.model is not None and self.cores is None and self.platform is None:
            raise ValueError("cores: are missing, those of the machine of the model")
        if self.end <= self.begin:
            raise ValueError(f"end: {self.end:g} is not after begin")
        if self.platform is not None and self.wide > 1:
            raise ValueError("wide: is for pools, not for a platform")
        if self.gpu_jobs and (self.platform is None or self.model is None):
            raise ValueError("gpu_jobs: is for the jobs of a model on a platform")
        return self


class Windows(Section):
    """The windows that candidates are tried on."""

    jobs: int = option(1024, "Of each window.", least=2, most=JOBS)
    per_generation: int = option(24, "New ones in each generation.", most=WINDOWS)
    validation: int = option(48, "Others, on which the best policy is chosen.", most=WINDOWS)
    validation_jobs: int | None = option(
        None, "Of each window of validation, as many as come in a month; jobs if missing.", least=2, most=JOBS
    )
    sources: Annotated[list[Source], Field(min_length=1)] = Field(description="Windows are of each in turn.")


class EvolutionOptions(Section):
    """How a policy is evolved."""

    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(description="Of windows and search.")
    policy: str = Field(description="A learned policy, from whose weights the search begins; beside the options file.")
    reference: str = option("saf+easy", "A baseline; candidates are measured by the ratios to it.")
    objective: dict[str, float] = option(
        OBJECTIVE, "What the mean logarithm of each ratio weighs; waits and utilization only where worse."
    )
    allowed: dict[str, float] = option(
        {}, "Ratios of waits and utilization to the reference that count as no worse; 1 if missing."
    )
    constraints: dict[str, float] = option(
        {},
        "Ratios of waits and utilization to the reference that must hold: candidates that break one are "
        "worse than all that do not, the more the worse (Deb, 2000).",
    )
    clock: Literal["textbook", "batsim"] = option("textbook", "Of the simulations.")
    stage: Literal["both", "usual", "exact"] = option(
        "both", "Whose weights are searched for; the other stage of the policy stays as it is."
    )
    generations: int = option(100, "In all.", most=EPISODES)
    population: int = option(16, "Candidates of a generation.", least=2, most=ENVS)
    spread: Positive = option(0.15, "Standard deviation of weights at the beginning.")
    validate_every: int = option(10, "Generations between two validations.", most=EPISODES)
    windows: Windows

    @model_validator(mode="after")
    def figures_are_known(self) -> "EvolutionOptions":
        """Refuse figures that are not computed here."""
        for name in self.objective:
            if name not in KNOWN:
                raise ValueError(f"objective: {name!r} is not known; known: {', '.join(KNOWN)}")
        for key in ("allowed", "constraints"):
            for name, ratio in getattr(self, key).items():
                if name not in OBJECTIVE or name in BOTH_WAYS or not ratio > 0.0:
                    known = ", ".join(one for one in OBJECTIVE if one not in BOTH_WAYS)
                    raise ValueError(f"{key}: {name!r}: {ratio:g}: ratios above 0 are needed, of {known}")
        return self


def read_evolution(path: Path) -> EvolutionOptions:
    """Read the options file of an evolution.

    Raises:
        OptionsError: with the first wrong value in the file.
    """
    content = read_json(path, OptionsError)
    if not isinstance(content, dict):
        raise OptionsError(f"{path}: an object with the options of an evolution is needed")
    try:
        return EvolutionOptions.model_validate_json(read_bytes(path, OptionsError))
    except ValidationError as error:
        raise OptionsError(f"{path}: {explain(error.errors()[0], EvolutionOptions)}") from None
