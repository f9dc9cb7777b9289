"""Where an environment shows which actions are legal: in ``info`` alone, or in the observation too.

Most libraries hand a learner the observation and nothing else. With ``mask="observation"`` the observation is the
dictionary that PettingZoo and many learners of masked actions read:

| key | space | content |
|---|---|---|
| ``observation`` | ``Box(0, 1, shape, float32)`` | what is seen, the same numbers as without |
| ``action_mask`` | ``MultiBinary(A)``, int8 | 1 for each action that is legal now |
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Bools, Floats

if TYPE_CHECKING:
    from gymnasium import spaces

MaskPlace: TypeAlias = Literal["info", "observation"]
Masks: TypeAlias = NDArray[np.int8]
"""1 for each legal action; int8, as `gymnasium.spaces.Discrete.sample` takes it."""

MASK_PLACES: tuple[MaskPlace, ...] = get_args(MaskPlace)
OBSERVATION, ACTION_MASK = "observation", "action_mask"


def in_observation(place: str) -> bool:
    """Return whether the observation holds the mask.

    Raises:
        OptionsError: the place is not known.
    """
    if place not in MASK_PLACES:
        raise OptionsError(f"mask is {place!r:.80}; {' or '.join(map(repr, MASK_PLACES))} is needed")
    return place == OBSERVATION


def space_with_mask(observed: "spaces.Box", actions: int) -> "spaces.Dict":
    """Return the space of observations that hold the mask of so many actions."""
    from gymnasium import spaces

    return spaces.Dict({OBSERVATION: observed, ACTION_MASK: spaces.MultiBinary(actions)})


def with_mask(observation: Floats, mask: Bools) -> dict[str, NDArray[Any]]:
    """Return an observation that holds the mask; no array is copied.

    Args:
        observation: (...) float32. mask: (..., A).
    """
    return {OBSERVATION: observation, ACTION_MASK: mask.view(np.int8)}
