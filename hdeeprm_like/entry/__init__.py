"""Doors for other people's launchers.

PyBatsim takes a scheduler as the path of a file, and looks there for a class with the file's name::

    pybatsim "$(python -m hdeeprm_like.entry)" -o '{"seed": 1, "agent": {"policy_pair": "shortest-high_gflops"}}'

``-o`` takes what stands in the options file of an experiment, the whole of it or its section ``pybatsim``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "pybatsim"  # alone in there: PyBatsim puts the folder and its parent on sys.path
PYBATSIM = FOLDER / "HDeepRM.py"
