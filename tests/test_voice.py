"""The prose of the package and its documentation is plain field English: it has none of the forms listed here.

Strings, docstrings and comments of Python files count, and the text of pages outside blocks and code; names of
variables do not. `docs/glossary.md` has the words to use.
"""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FORMS = {  # a regular expression: the better word
    r"(?i:\btold\b)": "gives, has, reports, prints",
    r"(?i:\btells?\b)": "gives, has, shows, prints; 'Return whether' for a predicate",
    r"(?i:\basks of\b|\basked of\b)": "requires, reads from",
    r"\basked\b(?! for)": "requested, called",
    r"(?i:\bwhat is asked\b)": "the request",
    r"(?i:\bnobody\b)": "no job, no user, no process; name the actor",
    r"(?i:\bwhom\b|\bwhoever\b)": "name the actor",
    r"\bLet\b": "the imperative of the action: Start, Continue, Allow",
    r"(?i:\banew\b)": "again",
    r"(?i:\belse than\b)": "other than",
    r"(?i:\bwhence\b|\bthereof\b|\btherein\b|\blest\b)": "plain English",
    r"(?i:, of which\b|\. Of which\b)": "a new sentence",
}

ANY = re.compile("|".join(FORMS))

NOT_YET: list[str] = [  # folders and files that are still to be rewritten; this list may only become shorter
]

QUOTED = {  # a line of a file that may keep a form, by what it contains: quotations and other programs' words
    "docs/glossary.md": r"^\| (told|asked|nobody|let|anew|of which)",
}


def files():
    """Every file of prose: the modules of the package, the pages, and the READMEs of folders."""
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/*.py"), *ROOT.glob("docs/tutorials/*.md")]
    pages += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docker/README.md")]
    pages += [ROOT / "platforms/README.md", ROOT / "workloads/README.md"]
    return [*sorted((ROOT / "hdeeprm_like").rglob("*.py")), *sorted(pages)]


def prose_of_python(text):
    """Yield the number and the text of each line of the strings and comments of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT) or token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            words = without_names(token.string)
            if " " in words.strip():
                yield from enumerate(words.splitlines(), token.start[0])


def without_names(text):
    """Return a text without code in backquotes and the values of f-strings."""
    return re.sub(r"`[^`\n]*`|\{[^{}\n]*\}", "", text)


def prose_of_page(text):
    """Yield the number and the text of each line of a page that is outside blocks, links and code."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", ":::")):
            inside = not inside
        elif not inside and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def found_in(name, text):
    """Return the worst forms of a file as ``file:line: form; better``."""
    if not ANY.search(text):  # prose is a part of the text, and far slower to take out than the text is to read
        return []
    prose = prose_of_python(text) if name.endswith(".py") else prose_of_page(text)
    kept = QUOTED.get(name)
    return [
        f"{name}:{number}: {match[0]!r} in {line.strip()[:80]!r}; better: {better}"
        for number, line in prose
        if kept is None or not re.search(kept, line)
        for form, better in FORMS.items()
        if (match := re.search(form, line))
    ]


def is_left(name):
    return any(name == left or name.startswith(f"{left}/") for left in NOT_YET)


def test_the_package_and_its_pages_have_none_of_the_forms():
    found = []
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if not is_left(name):
            found += found_in(name, path.read_text(encoding="utf-8"))
    assert found == [], "\n" + "\n".join(found)


def test_nothing_stays_on_the_list_of_what_is_left_once_it_is_rewritten():
    done = []
    for left in NOT_YET:
        paths = [path for path in files() if ROOT / left in (path, *path.parents)]
        if not any(found_in(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths):
            done.append(left)
    assert done == [], f"these have none of the forms any more; take them off NOT_YET: {done}"


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("a.py", '"""Tell how long\na job waits, as is told."""\n', [1, 2]),
        ("a.py", "told = 1  # what the user asked\n", [1]),
        ("a.py", 'error = f"{told}: nobody waits"\n', [1]),
        ("a.py", 'told = asked["told"]\nfile.tell()\n', []),
        ("a.py", '"""Return the jobs that a user asked for, see `told`."""\n', []),
        ("a.md", "A page.\n\n```sh\ntold\n```\n\nIt `tells` nothing, and is told.\n", [7]),
        ("a.md", "The log is read anew.\n", [1]),
    ],
)
def test_a_form_is_found_with_file_and_line(name, text, places):
    assert [line.split(":")[:2] for line in found_in(name, text)] == [[name, str(place)] for place in places]
