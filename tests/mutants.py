"""Small faults planted in a copy of the package, one at a time: which do the tests find?

    python tests/mutants.py --count 200

Each mutant is one changed comparison, one number that is one larger, or one statement left out, in the function of a
folder of the package. The tests of that folder and its neighbours are played on it in plain Python, the quickest
first, until one fails. What survives is printed: a test is missing there, or a line that changes nothing.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "hdeeprm_like"
PLAYED = {  # tests of each folder, in this order
    "engine": ("engine", "decision", "run"),
    "decision": ("decision", "engine", "envs"),
    "run": ("run", "decision", "engine"),
    "batsim": ("batsim",),
}
LONGEST = 600  # s that the tests may take on a mutant; one that runs for ever is found
OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


def can_change(node):
    """Whether a node is a comparison, a number, or a statement that sets something beside a local variable."""
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in OTHER
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return isinstance(node, ast.AugAssign)


def places(tree):
    """Each node of the functions of a module that can be changed."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("__"):
            yield from filter(can_change, ast.walk(function))


def changed(source, number):
    """The source with one of its places changed, and what was done there."""
    tree = ast.parse(source)
    node = list(places(tree))[number]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = OTHER[type(node.ops[0])]()
        after = ast.unparse(node)
    elif isinstance(node, ast.Constant):
        node.value += 1
        after = ast.unparse(node)
    else:
        for parent in ast.walk(tree):
            for name, body in ast.iter_fields(parent):
                if isinstance(body, list) and node in body:
                    getattr(parent, name)[body.index(node)] = ast.copy_location(ast.Pass(), node)
        after = "pass"
    return ast.unparse(tree), f"line {node.lineno}: {before} -> {after}"


def drawn(folders, count, seed):
    """Some places of the modules of some folders: path and number of the place."""
    found = []
    for folder in folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            found += [(path, number) for number in range(len(list(places(ast.parse(path.read_text())))))]
    return random.Random(seed).sample(found, min(count, len(found)))


def found(path, text):
    """Whether the tests of a module fail if that is its text."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder) / PACKAGE.name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        for data in ("platforms", "workloads", "agents"):
            (Path(folder) / data).symlink_to(PACKAGE.parent / data)
        (Path(folder) / path.relative_to(PACKAGE.parent)).write_text(text)
        tests = [str(TESTS / one) for one in PLAYED[path.relative_to(PACKAGE).parts[0]]]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = os.environ | {"PYTHONPATH": folder, "HDEEPRM_LIKE_PYTHON": "1"}
        try:
            done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def played(place):
    """Whether the tests find a mutant, and what it is."""
    path, number = place
    text, what = changed(path.read_text(), number)
    return found(path, text), f"{path.relative_to(PACKAGE.parent)}, {what}"


def main():
    """Play the mutants; print those that survive, and how many were caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", default="1", help="any text: another one draws others")
    parser.add_argument("--processes", type=int, default=2, help="played at the same time")
    parser.add_argument("folders", nargs="*", default=list(PLAYED), help="of the package")
    options = parser.parse_args()
    say = sys.stdout.write
    for folder in options.folders:
        whole = next((PACKAGE / folder).glob("[a-z]*.py"))
        if found(whole, whole.read_text()):
            parser.error(f"the tests of {folder} fail without a mutant")
    mutants, caught = drawn(options.folders, options.count, options.seed), 0
    with ThreadPoolExecutor(options.processes) as pool:
        for fails, what in pool.map(played, mutants):
            caught += fails
            say("" if fails else f"survives: {what}\n")
            sys.stdout.flush()
    say(f"{caught} of {len(mutants)} caught\n")


if __name__ == "__main__":
    main()
