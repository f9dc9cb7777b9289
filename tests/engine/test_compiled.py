"""What compiled functions leave out, and that nobody relies on it: indices from the end."""

import ast
from pathlib import Path

import numba
import numpy as np

from hdeeprm_like.engine.compiled import PACKAGE, compiled

MARKS = {"compiled", "compiled_with_memory", "released"}


@compiled
def last_of(numbers: np.ndarray) -> float:
    return numbers[-1]


def marked_functions(path: Path):
    """Yield the compiled functions of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            if names & MARKS:
                yield node


def counts_from_the_end(index: ast.expr) -> bool:
    """Tell whether an index, or one of several, is a negative number."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for part in parts)


def test_no_compiled_function_has_a_negative_number_for_an_index():
    found, functions = [], 0
    for path in PACKAGE.rglob("*.py"):
        for function in marked_functions(path):
            functions += 1
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and counts_from_the_end(node.slice):
                    found.append(f"{path}:{node.lineno}")
    assert functions > 0
    assert not found


def test_functions_that_are_not_of_the_package_keep_such_indices():
    numbers = np.arange(5.0)

    assert last_of(numbers) == 4.0
    assert numba.njit(lambda given: given[-2])(numbers) == 3.0
