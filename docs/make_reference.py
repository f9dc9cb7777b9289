"""Generate reference pages from the tables of the code, so that they always match it."""

import argparse
import contextlib
import inspect
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hdeeprm_like.batsim_server.batsim5.cli import main as batsim5_main
from hdeeprm_like.batsim_server.cli import main as batsim_main
from hdeeprm_like.cli.main import parser
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.decision import rewards, specs
from hdeeprm_like.decision.modes import MODES, mode_named
from hdeeprm_like.decision.observations import arrays, features
from hdeeprm_like.decision.observations.view import OBSERVATIONS
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.decision.score_files import CORE_FEATURES, FEATURES, JOB_FEATURES
from hdeeprm_like.engine import numbers
from hdeeprm_like.envs import registration
from hdeeprm_like.formats.open import FORMATS
from hdeeprm_like.formats.shipped import TITLES, listed
from hdeeprm_like.learning.agent_options import constructors, options_of, parameters_of
from hdeeprm_like.options import Options
from hdeeprm_like.refusals import DRIVERS, REFUSALS
from hdeeprm_like.results.plots import PICTURES

SERVERS = {"batsim": batsim_main, "batsim5": batsim5_main}


def write_reference(folder: Path) -> None:
    """Write every reference page into a folder; skip pages that have not changed."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "commands": commands(),
        "options": options(),
        "policies": policies(),
        "figures": figures(),
        "plots": plots(),
        "spaces": spaces(),
        "observations": observations(),
        "rewards": reward_page(),
        "environments": f"# Environments\n\n{docstring_of(registration)}",
        "formats": formats(),
        "names": data_names(),
        "agents": agents(),
        "placement_features": placement_features(),
        "modes": modes(),
    }
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


def first_line(thing: object) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def commands() -> str:
    """Return the ``--help`` text of every command."""
    top = parser()
    (choices,) = (action.choices for action in top._actions if isinstance(action, argparse._SubParsersAction))
    text = "# Commands\n\n"
    for name, command in choices.items():
        described = command.format_help() if command.add_help else help_of_server(SERVERS[name])
        text += f"## hdeeprm-like {name}\n\n```text\n{described.strip()}\n```\n\n"
    return text


def help_of_server(main: Callable[[Sequence[str]], int]) -> str:
    """Return the ``--help`` text of a server's command."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main(["--help"])
    return printed.getvalue()


def options() -> str:
    """Return every key of an options file."""
    schema = Options.model_json_schema()
    text = "# Options files\n\n`hdeeprm-like schema` prints them as JSON Schema; paths are relative to the file.\n\n"
    sections = {"the file": schema, **schema.get("$defs", {})}
    for name, section in sections.items():
        if "properties" not in section:
            continue
        rows = [
            (f"`{key}`", kind_of(value), default_of(value), value.get("description", ""))
            for key, value in section["properties"].items()
        ]
        text += f"## {name}\n\n{table(('key', 'value', 'default', 'meaning'), rows)}\n"
    return text


