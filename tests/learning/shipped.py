"""The agents that are shipped in ``agents/``, made for the toy corridor unless a test says what they see and do."""

from pathlib import Path

from toy import LAYOUT

from hdeeprm_like.learning.loading import build_agent, load_agent_class

AGENTS = Path(__file__).parents[2] / "agents"


def shipped(name, options, layout=LAYOUT, seed=0):
    """An agent with options, which sees and does what a layout says."""
    return build_agent(load_agent_class(str(AGENTS / f"{name}.py")), options, layout, seed=seed)
