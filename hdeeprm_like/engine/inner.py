"""How functions are compiled that only other compiled functions call.

numba optimizes and translates each function with all that it calls: once for itself, and once more in each caller. Only
the functions that Python calls need that; leaving it out for the others makes the first start three to four times
faster. Nor does each of the others hold a copy of all that it calls; who has machine code takes each of them once. And
each function goes through steps for what ours do not have (`NEEDLESS`), which take some 6 % of the time.
numba has no option for either, so this reaches into its compiler, for the releases that it was tried with. With
any other release, or with ``HDEEPRM_LIKE_PLAIN_NUMBA=1``, functions are compiled as numba documents it: the same
results at the same speed, after a longer wait.
"""

import os
from collections.abc import Callable
from typing import Any

import numba

TRIED = (0, 63), (0, 68)  # the first and the last release that the short way was tried with
PLAIN = "HDEEPRM_LIKE_PLAIN_NUMBA"
NEEDLESS = {  # steps of numba's compiler, by what they are for
    "WithLifting": "with statements",
    "InlineClosureLikes": "functions within functions, and comprehensions",
    "MakeFunctionToJitFunction": "the same",
    "InlineInlinables": "inlining before types are known",
    "InlineOverloads": "inlining afterwards; LLVM does ours",
    "FindLiterallyCalls": "functions that ask for a constant",
    "LiteralUnroll": "loops over a mixed tuple",
    "LiteralPropagationSubPipelinePass": "the same",
    "RewriteDynamicRaises": "messages that are made where an error is raised",
    "NopythonRewrites": "expressions of whole arrays",
    "AnnotateTypes": "listings for who reads what numba made",
}


def release() -> tuple[int, int]:
    """Return the major and the minor number of numba's version."""
    major, minor = numba.__version__.split(".")[:2]
    return int(major), int(minor)


def short_way() -> Any:
    """Return a compiler that leaves the inner functions to their callers; None where it is not known to work."""
    if os.environ.get(PLAIN, "0") != "0" or not TRIED[0] <= release() <= TRIED[1]:
        return None
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
    except ImportError:
        return None

    class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
        """The code of a function that becomes part of those that call it."""

        _shared_module: Any

        def _optimize_functions(self, module: Any) -> None:
            """Leave that to the callers."""

        def finalize(self) -> None:
            """End with the function alone; the callers link what it calls, and optimize and check the whole."""
            self._raise_if_finalized()
            for function in self._final_module.functions:
                if not function.is_declaration:
                    function.linkage = "linkonce_odr"  # of several copies one is kept, and none that is inlined
            self._finalize_dynamic_globals()
            self._finalized = True

        def called(self, known: dict[Any, Any]) -> None:
            """Note the modules of all that it calls, each before all that call it."""
            for library in self._linking_libraries:
                if library in known:
                    continue
                if isinstance(library, InnerLibrary):
                    library.called(known)
                    known[library] = library._final_module
                else:
                    known[library] = library._get_module_for_linking()

        def _get_module_for_linking(self) -> Any:
            """Return the function and all that it calls, for a library with machine code."""
            self._ensure_finalized()
            if self._shared_module is None:
                known: dict[Any, Any] = {}
                self.called(known)
                whole = self._final_module.clone()
                for module in reversed(known.values()):  # LLVM links only what is called by then
                    whole.link_in(module, preserve=True)
                self._shared_module = whole
            return self._shared_module

        @property
        def codegen(self) -> Any:
            """Whom numba tells where the function's constants in Python are; there are none."""
            return self

        def set_env(self, name: str, environment: object) -> None:
            """Forget them."""

        def get_pointer_to_function(self, name: str) -> int:
            """There is no machine code."""
            self._ensure_finalized()
            return 0

    class InnerCompiler(Compiler):  # type: ignore[misc]
        """numba's compiler for such functions."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.state.library = InnerLibrary(self.state.targetctx.codegen(), "inner")

        def define_pipelines(self) -> Any:
            """Return the steps without those that ours do not need."""
            pipelines = super().define_pipelines()
            for steps in pipelines:
                steps.passes[:] = [step for step in steps.passes if step[0].__name__ not in NEEDLESS]
            return pipelines

    return InnerCompiler


COMPILER = short_way()
WAY = "plain" if COMPILER is None else "short"


OPTIONS: dict[str, Any] = (
    {} if COMPILER is None else {"pipeline_class": COMPILER, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
)


def compile_inner(function: Callable[..., object], **options: Any) -> Any:
    """Return a function for compiled functions to call."""
    return numba.njit(**OPTIONS, **options)(function)
