"""What comes from elsewhere is pinned: actions of workflows by commit, packages by the checksum of a file."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"torch"}  # the machine decides which of its files is right


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_name_their_version(path):
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    for line in used:
        assert re.fullmatch(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line


def test_an_action_stands_for_the_same_commit_everywhere():
    text = "".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    pins = set(re.findall(r"uses: (\S+)@(\S+)  # (\S+)", text))
    assert len({name for name, _, _ in pins}) == len(pins)


def test_every_package_of_the_constraints_has_a_checksum():
    constraints = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    wanted = {line for line in constraints if line.partition("==")[0] not in LEFT_OUT}
    lines = [line for line in (ROOT / "constraints-hashed.txt").read_text().splitlines() if not line.startswith("#")]
    found = {}
    for line in lines:
        pin, _, digest = line.partition(" --hash=sha256:")
        assert re.fullmatch("[0-9a-f]{64}", digest), line
        found[pin] = digest
    assert set(found) == wanted, "run .ci/hashed.py constraints.txt constraints-hashed.txt"
    assert len(set(found.values())) == len(found)
