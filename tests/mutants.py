"""Small faults planted in a copy of the package, one at a time: which do the tests find?

    python tests/mutants.py --count 200 --results mutants

Each mutant is one changed comparison, one number that is one larger, or one statement left out, in a function of
some folders of the package. The tests of `PLAYED` are played as plain Python first, to see which functions each of
them calls. Then those that call the function of a mutant are played on it, the quickest first, until one fails. What
survives is printed: a test is missing there, or it is a line that changes nothing, as those that
``equivalent_mutants.json`` lists with the reason. Where the folder of results has some from before, what survived then
is played again, and no other mutants are drawn; delete its ``calls.json`` when tests have changed.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis.strategies  # noqa: F401  loaded once, before the forks
import numpy.testing  # noqa: F401
import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "hdeeprm_like"
FOLDERS = ("engine", "decision", "run", "batsim")
PLAYED = (  # folders and files of tests
    *("engine", "decision", "run", "envs", "batsim", "results/test_job_lines.py", "studies/test_preemption.py"),
    *("studies/test_suspension.py", "studies/test_whatif_changes.py", "batsim_server/test_server_silent.py"),
    *("batsim_server/test_server_silent_replies.py", "test_table_of_refusals.py"),
)
LONGEST = 20  # CPU s of tests that are played on a mutant, by what they take without it
PATIENCE = 5  # times as long each may take: a mutant that runs for ever is found
OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
QUIETLY = ("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore:Module already imported")
SAID = re.compile(r"(log|logger|logging|LOG|LOGGER|warnings)\.")  # calls that only say something
CAUGHT, SURVIVES, UNREACHED, GONE, EQUAL = "caught", "survives", "no test calls it", "gone", "changes nothing"
EQUIVALENT = TESTS / "equivalent_mutants.json"  # names of mutants that change nothing, and why


def can_change(node):
    """Whether a node is a comparison, a number, or a statement that sets something beside a local variable."""
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in OTHER
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and not SAID.match(ast.unparse(node))
    return isinstance(node, ast.AugAssign)


def nodes_of(statements):
    """Each node of some statements that runs in their function, but for texts: no inner function, no annotation."""
    for node in statements:
        yield node
        if isinstance(node, ast.AnnAssign):
            yield from nodes_of([node.value] if node.value else [])
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Raise | ast.JoinedStr):
            yield from nodes_of(ast.iter_child_nodes(node))


def places(tree):
    """Each node of the functions of a module that can be changed, with its function."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("__"):
            yield from ((node, function) for node in nodes_of(function.body) if can_change(node))


def change(node):
    """Change a comparison or a number; return whether the node is one of these, as a statement is left out."""
    if isinstance(node, ast.Compare):
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value += 1
    else:
        return False
    return True


def mutants_of(path):
    """Each mutant of a module by its name, which says where it is and what is done there, not in which line."""
    tree, seen = ast.parse(path.read_text()), Counter()
    for number, (node, function) in enumerate(places(tree)):
        before = ast.unparse(node)
        after = ast.unparse(node) if change(node) else "pass"
        name = f"{path.relative_to(PACKAGE.parent)}, {function.name}: {before} -> {after}"
        seen[name] += 1
        yield f"{name} ({seen[name]})", (path, number)


def planted(path, number):
    """The text of a module with a mutant, the lines with which its function may begin, and its own line."""
    tree = ast.parse(path.read_text())
    node, function = list(places(tree))[number]
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    if not change(node):
        for parent in ast.walk(tree):
            for name, body in ast.iter_fields(parent):
                if isinstance(body, list) and node in body:
                    getattr(parent, name)[body.index(node)] = ast.copy_location(ast.Pass(), node)
    return ast.unparse(tree), range(first, function.lineno + 1), node.lineno


class Patience:
    """Plugin of pytest that ends the process in a test that computes or waits much longer than it did."""

    def __init__(self, seconds):
        self.seconds = seconds

    def pytest_runtest_setup(self, item):
        """Set the clocks, whose signals end the process."""
        longest = 2 + PATIENCE * self.seconds[item.nodeid]
        signal.setitimer(signal.ITIMER_PROF, longest)
        signal.setitimer(signal.ITIMER_REAL, 60 + 20 * longest)  # on a busy machine


