"""Find the object of a name: a built-in name, ``module:attribute`` or ``file.py:attribute``."""

import importlib
import importlib.util
import inspect
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

from hdeeprm_like.errors import HDeepRMError, OptionsError, did_you_mean

T = TypeVar("T")
PACKAGE = __name__.partition(".")[0]
PLUGINS = "hdeeprm_like.plugins"  # entry points with which an installed plugin registers its modules

ARGUMENTS = {  # which a part of a kind is called with
    "observation": ("state", "window"),
    "actions": ("state", "window"),
    "objective": ("state",),
}

Place: TypeAlias = Path | str
"""A file or a folder whose Python code may be run, or the name of a module that may be imported."""


def find(
    name: str,
    known: Mapping[str, Any],
    what: str,
    folder: Path | None = None,
    error: type[HDeepRMError] = OptionsError,
) -> Any:
    """Return the object that an option names.

    Args:
        name: one of *known*, ``package.module:attribute``, or ``path/to/file.py:attribute``.
        known: the built-in ones.
        what: the kind of part, for messages: ``"objective"``.
        folder: paths are relative to it; None for the current one.

    Raises:
        HDeepRMError: of the kind *error*; there is no such thing, importing it fails, or it takes other arguments than
        those of its kind in `ARGUMENTS`.
    """
    if name in known:
        return known[name]
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute:
        raise error(
            f"{what} {name!r} is not known{did_you_mean(name, known)}; "
            f"one of your own is named 'module:attribute' or 'file.py:attribute'"
        )
    module = import_file((folder or Path()) / place, error) if place.endswith(".py") else import_module(place, error)
    found = attribute_of(module, attribute, f"{what} {name!r}", error)
    home = str(getattr(found, "__module__", ""))
    if _trusted.get() and is_inside(place, PACKAGE) and not is_inside(home, PACKAGE):
        raise error(f"{what} {name!r:.80}: is not of this package, which only imports it; --trust lets it run")
    if what in ARGUMENTS and not takes(found, len(ARGUMENTS[what])):
        raise error(f"{what} {name!r:.80}: cannot be called with ({', '.join(ARGUMENTS[what])})")
    return found


