"""Agents that learn; everything in this folder needs PyTorch, which is an extra of the package."""

from importlib.util import find_spec

from hdeeprm_like.errors import AgentError

if find_spec("torch") is None:
    raise AgentError(
        "learning agents need PyTorch; install hdeeprm_like with its extra learn: pip install 'hdeeprm_like[learn]'"
    )
