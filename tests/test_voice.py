"""The pages are plain field English: none has a form listed here. `docs/reference/glossary.md` has the words to use."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORMS = {  # a regular expression: the better word
    r"(?i:\btold\b)": "gives, has, reports, prints",
    r"(?i:\btells?\b)": "gives, has, shows, prints",
    r"(?i:\basks of\b|\basked of\b)": "requires, reads from",
    r"\basked\b(?! for)": "requested, called",
    r"(?i:\bwhat is asked\b)": "the request",
    r"(?i:\bnobody\b|\bwhom\b|\bwhoever\b)": "no job, no user; name the actor",
    r"\bWho (?=\w+s\b)(?!is\b|waits\b|wins\b|loses\b)": "name the actor: a rule that, a policy that",
    r"\bLet\b": "the imperative of the action: Start, Continue, Allow",
    r"(?i:\banew\b)": "again",
    r"(?i:\bcomes? along\b)": "is shipped, the package ships",
    r"(?i:\belse than\b)": "other than",
    r"(?i:\bwhence\b|\bthereof\b|\btherein\b|\blest\b)": "plain English",
    r"(?i:, of which\b|\. Of which\b)": "a new sentence",
}
QUOTED = re.compile(r"^\| (told|asked|nobody|let|anew|of which)")  # rows of the glossary's table of words to avoid
PAGES = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "made" not in path.parts),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "docker/README")),
    *(ROOT / f"{name}/README.md" for name in ("platforms", "workloads")),
]


def found_in(text):
    """Return each form in the prose of a page as ``line: form; better``; blocks, links and code are no prose."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside and not line.startswith("    ") and not QUOTED.match(line):
            prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
            found += [
                f"{number}: {m[0]!r}; better: {better}"
                for form, better in FORMS.items()
                if (m := re.search(form, prose))
            ]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_none_of_the_forms(page):
    assert found_in(page.read_text(encoding="utf-8")) == []


def test_a_form_is_found_with_its_line():
    assert found_in("A page.\n\n```sh\ntold\n```\n\nIt `tells` nothing, and is told.\n")[0].startswith("7: 'told'")
    assert found_in("The log is read anew.\nThree come along.\nWho keeps cores wins.\n")[2].startswith("3: 'Who ")
    assert found_in("Who waits, and for how long?\n") == []
