"""Traces from the Parallel Workloads Archive: their addresses, checksums and local files."""

import hashlib
import http.client
import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from hdeeprm_like.errors import ResultsError, WorkloadError, did_you_mean
from hdeeprm_like.formats.files import replacing, replacing_bytes
from hdeeprm_like.inputs import check_unpacks, read_packed, read_text

log = logging.getLogger(__name__)

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
TIMEOUT = 30.0  # s without a byte
PIECE = 1 << 16  # bytes
LARGEST_PACKED = 1 << 28  # bytes of a packed trace; the largest one of the archive is far smaller
LARGEST_UNPACKED = 1 << 30  # bytes

Progress = Callable[[int, int | None], None]  # bytes so far, and bytes in all if known


class Origin(NamedTuple):
    """Place of a trace in the archive, and the SHA-256 of its packed file, empty if not known here."""

    folder: str
    sha256: str | None = None


TRACES: dict[str, Origin] = {
    "ANL-Intrepid-2009-1": Origin("l_anl_int"),
    "CEA-Curie-2011-2.1-cln": Origin("l_cea_curie"),
    "CTC-SP2-1996-3.1-cln": Origin("l_ctc_sp2", "9fa28ac16c4386fb81b72a91d8bd8888281df2948a9d912769d387c5ee285bb4"),
    "HPC2N-2002-2.2-cln": Origin("l_hpc2n"),
    "KTH-SP2-1996-2.1-cln": Origin("l_kth_sp2"),
    "LANL-CM5-1994-4.1-cln": Origin("l_lanl_cm5"),
    "LLNL-Thunder-2007-1.1-cln": Origin("l_llnl_thunder"),
    "METACENTRUM-2013-3": Origin("l_metacentrum2"),
    "NASA-iPSC-1993-3.1-cln": Origin("l_nasa_ipsc"),
    "PIK-IPLEX-2009-1": Origin("l_pik_iplex"),
    "RICC-2010-2": Origin("l_ricc"),
    "SDSC-BLUE-2000-4.2-cln": Origin("l_sdsc_blue"),
    "SDSC-SP2-1998-4.2-cln": Origin("l_sdsc_sp2"),
    "UniLu-Gaia-2014-2": Origin("l_unilu_gaia", "510bc879ca5501fb1397df0f09f114ee6c3c718bedddca8da0e10b756cca80a7"),
}


def trace_folder() -> Path:
    """Return the folder of downloaded traces.

    It differs from the folder of machine code (`engine.compiled`), from which unknown files are removed.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "hdeeprm_like-traces"


def fetch_trace(
    name: str, folder: Path | None = None, *, site: str = ARCHIVE, progress: Progress | None = None
) -> tuple[Path, str]:
    """Return a trace of the archive and its SHA-256; it is downloaded unless it is in the folder.

    A download is checked before it is stored: by its SHA-256 if known, else by unpacking it. Otherwise, the SHA-256
    of the first download is kept beside the trace, and a later download with another one causes a warning.

    Args:
        name: as in `TRACES`, with or without ``.swf.gz``.
        folder: of downloaded traces; None for `trace_folder`.
        site: the archive.
        progress: called with the number of bytes so far, and of all bytes, None if unknown.

    Raises:
        WorkloadError: the trace is unknown, cannot be downloaded, or fails the check.
        ResultsError: the folder cannot be written.
    """
    name = name.removesuffix(".gz").removesuffix(".swf")
    if name not in TRACES:
        raise WorkloadError(f"trace {name!r} is not known{did_you_mean(name, TRACES)}")
    origin = TRACES[name]
    path = (trace_folder() if folder is None else folder) / f"{name}.swf.gz"
    if path.exists():
        data = read_packed(path, LARGEST_PACKED, ResultsError)
        digest = _checked(data, origin, f"{path} (delete it to download it again)")
        _compare(path, digest, origin)
        return path, digest
    url = f"{site}/{origin.folder}/{path.name}"
    data = _download(url, path, progress)
    digest = _checked(data, origin, url)
    if origin.sha256 is None and not record_of(path).exists():
        log.warning("%s: its SHA-256 is not known to us; that of what arrived is %s", name, digest)
    _compare(path, digest, origin)
    with replacing_bytes(path) as file:
        file.write(data)
    return path, digest


def record_of(path: Path) -> Path:
    """Return the file beside a trace that keeps its SHA-256, in the format of ``sha256sum --check``."""
    return path.with_name(f"{path.name}.sha256")


def _compare(path: Path, digest: str, origin: Origin) -> None:
    """Store the SHA-256 of a trace that has none known here, or warn if it differs from the stored one."""
    if origin.sha256 is not None:
        return
    record = record_of(path)
    if not record.exists():
        try:
            with replacing(record) as file:
                file.write(f"{digest}  {path.name}\n")
        except ResultsError as error:  # a shared folder of traces may be read-only
            log.debug("%s", error)
        return
    before = read_text(record, ResultsError).partition(" ")[0]
    if before != digest:
        log.warning(
            "%s: has changed: its SHA-256 was %s and is %s; if that is right, delete %s",
            path, f"{before:.64}", digest, record,
        )  # fmt: skip


def _download(url: str, path: Path, progress: Progress | None) -> bytes:
    """Return the content of an address, or raise with one line on the cause and the remedy."""
    remedy = f"; or put the file at {path} yourself"
    site = urlsplit(url).netloc
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            data = bytearray()
            while piece := answer.read(PIECE):
                data += piece
                if len(data) > LARGEST_PACKED:
                    raise WorkloadError(f"{url}: is larger than {LARGEST_PACKED >> 20} MiB; this is no trace")
                if progress is not None:
                    progress(len(data), total)
    except urllib.error.HTTPError as error:
        error.close()
        raise WorkloadError(f"{url}: {site} answers {error.code} {error.reason}{remedy}") from None
    except urllib.error.URLError as error:
        raise WorkloadError(f"{url}: {site} cannot be reached: {error.reason}; are you offline?{remedy}") from None
    except (OSError, http.client.HTTPException) as error:
        raise WorkloadError(f"{url}: broke off: {error}; try again{remedy}") from None
    if total is not None and len(data) != total:
        raise WorkloadError(f"{url}: broke off after {len(data)} of {total} bytes; try again{remedy}")
    return bytes(data)


def _checked(data: bytes, origin: Origin, where: str) -> str:
    """Return the SHA-256 of a packed trace after checking it."""
    digest = hashlib.sha256(data).hexdigest()
    if origin.sha256 not in (None, digest):
        raise WorkloadError(f"{where}: is not the trace that it should be: SHA-256 {digest}, not {origin.sha256}")
    if origin.sha256 is None:
        check_unpacks(data, LARGEST_UNPACKED, where, WorkloadError)
    return digest
