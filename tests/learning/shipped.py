"""The agents that are shipped in ``agents/``, made for the toy corridor unless a test says what they see and do."""

from pathlib import Path

from toy import ACTIONS, PLACES

from hdeeprm_like.learning.loading import build_agent, load_agent_class

AGENTS = Path(__file__).parents[2] / "agents"


def shipped(name, options, observed=(PLACES + 1,), actions=ACTIONS, **how):
    """An agent with options; *how* is its seed and layout."""
    return build_agent(load_agent_class(str(AGENTS / f"{name}.py")), options, observed, actions, **how)