def kind_of(value: dict[str, Any]) -> str:
    """Return the type of a value in words."""
    if "$ref" in value:
        return value["$ref"].rpartition("/")[2]
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    for key in ("anyOf", "allOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(kind_of(one) for one in value[key]))
    if value.get("type") == "array":
        return f"list of {kind_of(value.get('items', {}))}"
    return str(value.get("type", "any"))


def default_of(value: dict[str, Any]) -> str:
    """Return the default of a value as JSON, empty where it must be given."""
    return f"`{json.dumps(value['default'])}`" if "default" in value and "$ref" not in value else ""


def policies() -> str:
    """Return the names of policies."""
    parts = {
        "Job policies": numbers.JOB_POLICIES,
        "Core policies": numbers.CORE_POLICIES,
        "Orders of the queue": numbers.ORDERS,
        "Placements": numbers.PLACEMENTS,
        "Run times": numbers.RUN_TIMES,
    }
    text = "# Names of policies\n\n[Policies](../../policies.md) explains them.\n\n"
    text += (
        "A policy pair is `JOB-CORE`, a baseline `ORDER[@TIMES]+MODE[@TIMES][-PLACEMENT]`. A job policy with a core "
        "policy is a pair also where an order has its name: `smallest-low_power`; the baseline is "
        "`smallest+strict-low_power`.\n\n"
    )
    for title, known in parts.items():
        text += f"## {title}\n\n{', '.join(f'`{name}`' for name in known)}\n\n"
    text += f"## Modes\n\n{modes()}\n"
    rows = [(f"`{name}`", meaning) for name, meaning in FEATURES.items()]
    text += f"## Features of learned policies\n\n{table(('feature', 'what it is'), rows)}\n"
    text += f"## Features of placements\n\n{placement_features()}\n"
    played = table(("what plays a policy", "what it is"), [(f"`{name}`", what) for name, what in DRIVERS.items()])
    refused = table(
        ("policy", "where", "what is printed"), [(row.who, row.where, printed(row.line)) for row in REFUSALS]
    )
    return text + f"## What does not go together\n\nWhat is not in the second table is played.\n\n{played}\n{refused}"


def modes() -> str:
    """Return the modes of a baseline."""
    return table(("mode", "how it starts jobs", "options", "source"), map(mode_row, MODES))


def printed(line: str) -> str:
    """Return the line of a refusal with capitals for what is filled in."""
    for field, shown in (("{policy}", "POLICY"), ("{platform!r}", "PLATFORM"), ("{clock!r}", "CLOCK")):
        line = line.replace(field, shown)
    return line


def placement_features() -> str:
    """Return the features of cores and of jobs that a placement score weighs."""
    parts = {"feature of cores": CORE_FEATURES, "feature of the job": JOB_FEATURES}
    tables = [
        table((head, "what it is"), [(f"`{name}`", meaning) for name, meaning in known.items()])
        for head, known in parts.items()
    ]
    return "\n".join(tables)


def figures() -> str:
    """Return the figures of a schedule."""
    rows = [
        (f"`{name}`", one.title, one.unit, "more" if one.more_is_better else "less") for name, one in FIGURES.items()
    ]
    return f"# Figures of a schedule\n\n{table(('name', 'figure', 'unit', 'better is'), rows)}"


def plots() -> str:
    """Return the kinds of pictures."""
    rows = [(f"`{name}`", one.title, ", ".join(f"`{file}`" for file in one.needs)) for name, one in PICTURES.items()]
    return f"# Pictures\n\nDrawn by `hdeeprm-like visual KIND --run DIR`.\n\n{table(('kind', 'shows', 'reads'), rows)}"


def spaces() -> str:
    """Return the published decision spaces and their parts."""
    rows = [
        (f"`{name}`", one.summary, one.source, *map(str, (space.actions, space.opens, space.observation, space.reward)))
        for (name, space), one in zip(PRESETS.items(), specs.PRESETS.values(), strict=True)
    ]
    heads = ("preset", "what the agent decides and its reward", "source", "actions", "decides", "observation", "reward")
    parts = [
        f"# Decision spaces\n\n[Decision spaces](../../spaces.md) explains them.\n\n{table(heads, rows)}",
        *(
            f"## {title}\n\n{table(('name', 'meaning', 'source'), rows_of(known))}"
            for title, known in (("Actions", specs.ACTIONS), ("When an agent decides", specs.DECISION_POINTS))
        ),
    ]
    return "\n".join(parts)


def mode_row(name: str) -> tuple[str, str, str, str]:
    """Return a mode, what it does, its options and their source."""
    mode = mode_named(name)
    options = "; ".join(f"{option.upper()}: {what.text}" for option, (_, what) in mode.options().items())
    return f"`{mode.form()}`", mode.summary(), options, mode.source


def rows_of(known: Mapping[str, specs.Spec]) -> list[tuple[str, str, str]]:
    """Return name, meaning and source of each entry."""
    return [(f"`{name}`", one.summary, one.source) for name, one in known.items()]


def reward_page() -> str:
    """Return the objectives and the modes of a reward."""
    objectives = [(f"`{name}`", one.summary, one.unit, one.source) for name, one in specs.OBJECTIVES.items()]
    modes = [(f"`{name}`", one.summary, one.source) for name, one in specs.REWARD_MODES.items()]
    return "\n".join(
        [
            f"# Rewards\n\n{docstring_of(rewards)}",
            f"## Objectives\n\n{table(('objective', 'value', 'unit', 'source'), objectives)}",
            f"## Modes\n\n{table(('mode', 'the reward of a decision', 'source'), modes)}",
        ]
    )


def observations() -> str:
    """Return the docstring of the module of each observation."""
    modules: dict[str, list[str]] = {}
    for name, one in OBSERVATIONS.items():
        modules.setdefault(one.write.__module__, []).append(f"`{name}`")
    parts = [f"## {', '.join(names)}\n\n{docstring_of(import_module(module))}" for module, names in modules.items()]
    shared = ["## Features of a job", docstring_of(features), "## Limits", docstring_of(arrays)]
    kinds = [(f"`{name}`", one.summary, one.shape, one.source) for name, one in specs.OBSERVATIONS.items()]
    listed = table(("kind", "what it shows", "shape", "source"), kinds)
    return "\n\n".join(["# Observations", listed, *parts, *shared])


def docstring_of(module: ModuleType) -> str:
    """Return the docstring of a module as Markdown."""
    return (inspect.getdoc(module) or "") + "\n"


def data_names() -> str:
    """Return the names of shipped experiments and agents; the READMEs of their folders list platforms and jobs."""
    rows = [
        (TITLES[one.kind], f"`{one.name}`", f"`{one.file}`", one.what, one.source)
        for one in listed()
        if one.kind not in ("platform", "trace", "workload")
    ]
    return f"# Experiments and agents\n\n{table(('kind', 'name', 'file', 'what it is', 'source'), rows)}"


def agents() -> str:
    """Return the options of each shipped agent, from the annotations of its constructor."""
    from hdeeprm_like.learning.agents import LearningAgent
    from hdeeprm_like.learning.loading import load_agent_class

    text = "# Options of agents\n\nEach also takes `lr`, `gamma` and the schedules of [agents](../../agents.md).\n\n"
    for name in ("reinforce", "actor_critic", "ppo", "kernel", "attention", "recurrent"):
        kind = load_agent_class(str(Path(__file__).parent.parent / "agents" / f"{name}.py"))
        reached = constructors(kind, LearningAgent)
        found = options_of(reached)
        rows = [
            (f"`{option}`", f"`{json.dumps(one.default)}`", bounds.wanted if bounds else "", meaning)
            for option, one in parameters_of(reached).items()
            if one.default is not inspect.Parameter.empty
            for bounds, meaning in [found[option]]
        ]
        text += f"## agents/{name}.py\n\n{first_line(sys.modules[kind.__module__])}\n\n"
        text += f"Learning rate: `{kind.learning_rate:g}`.\n\n"
        text += table(("option", "default", "may be", "meaning"), rows) + "\n"
    return text


def formats() -> str:
    """Return the formats of inputs and outputs."""
    rows = [
        (
            one.name,
            one.holds,
            ", ".join(f"`{ending}`" for ending in one.endings),
            *("yes" * bool(w) for w in (one.read, one.write)),
        )
        for one in FORMATS
    ]
    return f"# Formats\n\n{table(('format', 'of', 'endings', 'read', 'written'), rows)}"
