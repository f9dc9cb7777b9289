"""Agents that learn; everything in this folder needs PyTorch, which is an extra of the package."""

import os
from importlib.util import find_spec

from hdeeprm_like.errors import AgentError

if find_spec("torch") is None:
    raise AgentError(
        "learning agents need PyTorch; install hdeeprm_like with its extra learn: pip install 'hdeeprm_like[learn]'"
    )

# Read when torch is imported. Networks here are small: threads that wait busily for one another for milliseconds, as
# libgomp's do, would take most of the time as soon as another program wants a processor. To sleep at once costs a fifth
# of the time on an idle machine; so they wait for some microseconds. What is computed stays the same.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
