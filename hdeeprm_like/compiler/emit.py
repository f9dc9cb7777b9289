"""Linking of many functions to one shared library, optimized as a whole for a processor.

A function called by several entries is in the library once. The code needs libm, memmove and memset from outside.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock

from hdeeprm_like.compiler.frontend import Part, by_symbol, not_optimized, result_of
from hdeeprm_like.engine import library
from hdeeprm_like.engine.fingerprints import fingerprint, found, has_name, identity
from hdeeprm_like.engine.sources import digest_of_compiler, version_of_numba
from hdeeprm_like.errors import HDeepRMError

QUICK = ("-memdep-block-number-limit=10", "-memdep-block-scan-limit=40")
"""How far LLVM looks back for a value that is in a register already. Its own 200 and 100 take 40 % of its time here,
and make code of the same size."""
WORDS = {"i": "i64", "b": "i8", "f": "double"}  # LLVM types of results
SUPPORT = """
#include <math.h>
#include <stdlib.h>
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void NRT_MemInfo_call_dtor(void *info) { abort(); }  /* no array is owned by machine code */
HIDDEN void NRT_Free(void *memory) { free(memory); }
HIDDEN double numba_nextafter(double a, double b) { return nextafter(a, b); }
"""


class NoCompiler(HDeepRMError):
    """There is no C compiler to link libraries."""


def needed_by(symbols: Iterable[str], modules: dict[str, Any]) -> list[Any]:
    """Return the modules of some functions and of all functions that they call."""
    wanted, found = list(symbols), []
    while wanted:
        symbol = wanted.pop()
        if symbol in modules or symbol not in by_symbol:
            continue
        module = modules[symbol] = llvm.parse_assembly(by_symbol[symbol].text)
        found.append(module)
        wanted.extend(f.name for f in module.functions if f.is_declaration and f.name in by_symbol)
    return found


def linked_by(parts: Iterable[Part]) -> Iterator[Any]:
    """Yield the modules of numba's own functions that some functions call."""
    for linked in dict.fromkeys(linked for part in parts for linked in part.linked):
        with not_optimized(), global_compiler_lock:
            linked._ensure_finalized()  # as numba does where it links a library; it then holds all that it needs
        module = llvm.parse_assembly(linked.get_llvm_str())
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        yield module


def way_in(name: str, part: Part, module: Any) -> str:
    """Return a wrapper function in LLVM's language through which C, and so Python, calls a part."""
    types = [str(argument.type) for argument in module.get_function(part.symbol).arguments]
    outer = ["i64" if kind == "ptr" else kind for kind in types[2:]]
    lines = [f"%r{i} = inttoptr i64 %a{i} to ptr" for i, kind in enumerate(types[2:]) if kind == "ptr"]
    given = [f"{kind} %{'r' if kind == 'ptr' else 'a'}{i}" for i, kind in enumerate(types[2:])]
    result = WORDS.get(result_of(part))
    end = [f"%value = load {result}, ptr %result", f"ret {result} %value"] if result else ["ret void"]
    parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(outer))
    body = [
        "%result = alloca i64",
        "%error = alloca ptr",
        *lines,
        f"%status = call i32 @{part.symbol}(ptr %result, ptr %error, {', '.join(given)})",
        "%old = load i32, ptr @hl_status",
        "%bad = icmp sgt i32 %status, 0",
        "%new = select i1 %bad, i32 %status, i32 %old",
        "store i32 %new, ptr @hl_status",
        *end,
    ]
    lines = [f"define {result or 'void'} @{name}({parameters}) {{", *(f"  {line}" for line in body), "}"]
    return "\n".join(lines)


def by_address(name: str, part: Part, module: Any) -> str:
    """Return a function in LLVM's language that compiled code calls by address in place of a part, as numba calls."""
    types = [str(argument.type) for argument in module.get_function(part.symbol).arguments]
    parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    body = f"  %status = call i32 @{part.symbol}({parameters})\n  ret i32 %status"
    return f"define i32 @{name}({parameters}) {{\n{body}\n}}"


def declared(part: Part, module: Any) -> str:
    """Return the declaration of a part in LLVM's language."""
    types = [str(argument.type) for argument in module.get_function(part.symbol).arguments]
    return f"declare i32 @{part.symbol}({', '.join(types)})"


