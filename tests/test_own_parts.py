"""The example of users' own parts stands on the public properties of a state."""

import ast
from pathlib import Path

OWN_PARTS = Path(__file__).parent.parent / "agents" / "own_parts.py"


def test_the_example_of_own_parts_mentions_no_tables_and_no_private_names():
    names = {node.attr for node in ast.walk(ast.parse(OWN_PARTS.read_text())) if isinstance(node, ast.Attribute)}
    assert not names & {"tables", "rows", "clock"}
    assert {name for name in names if name.startswith("_") and not name.startswith("__")} == {"_slots"}  # its own
    assert {"waiting", "free_cores", "requested_cores", "requested_time", "submit_time", "running"} <= names
