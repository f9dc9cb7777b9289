"""What pyproject.toml cannot say: three folders of the repository are also inside the package, and so is machine code.

``agents/``, ``platforms/`` and ``workloads/`` stay at the top of the repository, where a reader looks for them. A wheel
holds them as ``hdeeprm_like/examples/agents`` and so on, so that a user without a clone has them too. A wheel also
holds the library of compiled code for this machine's family of processors, or for all with HDEEPRM_LIKE_FAMILIES=all.
So it is for one platform, and for any Python: the library is reached by ctypes. An installation with
``pip install -e`` has none; see docs/compiled.md.
"""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

EXAMPLES = {f"hdeeprm_like.examples.{name}": name for name in ("agents", "platforms", "workloads")}
WANTS_ALL = os.environ.get("HDEEPRM_LIKE_FAMILIES") == "all"  # for a wheel that others install
FAMILIES = "x86-64-v2,x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"


def say(line: str) -> None:
    """Write a line to the terminal, if there is one: pip shows nothing of what a build prints."""
    with suppress(OSError), open("/dev/tty", "w") as terminal:
        terminal.write(f"{line}\n")


class BuildWithMachineCode(build_py):
    """Copies the package, and compiles the library into the copy."""

    def run(self) -> None:
        """Run it; ``HDEEPRM_LIKE_NO_LIBRARY=1`` leaves the library out."""
        super().run()
        if self.editable_mode or os.environ.get("HDEEPRM_LIKE_NO_LIBRARY", "0") != "0":
            return
        built = Path(self.build_lib).resolve()
        into = built / "hdeeprm_like" / "data" / "machine_code"
        command = [sys.executable, "-m", "hdeeprm_like.compiler", "--into", str(into)]
        command += ["--processors", FAMILIES] if WANTS_ALL else []
        say("hdeeprm-like: compiling its machine code, about a minute of one core")
        paths = os.pathsep.join([str(built), *sys.path])  # with what the build was given to import
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": paths}, cwd=built)


class PlatformWheel(bdist_wheel):
    """A wheel for one platform and any Python 3."""

    def finalize_options(self) -> None:
        """Name the platform, unless the library is left out."""
        super().finalize_options()
        self.root_is_pure = os.environ.get("HDEEPRM_LIKE_NO_LIBRARY", "0") != "0"

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of Python, its interface and the platform."""
        return "py3", "none", super().get_tag()[2]


setup(
    packages=[*find_packages(include=["hdeeprm_like", "hdeeprm_like.*"]), *EXAMPLES],
    package_dir=EXAMPLES,
    package_data={
        "hdeeprm_like": [
            "data/*.json",
            "importers/maps/*.toml",
            "results/*.html",
            "results/html/*.css",
            "results/html/*.html",
            "results/html/*.js",
            "studies/*/*.css",
            "studies/*/*.html",
            "studies/reproduction/**/*.json",
            "py.typed",
        ],
        **{package: ["*", "zoo/*.json", "zoo/evolution/*.json", "zoo/trained/*/*"] for package in EXAMPLES},
    },
    cmdclass={"build_py": BuildWithMachineCode, "bdist_wheel": PlatformWheel},
    distclass=Distribution,
)
