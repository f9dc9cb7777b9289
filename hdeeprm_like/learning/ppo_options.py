"""What the options may be of all agents who learn by proximal policy optimization, however they see the cluster."""

from collections.abc import Mapping

from hdeeprm_like.learning.advantages import SCALES
from hdeeprm_like.learning.agent_options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Choice, Option

PPO_OPTIONS: Mapping[str, Option] = {
    "activation": Choice(("tanh", "relu")),
    "gae_lambda": SHARE,
    "clip": POSITIVE,
    "epochs": COUNT,
    "minibatch": COUNT,
    "entropy": NOT_NEGATIVE,
    "value_coefficient": NOT_NEGATIVE,
    "max_grad_norm": NOT_NEGATIVE,
    "target_kl": NOT_NEGATIVE,
    "reward_scale": POSITIVE,
    "standardize": Choice(SCALES),
}
