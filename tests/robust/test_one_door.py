"""All files come in through `hdeeprm_like.inputs`, which bounds them; nothing else opens a file for reading."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "hdeeprm_like"
DOOR = PACKAGE / "inputs.py"
ALLOWED = {  # what is read there is no input of a user: file, function -> why
    ("engine/sources.py", "open"): "the package's own sources, of which machine code is made",
    ("engine/sources.py", "read_bytes"): "the digest of these that an earlier process of ours has left",
    ("engine/light_library.py", "open"): "what the kernel says of the processor",
    ("engine/light_library.py", "read_text"): "the table beside machine code, which this process runs as it is",
    ("compiler/__main__.py", "read_text"): "the table beside machine code that it has written",
    ("engine/library.py", "read_text"): "the table beside machine code, which this process runs as it is",
    ("engine/plain_divisions.py", "linecache"): "the lines of a compiled function, as a debugger shows them",
    ("example_files.py", "read_bytes"): "the package's own examples",
    ("formats/platform_json.py", "read_text"): "the package's own catalogues",
    ("importers/column_maps.py", "read_text"): "the package's own maps of columns",
    ("studies/reproduction/report.py", "read_text"): "the package's own list of errata",
    ("results/batsim5_files.py", "read_text"): "what the kernel says of this process",
    ("slurm/factors.py", "open"): "a lock file, of which 20 characters are read",
    ("slurm/factors.py", "os.open"): "a folder, to write it to the disk",
    ("formats/files.py", "os.open"): "a folder, to lock it",
    ("studies/sweep/state.py", "os.open"): "a folder, to see whether it is locked",
    ("cli/main.py", "os.open"): "the null device, to be written to",
    ("formats/files.py", "gzip"): "packs what is written",
    ("learning/python_state.py", "pickle"): "packs what is compared, and unpacks nothing",
    ("importers/jobs.py", "np.memmap"): "columns that the same process has written into a file without a name",
}
METHODS = {"read_text", "read_bytes"}
READERS = {
    "json.load", "np.load", "np.fromfile", "np.memmap", "np.genfromtxt", "numpy.load", "tomllib.load", "os.open",
    "io.open", "os.fdopen", "mmap.mmap", "ET.parse", "ElementTree.parse", "pd.read_json", "pd.read_parquet",
    "pd.read_pickle", "pd.read_table", "pd.read_excel", "shutil.copy", "shutil.copyfile", "pickle.load",
    "fileinput.input", "linecache.getline", "zlib.decompress", "zlib.decompressobj",
}  # fmt: skip
OF_TEXT = {"pd.read_csv", "np.loadtxt", "torch.load"}  # they may take a text or bytes that were read by `inputs`
TEXTS = {"StringIO", "BytesIO", "read_archive"}
MODULES = {"gzip", "bz2", "lzma", "zipfile", "tarfile", "pickle", "shelve", "mmap", "fileinput", "linecache"}


def dotted(node):
    """Return the name of what is called, as ``np.load``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def reads(call):
    """Return what a call reads a file with, empty for none."""
    name = dotted(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        return call.func.attr
    if name in READERS:
        return name
    if name in OF_TEXT:
        first = call.args[0] if call.args else None
        text = isinstance(first, ast.Call) and dotted(first.func).split(".")[-1] in TEXTS
        return "" if text or (isinstance(first, ast.Name) and first.id == "lines") else name
    if name == "open" or (isinstance(call.func, ast.Attribute) and call.func.attr == "open"):
        values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        modes = [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        own = name not in ("open", "") and not modes and "path" not in name and "file" not in name
        if own and call.args:  # a method of our own, as of a training
            return ""
        return "" if any(set(mode) & set("wax") and "+" not in mode for mode in modes) else "open"
    return ""


def readings(source):
    """Yield the line and the kind of all that reads files past the door in some source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (kind := reads(node)):
            yield node.lineno, kind
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names if one.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.lineno, str(node.module)


def test_files_are_read_through_one_door():
    found, used = [], set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for line, kind in readings(path.read_text()) if path != DOOR else ():
            if (name, kind) in ALLOWED:
                used.add((name, kind))
            else:
                found.append(f"{name}:{line}: {kind}")
    assert not found, "read by functions of hdeeprm_like/inputs.py: " + ", ".join(found)
    assert used == set(ALLOWED), "no longer needed: " + ", ".join(map(str, set(ALLOWED) - used))


@pytest.mark.parametrize(
    "line",
    [
        "pd.read_csv(folder / 'summary.csv')",
        "json.loads((folder / 'compare.json').read_text(encoding='utf-8'))",
        "path.read_bytes()",
        "json.load(file)",
        "np.load(path)",
        "np.loadtxt(path)",
        "torch.load(path, weights_only=True)",
        "open(path)",
        "open(path, 'rb')",
        "path.open()",
        "path.open(encoding='utf-8')",
        "path.open('a+b')",
        "(folder / 'x').open(mode='r')",
        "import gzip",
        "from lzma import open",
    ],
)
def test_each_way_around_the_door_is_found(line):
    assert list(readings(line))


@pytest.mark.parametrize(
    "line",
    [
        "pd.read_csv(io.StringIO(read_text(path, ResultsError)))",
        "json.loads(line)",
        "read_text(path, ResultsError)",
        "np.loadtxt(lines, delimiter=',')",
        "open(path, 'w')",
        "path.open('a', encoding='utf-8')",
        "training.open(resume, tensorboard)",
    ],
)
def test_what_was_read_already_and_what_is_written_is_left_alone(line):
    assert not list(readings(line))
