"""The options file of an evolution: from where the search begins, on which jobs, and what counts as better."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hdeeprm_like import limits
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_bytes, read_json
from hdeeprm_like.option_sections import at_most
from hdeeprm_like.options import explain

OBJECTIVE = {"bounded_slowdown": 1.0, "bounded_slowdown_p95": 0.1, "wait": 0.3, "wait_max": 0.3, "utilization": 1.0}
OF_CORES = ("turnaround", "energy", "energy_delay_product")  # what the choice of cores changes
BOTH_WAYS = ("bounded_slowdown", "bounded_slowdown_p95", *OF_CORES)  # the others count only where they are worse
KNOWN = dict.fromkeys((*BOTH_WAYS, *OBJECTIVE))

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Load = Annotated[float, Field(gt=0.0, le=10.0)]


class Section(BaseModel):
    """What no file may have a key beside."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(Section):
    """Where windows come from: a part of a trace, or a model."""

    trace: str | None = Field(None, description="A trace by its name, or its path relative to the options file.")
    begin: Share = Field(0.0, description="Where the part of the trace begins that is learned from.")
    end: Share = Field(1.0, description="Where it ends.")
    step: Annotated[int, Field(ge=1), at_most(limits.JOBS)] = Field(
        1, description="Windows begin at multiples of so many jobs of that part."
    )
    model: Literal["lublin"] | None = Field(None, description="A model that makes jobs, in place of a trace.")
    preset: Literal["batch", "interactive", "whole", "both"] = Field("batch", description="Parameters of the model.")
    estimates: Literal["exact", "tsafrir"] = Field("exact", description="Of the users of a model.")
    users: Annotated[int, Field(ge=1), at_most(limits.JOBS)] = Field(
        1, description="Users of a model, the busiest having most of the jobs."
    )
    cores: Annotated[int, Field(ge=1), at_most(limits.CORES)] | None = Field(
        None, description="Of the machine, wider jobs taking all of it; as the trace says if missing."
    )
    wide: Annotated[int, Field(ge=1), at_most(limits.CORES)] = Field(
        1, description="Every number of cores is multiplied by it."
    )
    platform: str | None = Field(
        None,
        description="A machine by its name or path, in place of a pool of equal cores: jobs compute, and request "
        "memory and bandwidth; those of a model are for so many *cores* of it, or for all.",
    )
    gpu_jobs: Share = Field(0.0, description="Share of a model's jobs that request GPUs on the platform.")
    load: tuple[Load, Load] | None = Field(
        None, description="Each window is stretched to a load between these; as it is if missing."
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

    jobs: Annotated[int, Field(ge=2), at_most(limits.JOBS)] = Field(1024, description="Of each window.")
    per_generation: Annotated[int, Field(ge=1), at_most(limits.WINDOWS)] = Field(
        24, description="New ones in each generation."
    )
    validation: Annotated[int, Field(ge=1), at_most(limits.WINDOWS)] = Field(
        48, description="Others, on which the best policy is chosen."
    )
    validation_jobs: Annotated[int, Field(ge=2), at_most(limits.JOBS)] | None = Field(
        None, description="Of each window of validation, as many as come in a month; jobs if missing."
    )
    sources: Annotated[list[Source], Field(min_length=1)] = Field(description="Windows are of each in turn.")


class EvolutionOptions(Section):
    """How a policy is evolved."""

    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(description="Of windows and search.")
    policy: str = Field(description="A learned policy, from whose weights the search begins; beside the options file.")
    reference: str = Field("saf+easy", description="A baseline; candidates are measured by the ratios to it.")
    objective: dict[str, float] = Field(
        OBJECTIVE, description="What the mean logarithm of each ratio weighs; waits and utilization only where worse."
    )
    allowed: dict[str, float] = Field(
        {}, description="Ratios of waits and utilization to the reference that count as no worse; 1 if missing."
    )
    constraints: dict[str, float] = Field(
        {},
        description="Ratios of waits and utilization to the reference that must hold: candidates that break one are "
        "worse than all that do not, the more the worse (Deb, 2000).",
    )
    clock: Literal["textbook", "batsim"] = Field("textbook", description="Of the simulations.")
    stage: Literal["both", "usual", "exact"] = Field(
        "both", description="Whose weights are searched for; the other stage of the policy stays as it is."
    )
    generations: Annotated[int, Field(ge=1), at_most(limits.EPISODES)] = Field(100, description="In all.")
    population: Annotated[int, Field(ge=2), at_most(limits.ENVS)] = Field(16, description="Candidates of a generation.")
    spread: Annotated[float, Field(gt=0.0)] = Field(0.15, description="Standard deviation of weights at the beginning.")
    validate_every: Annotated[int, Field(ge=1), at_most(limits.EPISODES)] = Field(
        10, description="Generations between two validations."
    )
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
