"""Workload models by the names and parameters of options files and of the command line."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.cluster.synthetic.campaigns import CAMPAIGNS, Campaigns
from hdeeprm_like.cluster.synthetic.estimates import Accuracy, Estimates, Exact, Gaussian, estimate_jobs
from hdeeprm_like.cluster.synthetic.jobs import Jobs, with_hdeeprm_columns
from hdeeprm_like.cluster.synthetic.ksu import KSU, Ksu
from hdeeprm_like.cluster.synthetic.lublin import LUBLIN, Lublin, LublinTypes
from hdeeprm_like.cluster.synthetic.mao import MAO, Mao
from hdeeprm_like.cluster.synthetic.tsafrir import Tsafrir
from hdeeprm_like.errors import OptionsError, did_you_mean

Model = Lublin | LublinTypes | Mao | Ksu | Campaigns
Columns = Literal["model", "hdeeprm"]
T = TypeVar("T")

PRESETS: dict[str, Mapping[str, Model]] = {"lublin": LUBLIN, "mao": MAO, "ksu": KSU, "campaigns": CAMPAIGNS}
"""The models and their presets, default first."""

ESTIMATES: dict[str, Estimates] = {
    "exact": Exact(),
    "gaussian": Gaussian(),
    "tsafrir": Tsafrir(),
    "accuracy": Accuracy(),
}


@dataclass(frozen=True)
class Recipe:
    """Everything that determines synthetic jobs, except the seed.

    Attributes:
        model: with its parameters.
        estimates: of users; None keeps the exact ones of the model.
        columns: ``hdeeprm`` draws bandwidths, and memory if the model has none.
        log: of a real machine, to sample KSU's sets from; None uses a model instead.
    """

    model: Model
    estimates: Estimates | None = None
    columns: Columns = "model"
    log: Jobs | None = None

    def jobs(self, number: int | None, rng: np.random.Generator) -> Jobs:
        """Draw *number* jobs; None for models whose episodes end by themselves.

        Jobs, columns and estimates have separate random streams: other estimates leave the jobs unchanged.

        Raises:
            OptionsError: the model needs a number.
        """
        if number is not None and number > limits.JOBS.most:
            raise OptionsError(f"jobs: {number!r:.40}: {limits.refusal(limits.JOBS)}")
        model_rng, columns_rng, estimates_rng = rng.spawn(3)
        if isinstance(self.model, Mao):
            jobs = self.model.draw(number, model_rng)
        elif number is None:
            raise OptionsError(f"model {type(self.model).__name__.lower()}: the number of jobs is missing")
        elif self.log is not None and isinstance(self.model, Ksu):
            jobs = self.model.sample(self.log, number, model_rng)
        else:
            jobs = self.model.draw(number, model_rng)
        if self.columns == "hdeeprm":
            jobs = with_hdeeprm_columns(jobs, columns_rng)
        return jobs if self.estimates is None else estimate_jobs(jobs, self.estimates, estimates_rng)


def model_named(
    name: str,
    preset: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    nodes: int | None = None,
    where: str = "parameters",
) -> Model:
    """Return a model: a preset, fitted to a machine, with some parameters set.

    Args:
        parameters: by name, nested as in the dataclass; ``nodes`` among them overrides *nodes*.
        nodes: of the machine; None keeps the preset's.
        where: place of the parameters, for messages.

    Raises:
        OptionsError: unknown name, or a value of the wrong type.
        WorkloadError: the values are inconsistent.
    """
    if name not in PRESETS:
        raise OptionsError(f"model {name!r} is not known{did_you_mean(name, PRESETS)}")
    presets = PRESETS[name]
    if preset is not None and preset not in presets:
        raise OptionsError(f"preset {preset!r} of {name} is not known{did_you_mean(preset, presets)}")
    model = presets[preset or next(iter(presets))]
    own = dict(parameters or {})
    machine = own.pop("nodes", nodes)
    if machine is not None:
        if isinstance(machine, bool) or not isinstance(machine, int) or machine < 1:
            raise OptionsError(f"{where}.nodes: {machine!r:.40}: a whole number from 1 on is needed")
        if machine > limits.CORES.most:
            raise OptionsError(f"{where}.nodes: {machine!r:.40}: {limits.refusal(limits.CORES)}")
        model = model.on(machine)
    return with_parameters(model, own, where)


def estimates_named(
    wanted: str | Mapping[str, Any], parameters: Mapping[str, Any] | None = None, where: str = "estimates"
) -> Estimates:
    """Return a model of estimates by name, or from an object with ``model`` and parameters.

    Raises:
        OptionsError: unknown name, or a value of the wrong type.
        WorkloadError: a value is out of range.
    """
    own = dict(parameters or {})
    if not isinstance(wanted, str):
        own = dict(wanted) | own
        wanted = own.pop("model", "")
    if not isinstance(wanted, str) or wanted not in ESTIMATES:
        raise OptionsError(f"{where}: model {wanted!r:.60} is not known{did_you_mean(str(wanted), ESTIMATES)}")
    return with_parameters(ESTIMATES[wanted], own, where)


def with_parameters(base: T, parameters: Mapping[str, Any], where: str) -> T:
    """Return a frozen dataclass with some fields set from JSON values, checked strictly."""
    if not parameters:
        return base
    from pydantic import TypeAdapter, ValidationError

    content = json.dumps(merged(base, parameters, where))
    try:
        return TypeAdapter(type(base)).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        location = ".".join(str(part) for part in problem["loc"])
        raise OptionsError(f"{where}.{location}: {problem['input']!r:.60}: {problem['msg'].lower()}") from None


def merged(base: Any, parameters: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a dataclass in JSON form, with those in *parameters* replaced."""
    content = asdict(base)
    for name, value in parameters.items():
        if name not in content:
            raise OptionsError(f"{where}.{name}: is not known{did_you_mean(name, content)}")
        inner = getattr(base, name)
        if is_dataclass(inner) and not isinstance(value, Mapping):
            raise OptionsError(f"{where}.{name}: {value!r:.60}: an object is needed")
        content[name] = merged(inner, value, f"{where}.{name}") if is_dataclass(inner) else value
    return content