def optimized(entries: dict[str, Part], kinds: Iterable[str], machine: Any) -> Any:
    """Return one module of all entries, by the names of their wrappers, and of everything that they call.

    Args:
        kinds: of the entries.
    """
    modules: dict[str, Any] = {}
    needed_by((part.symbol for part in entries.values()), modules)
    ways = ["@hl_status = global i32 0"]
    ways += dict.fromkeys(declared(part, modules[part.symbol]) for part in entries.values())
    ways += [
        (by_address if kind.startswith(library.BY_ADDRESS) else way_in)(name, part, modules[part.symbol])
        for (name, part), kind in zip(entries.items(), kinds, strict=True)
    ]
    whole = llvm.parse_assembly("\n".join(ways))
    for module in (*modules.values(), *linked_by(by_symbol[symbol] for symbol in modules)):
        module.triple = whole.triple
        whole.link_in(module)
    whole.triple = machine.triple
    whole.data_layout = str(machine.target_data)
    for function in whole.functions:
        if not function.is_declaration and function.name not in entries:
            function.linkage = "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration and variable.name != "hl_status":
            variable.linkage = "internal"
    # with all index checks LLVM takes minutes at its third level
    options = llvm.create_pipeline_tuning_options(speed_level=1 if library.CHECKED else 3)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.add_refprune_pass()
    manager.run(whole, builder)
    last = llvm.create_new_module_pass_manager()
    last.add_global_dead_code_eliminate_pass()
    last.run(whole, builder)
    whole.verify()
    return whole


def look_back_less() -> None:
    """Give LLVM the options `QUICK`, which hold for the whole process: for one that only builds, no user's."""
    for option in QUICK:
        llvm.set_option("", option)


def target_machine(processor: str) -> Any:
    """Return LLVM's description of a kind of processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=processor, opt=3, reloc="pic", codemodel="small")


def link(code: bytes, path: Path) -> None:
    """Link LLVM's machine code to a shared library.

    Raises:
        NoCompiler: there is no C compiler.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompiler("a C compiler (cc, gcc or clang) is needed to link machine code; there is none on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        made, support = Path(folder) / "code.o", Path(folder) / "support.c"
        made.write_bytes(code)
        support.write_text(SUPPORT)
        shared = [compiler, "-shared", "-fPIC", "-O2", "-s", "-o", str(path), str(made), str(support), "-lm"]
        subprocess.run(shared, check=True, capture_output=True)


def made_of(kinds: Mapping[str, Part]) -> dict[str, Any]:
    """Return the functions of this package that each kind is made of, by number, and their fingerprints."""
    numbers: dict[str, int] = {}
    entries: dict[str, list[int]] = {}
    calls: dict[str, list[str]] = {}
    for kind, part in kinds.items():
        reached, wanted = {part.symbol}, [part.symbol]
        while wanted:
            symbol = wanted.pop()
            if symbol not in calls:
                declared = llvm.parse_assembly(by_symbol[symbol].text).functions
                calls[symbol] = [f.name for f in declared if f.is_declaration and f.name in by_symbol]
            wanted += [name for name in calls[symbol] if name not in reached]
            reached.update(calls[symbol])
        functions = {by_symbol[symbol].function for symbol in reached}
        names = sorted({identity(function) for function in functions if has_name(function)})
        entries[kind] = [numbers.setdefault(name, len(numbers)) for name in names]
    made = [(name, fingerprint(found(name))) for name in numbers]
    return {"compiler": digest_of_compiler(), "numba": version_of_numba(), "functions": made, "entries": entries}


def write_library(folder: Path, name: str, kinds: Mapping[str, Part], processor: str = "") -> Path:
    """Write the shared object of some kinds of calls, and its tables beside it; return the path of the former.

    Args:
        processor: target of the code; this machine's if not given.

    Raises:
        NoCompiler: there is no C compiler.
    """
    entries = {f"hl_{number}": kind for number, kind in enumerate(kinds)}
    machine = target_machine(processor or library.target())
    module = optimized({symbol: kinds[kind] for symbol, kind in entries.items()}, kinds, machine)
    path = folder / f"{name}.so"
    with tempfile.TemporaryDirectory(dir=folder) as made:
        code, table = Path(made) / "code.so", Path(made) / "table.json"
        link(machine.emit_object(module), code)
        content = {kind: [symbol, result_of(kinds[kind])] for symbol, kind in entries.items()}
        table.write_text(json.dumps({"sources": library.source_digest(), "entries": content}, indent=0))
        parts = Path(made) / "parts"
        parts.write_text(json.dumps(made_of(kinds)))
        code.replace(path)
        parts.replace(path.with_suffix(library.PARTS))
        table.replace(path.with_suffix(".json"))  # last: a table is never without its code
    return path