def takes(function: Any, count: int) -> bool:
    """Return whether something can be called with so many arguments, as far as it says."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some of C's functions do not say
        return True
    return True


def whole_names(content: Any, folder: Path) -> Any:
    """Return JSON content with the files of ``file.py:attribute`` named by their whole paths.

    Args:
        folder: that the paths are relative to.
    """
    if isinstance(content, dict):
        return {whole_names(name, folder): whole_names(value, folder) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [whole_names(value, folder) for value in content]
    if not isinstance(content, str):
        return content
    place, colon, attribute = content.rpartition(":")
    return f"{(folder / place).resolve()}:{attribute}" if colon and place.endswith(".py") else content


def python_files(content: Any, folder: Path = Path()) -> list[Path]:
    """Return the Python files that JSON content names, ``file.py`` or ``file.py:attribute``, in keys and in values.

    Args:
        folder: that their paths are relative to.
    """
    if isinstance(content, dict):
        return [path for item in content.items() for part in item for path in python_files(part, folder)]
    if isinstance(content, list | tuple):
        return [path for part in content for path in python_files(part, folder)]
    if not isinstance(content, str):
        return []
    place = content.partition(".py:")[0] + ".py" if ".py:" in content else content
    return [folder / place] if place.endswith(".py") else []


def attribute_of(module: ModuleType, attribute: str, what: str, error: type[HDeepRMError]) -> Any:
    """Return an attribute of a module; raise *error* with the nearest name if it has none."""
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [key for key in vars(module) if not key.startswith("_")]
        raise error(f"{what}: {module.__name__} has no {attribute!r}{did_you_mean(attribute, public)}") from None


def function_at(place: str) -> Callable[..., Any]:
    """Return the function that an entry of one of our own tables names as ``module:function``."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def import_module(name: str, error: type[HDeepRMError] = OptionsError) -> ModuleType:
    """Import an installed module; raise *error* in one line if that fails, or if the module may not be run."""
    if _trusted.get() and not may_import(name):
        raise error(
            f"{name:.80}: is an installed module, neither of this package nor of a registered plugin; "
            "--trust lets it run"
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as cause:
        raise error(f"there is no module {cause.name!r} (wanted for {name!r})") from None
    except Exception as cause:
        raise error(f"module {name!r} cannot be imported: {described(cause)}") from cause


def may_import(name: str) -> bool:
    """Return whether a module is this package's, a registered plugin's, or among the places of `trusting`.

    A plugin registers its modules as entry points of the group `PLUGINS`.
    """
    if any(part.startswith("__") for part in name.split(".")):  # a __main__ runs when it is imported
        return False
    if is_inside(name, PACKAGE) or name in _trusted.get():
        return True
    from importlib.metadata import entry_points

    return any(is_inside(name, plugin.module) for plugin in entry_points(group=PLUGINS))


def is_inside(name: str, package: str) -> bool:
    """Return whether a name is that of a package, or of a module in it."""
    return name == package or name.startswith(f"{package}.")


_trusted: ContextVar[tuple[Place, ...]] = ContextVar("trusted", default=())


@contextmanager
def trusting(*places: Place) -> Iterator[None]:
    """Restrict the Python code that may run until the block ends; without places, nothing is restricted.

    `import_file` runs only files that are among the places or lie inside them, and `import_module` imports only
    modules of `may_import`.
    """
    before = _trusted.set(tuple(place.resolve() if isinstance(place, Path) else place for place in places))
    try:
        yield
    finally:
        _trusted.reset(before)


def trusted() -> tuple[Place, ...]:
    """Return the places of `trusting`, for another process."""
    return _trusted.get()


def trust(places: tuple[Place, ...]) -> None:
    """Restrict the Python code that may run in this process until it ends, see `trusting`."""
    _trusted.set(places)


def import_file(path: Path, error: type[HDeepRMError] = OptionsError) -> ModuleType:
    """Import a Python file by path; raise *error* with file and line if that fails.

    The file may import its neighbours, as a script may.
    """
    path = path.resolve()
    if not path.is_file():
        raise error(f"{path}: no such file")
    places = _trusted.get()
    if places and not any(path.is_relative_to(place) for place in places if isinstance(place, Path)):
        raise error(f"{path}: is Python code outside the folders that the command names; --trust lets it run")
    name = f"hdeeprm_like_user_{zlib.crc32(str(path).encode()):08x}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise error(f"{path}: is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up
    sys.path.append(str(path.parent))  # last, so that a torch.py beside it does not stand in for the real one
    try:
        spec.loader.exec_module(module)
    except SyntaxError as cause:
        raise error(f"{cause.filename}:{cause.lineno}: {cause.msg}") from cause
    except HDeepRMError:
        raise
    except Exception as cause:
        raise error(f"{where(cause, path) or path}: {described(cause)}") from cause
    finally:
        sys.path.reverse()  # the last one of that name is ours
        sys.path.remove(str(path.parent))
        sys.path.reverse()
    return module


def where(cause: BaseException, path: Path) -> str | None:
    """Return ``"file:line"`` of the innermost place in a file at which an exception passed; None if it did not."""
    place = None
    trace = cause.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            place = f"{path}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def answered(function: Callable[..., T], what: str, *arguments: Any) -> T:
    """Return the answer of a user's function.

    Args:
        what: the kind of part, for messages.

    Raises:
        OptionsError: it has failed; the message names the line of its file.
    """
    try:
        return function(*arguments)
    except HDeepRMError:
        raise
    except Exception as cause:
        defined = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
        try:
            place = where(cause, Path(inspect.getfile(defined)))
        except (OSError, TypeError):  # of C
            place = None
        raise OptionsError(f"{place or f'{what} {function_name(function)}'}: {described(cause)}") from cause


def function_name(function: Any) -> str:
    """Return the name of a user's function."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def described(cause: BaseException) -> str:
    """Return an exception in one line."""
    text = " ".join(str(cause).split())
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__
