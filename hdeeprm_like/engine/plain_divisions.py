"""Divisions and powers in plain Python with the results of machine code, where x / 0 is infinite or nan.

Python raises an error for these, so `as_compiled` replaces each ``a / b`` in a function by a call. The lines of the
function stay those of its file, so that debuggers and coverage find them.
"""

import ast
import functools
import linecache
import operator
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., object])


def computed(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return the result of a division or a power as in machine code."""
    try:
        found = operation(a, b)
        if not isinstance(found, complex):
            return found
    except (ZeroDivisionError, OverflowError):
        pass
    return operation(np.asarray(a)[()], np.asarray(b)[()]).item()


NAMES = {ast.Div: "a / b", ast.FloorDiv: "a // b", ast.Mod: "a % b", ast.Pow: "a ** b"}
CALLED = {  # by names that no variable of a function can have
    "a / b": functools.partial(computed, operator.truediv),
    "a // b": functools.partial(computed, operator.floordiv),
    "a % b": functools.partial(computed, operator.mod),
    "a ** b": functools.partial(computed, operator.pow),
}


class Replaced(ast.NodeTransformer):
    """Replaces divisions and powers by calls."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace ``a / b``, but not by a constant, which is never 0."""
        self.generic_visit(node)
        name = NAMES.get(type(node.op))
        if name is None or (isinstance(node.right, ast.Constant) and name != "a ** b"):
            return node
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Replace ``a /= b`` by ``a = a / b``."""
        if type(node.op) not in NAMES:
            return self.generic_visit(node)
        present = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self.visit_BinOp(ast.copy_location(ast.BinOp(present, node.op, node.value), node))
        return ast.copy_location(ast.Assign([node.target], cast(ast.expr, value)), node)


def as_compiled(function: F) -> F:
    """Return a function with the divisions of machine code."""
    code = cast(FunctionType, function).__code__
    if not DIVISIONS & instructions_of(code):
        return function
    first, end = code.co_firstlineno, max(position[1] or 0 for position in code.co_positions())
    tree = ast.parse(textwrap.dedent("".join(linecache.getlines(code.co_filename)[first - 1 : end])))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    ast.increment_lineno(definition, first - 1)
    definition.decorator_list = []
    Replaced().visit(definition)
    if code.co_freevars:  # of a function around it
        tree = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
        cast(ast.FunctionDef, tree.body[0]).body = [definition]
    made = compile(ast.fix_missing_locations(tree), code.co_filename, "exec")
    while made.co_name != function.__name__:
        made = next(one for one in made.co_consts if isinstance(one, CodeType))
    given = cast(FunctionType, function)
    given.__globals__.update(CALLED)
    again = FunctionType(made, given.__globals__, given.__name__, given.__defaults__, given.__closure__)
    return cast(F, functools.update_wrapper(again, given))


def instructions_of(code: CodeType) -> set[tuple[int, int]]:
    """Return the instructions of a function, with their arguments."""
    return set(zip(code.co_code[::2], code.co_code[1::2], strict=True))


def _with_divisions(a: Any, b: Any) -> None:
    a /= b
    a //= b
    a %= b
    a **= b
    a = (a / b, a // b, a % b, a**b)


def _without(a: Any, b: Any) -> None:
    a += b
    a = (a + b, a, b, a)


DIVISIONS = instructions_of(_with_divisions.__code__) - instructions_of(_without.__code__)