class Copy:
    """A copy of the package with its bytecode, and how the tests are played on it."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("*.so"))
        for data in ("platforms", "workloads", "agents", "docs", "pyproject.toml"):
            (folder / data).symlink_to(PACKAGE.parent / data)

    def pytest(self, *arguments, patience=None):
        """Play tests in a fork of this process; return its exit status.

        What is printed is in the file ``said``.
        """
        child = os.fork()
        if child == 0:
            os.setsid()
            with (self.folder / "said").open("w") as said:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
            paths = [str(self.folder), str(TESTS)]
            sys.path[:0] = paths
            os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1", "HDEEPRM_LIKE_PYTHON": "1"}
            os._exit(pytest.main([*QUIETLY, *arguments], plugins=[patience] if patience else []))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def calls(self, path, tests):
        """The tests that pass as plain Python, the quickest first: name, CPU s, (file, first line) of what it calls."""
        played = [f"tests/{one}" for one in tests]
        if not path.exists() and self.pytest("-p", "calls_of_tests", "--calls", str(path), *played) not in (0, 1):
            sys.exit((self.folder / "said").read_text())
        found = json.loads(path.read_text()).items()
        tests = [(name, one["seconds"], {tuple(call) for call in one["calls"]}) for name, one in found]
        return sorted(tests, key=lambda test: test[1])

    def copied(self, path):
        """Where a module of the package is in the copy."""
        return self.folder / path.relative_to(PACKAGE.parent)

    def failed(self, path, text, tests):
        """The first of some tests, by their names and CPU s, that fails if that is the text of a module; or nothing."""
        self.copied(path).write_text(text)
        sys.dont_write_bytecode = True
        status = self.pytest("-x", *tests, patience=Patience(tests))
        shutil.copy2(path, self.copied(path))
        named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", (self.folder / "said").read_text(), re.MULTILINE)
        return "" if status == 0 else named[1] if named else f"exit status {status}"


def verdict(copy, tests, path, number):
    """Whether a mutant is caught, its line, and by which test it is, or by how many it is not."""
    text, first, line = planted(path, number)
    calls = {(str(path.relative_to(PACKAGE.parent)), start) for start in first}
    chosen = {}
    for name, seconds, called in tests:
        if calls & called and sum(chosen.values()) + seconds < LONGEST:
            chosen[name] = seconds
    if not chosen:
        return UNREACHED, line, ""
    failed = copy.failed(path, text, chosen)
    return (CAUGHT, line, failed) if failed else (SURVIVES, line, f"{len(chosen)} tests")


def main():
    """Play the mutants; print those that survive, and how many were caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", default="1", help="any text: another one draws others")
    parser.add_argument("--tests", nargs="+", default=PLAYED, help="their folders and files")
    parser.add_argument("--results", type=Path, default=Path("mutants"), help="folder of what is found")
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="of the package")
    options = parser.parse_args()
    there = {}
    for folder in options.folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            there |= mutants_of(path)
    options.results.mkdir(exist_ok=True)
    known, calls = options.results / "mutants.json", options.results / "calls.json"
    if known.exists():
        results = json.loads(known.read_text())
    else:
        chosen = random.Random(options.seed).sample(list(there), min(options.count, len(there)))
        results = {name: [SURVIVES, 0, ""] for name in chosen}
    equal = json.loads(EQUIVALENT.read_text())
    results |= {name: [EQUAL, 0, equal[name]] for name in results if name in equal}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        tests = copy.calls(calls, options.tests)
        for name, (before, *_) in results.items():
            if before not in (CAUGHT, EQUAL):
                results[name] = verdict(copy, tests, *there[name]) if name in there else (GONE, 0, "")
                sys.stdout.write("{0}: {3}, line {1} ({2})\n".format(*results[name], name))
                sys.stdout.flush()
                known.write_text(json.dumps(results, indent=1))
    counts = Counter(found for found, *_ in results.values())
    sys.stdout.write(", ".join(f"{count} {found}" for found, count in counts.items()) + "\n")


if __name__ == "__main__":
    main()
