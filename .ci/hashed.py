"""Write constraints-hashed.txt: constraints.txt with the SHA-256 of each file for Linux on x86-64 with Python 3.11.

    python3.11 .ci/hashed.py constraints.txt constraints-hashed.txt

pip looks the files up in the package index and downloads none of them. torch is left out: which of its files is right
depends on the machine (CPU or CUDA), and so is what only torch's files for CUDA need.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LEFT_OUT = ("torch",)
HEAD = """# What constraints.txt names, for Linux on x86-64 with Python 3.11, with the SHA-256 of each file; made of it
# by .ci/hashed.py. torch is left out, whose right file depends on the machine. Installed by `make hashed` with:
#   pip install --require-hashes --no-deps -r constraints-hashed.txt
"""


def main(constraints: Path, hashed: Path) -> None:
    """Write the file."""
    lines = [line.strip() for line in constraints.read_text(encoding="utf-8").splitlines()]
    pins = [line for line in lines if line and not line.startswith("#") and line.partition("==")[0] not in LEFT_OUT]
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder) / "pins.txt", Path(folder) / "report.json"
        wanted.write_text("\n".join(pins), encoding="utf-8")
        words = ["--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", str(report), "-r", str(wanted)]
        subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    hashes = {plain(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"]["sha256"] for one in found}
    told = "".join(f"{pin} --hash=sha256:{hashes[plain(pin.partition('==')[0])]}\n" for pin in pins)
    hashed.write_text(HEAD + told, encoding="utf-8")


def plain(name: str) -> str:
    """Return a name as the index compares it."""
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
