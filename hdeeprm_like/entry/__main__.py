"""Write the path of PyBatsim's entry file to standard output."""

import sys

from hdeeprm_like.entry import PYBATSIM

sys.stdout.write(f"{PYBATSIM}\n")
