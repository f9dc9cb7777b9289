"""Agents that learn; everything in this folder needs PyTorch, which is an extra of the package."""

import os
from importlib.util import find_spec

from hdeeprm_like.errors import AgentError

if find_spec("torch") is None:
    raise AgentError(
        "learning agents need PyTorch; install hdeeprm_like with its extra learn: pip install 'hdeeprm_like[learn]'"
    )

# Read when torch is imported. Networks here are small: threads that wait busily for one another, which is libgomp's
# default, would take most of the time as soon as another program wants a processor. What is computed stays the same.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
