"""The gallery: a page with the command of each picture; `run_blocks` runs them when the site is built."""

from pathlib import Path

from hdeeprm_like.results.plots import PICTURES, SEVERAL

LEARNING = ("losses", "rewards", "action_preferences")
BEGIN = """# Gallery

Each picture with the command that draws it, of two runs of the thesis' experiment and of a short training. `--by`
colours or groups jobs by something else, `--from` and `--to` show a part, `--user` one user's jobs, `--title` and
`--size` say what they mean, and `--style paper` draws for a column of a paper: small type, no title, 3.5 inches wide.
The ending of the file is the format: `.png`, `.svg` or `.pdf`.

```sh
hdeeprm-like launch --options gaia --output runs/first --quiet
hdeeprm-like launch --options gaia-shortest --output runs/shortest --quiet
hdeeprm-like train --options learning --agent reinforce --output runs/learned --episodes 40 --quiet
```
"""
OTHERS = {
    "gantt": ("--by user", "by-user"),
    "ecdf": ("--by time --style paper --size page", "paper"),
    "boxes": ("--by user", "by-user"),
}


def write_gallery(path: Path) -> None:
    """Write the page; one that would not change is left as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = BEGIN + "".join(map(entry, PICTURES)) + several()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def entry(kind: str) -> str:
    """Return the part of one kind."""
    run = "runs/learned" if kind in LEARNING else "runs/first"
    lines = [f"hdeeprm-like visual {kind} --run {run} --save {kind}.png --quiet"]
    if kind in OTHERS:
        more, name = OTHERS[kind]
        lines.append(f"hdeeprm-like visual {kind} --run {run} {more} --save {kind}-{name}.png --quiet")
    return f"\n## {kind}\n\n{PICTURES[kind].title}.\n" + "".join(f"\n```sh\n{line}\n```\n" for line in lines)


def several() -> str:
    """Return the part of the kinds that show several runs, and of the figures of `metrics`."""
    text = ""
    for kind in SEVERAL:
        line = f"hdeeprm-like visual {kind} --run runs/first --run runs/shortest --save {kind}.png --quiet"
        text += f"\n## {kind}\n\nTwo runs of the same jobs.\n\n```sh\n{line}\n```\n"
    line = "hdeeprm-like metrics runs/first runs/shortest --save metrics.png --quiet"
    return f"{text}\n## metrics\n\nTwelve figures of each run.\n\n```sh\n{line}\n```\n"
