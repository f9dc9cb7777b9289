"""The gallery: a page with the command of each picture; `run_blocks` runs them when the site is built."""

from pathlib import Path

from hdeeprm_like.results.plots import PICTURES, SEVERAL

LEARNING = ("losses", "rewards", "action_preferences")
QUESTIONS = {
    "What does the machine do?": ("gantt", "gantt_no_label", "utilization", "nodes"),
    "Who waits, and for how long?": ("queue_size", "job_load", "lifecycle", "ecdf", "boxes"),
    "What does it cost?": ("power", "energy_by_job"),
    "What does the next job wait for?": ("core_bubbles", "mem_bubbles", "mem_bw_overutilization"),
    "What does an agent learn?": LEARNING,
    "Which run is better?": (*SEVERAL, "metrics"),
}
BEGIN = """# Gallery

Find your question. The command above a picture draws it; a click shows the picture in full size. `--by` colours or
groups jobs, `--from` and `--to` show a part, `--user` one user's jobs, and `--style paper` draws for a column of a
paper. The ending of the file is the format: `.png`, `.svg` or `.pdf`. These are the runs:

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
    text = BEGIN
    for question, kinds in QUESTIONS.items():
        thumbnails = "".join(f":::{{container}} thumbnail\n{entry}:::\n" for kind in kinds for entry in entries(kind))
        text += f"\n## {question}\n\n::::{{container}} wall\n{thumbnails}::::\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def entries(kind: str) -> list[str]:
    """Return a title and a command for each picture of a kind."""
    if kind == "metrics":
        return [entry("twelve figures of each run", "metrics runs/first runs/shortest --save metrics.png")]
    title = PICTURES[kind].title.lower() if kind in PICTURES else "two runs of the same jobs"
    run = "runs/first --run runs/shortest" if kind in SEVERAL else "runs/learned" if kind in LEARNING else "runs/first"
    found = [entry(f"`{kind}`: {title}", f"visual {kind} --run {run} --save {kind}.png")]
    if kind in OTHERS:
        more, name = OTHERS[kind]
        found.append(entry(f"`{kind}`, `{more}`", f"visual {kind} --run {run} {more} --save {kind}-{name}.png"))
    return found


def entry(title: str, command: str) -> str:
    """Return one picture of the page, which `run_blocks` draws."""
    return f"{title}\n\n```sh\nhdeeprm-like {command} --quiet\n```\n"
