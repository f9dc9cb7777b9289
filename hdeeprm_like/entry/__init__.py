"""Entry points for other launchers.

PyBatsim takes a scheduler as the path of a file, and loads a class with the file's name from it::

    pybatsim "$(python -m hdeeprm_like.entry)" -o '{"seed": 1, "agent": {"policy_pair": "shortest-high_gflops"}}'

``-o`` takes the content of an experiment's options file, either all of it or its section ``pybatsim``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "pybatsim"  # on its own: PyBatsim puts the folder and its parent on sys.path
PYBATSIM = FOLDER / "HDeepRM.py"
