"""From the name of a part to the object."""

import math

import pytest

from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.plugins import find


def test_a_built_in_name_gives_the_built_in_object():
    assert find("makespan", OBJECTIVES, "objective") is OBJECTIVES["makespan"]


def test_a_module_and_an_attribute_give_the_attribute():
    assert find("math:hypot", OBJECTIVES, "objective") is math.hypot


def test_a_file_is_looked_for_beside_the_options_file(tmp_path):
    (tmp_path / "mine.py").write_text("def jobs(state):\n    return -1.0\n")
    assert find("mine.py:jobs", OBJECTIVES, "objective", tmp_path)(None) == -1.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("makespam", "objective 'makespam' is not known; did you mean 'makespan'"),
        ("no_such_module_here:thing", "no module 'no_such_module_here'"),
        ("math:hypo", "math has no 'hypo'; did you mean 'hypot'"),
        ("missing.py:thing", r"missing\.py: no such file"),
        ("broken.py:thing", r"broken\.py:1: ZeroDivisionError: division by zero"),
        (":thing", "objective ':thing' is not known"),
    ],
)
def test_a_missing_part_gives_a_one_line_error(tmp_path, name, said):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(OptionsError, match=said) as refused:
        find(name, OBJECTIVES, "objective", tmp_path)
    assert "\n" not in str(refused.value)
