"""A `SchedulingVectorEnv` with the interface of Stable-Baselines3 and sb3-contrib.

from sb3_contrib import MaskablePPO
from agents.sb3_vector import SideBySide

MaskablePPO("MlpPolicy", SideBySide(SchedulingVectorEnv(...)), n_steps=128).learn(1_000_000)
"""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Bools, Floats, Ints


class SideBySide(VecEnv):
    """The environments of a vector environment that resets each at the step that ends it (``SAME_STEP``)."""

    def __init__(self, env: SchedulingVectorEnv) -> None:
        if env.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
            raise OptionsError("environments side by side begin the next episode at once; make them with 'SameStep'")
        self.env = env
        self._actions: Ints = np.zeros(env.num_envs, np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Begin an episode in each environment, with the seed given to `seed` before, if any."""
        first = self._seeds[0]
        self._reset_seeds()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self.env.reset(seed=None if first is None else int(first))[0].copy()

    def step_async(self, actions: Ints) -> None:
        """Set the (B,) actions of the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Floats, Bools, list[dict[str, Any]]]:
        """Apply the actions; return (B, F) observations, (B,) rewards, (B,) which episodes ended, and their infos."""
        observations, rewards, over, cut, info = self.env.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(over | cut).tolist():
            figures = info["final_info"]["episode"]
            infos[i] = {
                "terminal_observation": info["final_obs"][i],
                "TimeLimit.truncated": bool(cut[i]),
                "episode": {"r": float(figures["r"][i]), "l": int(figures["l"][i]), "t": 0.0},
            }
        return observations.copy(), rewards.astype(np.float32), over | cut, infos

    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **more: Any) -> list[Any]:
        """Return the (A,) legal actions of each environment; `action_masks` is the only callable method."""
        if method_name != "action_masks":
            raise AttributeError(f"environments side by side have action_masks, but no {method_name}")
        return list(self.env.action_masks()[list(self._get_indices(indices))])

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector environment, repeated for each environment."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise an AttributeError; environments are configured at construction."""
        raise AttributeError(f"{attr_name} cannot be set in environments side by side")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each environment: none is wrapped."""
        return [False for _ in self._get_indices(indices)]
