"""The options of proximal policy optimization, for all agents that learn by it: type, bounds and meaning, each once.

A constructor names those that it takes, with its defaults: ``clip: Clip = 0.2``.
"""

from typing import Annotated, TypeAlias

from hdeeprm_like.learning.advantages import SCALES, Scale
from hdeeprm_like.learning.agent_options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Choice

Activation: TypeAlias = Annotated[str, Choice(("tanh", "relu")), "function between layers"]
Clip: TypeAlias = Annotated[float, POSITIVE, "how far from 1 the ratio of new to old probability is rewarded"]
Epochs: TypeAlias = Annotated[int, COUNT, "passes over the decisions in an update"]
Minibatch: TypeAlias = Annotated[int, COUNT, "decisions in a gradient step"]
Entropy: TypeAlias = Annotated[float, NOT_NEGATIVE, "weight of the entropy bonus"]
ValueCoefficient: TypeAlias = Annotated[float, NOT_NEGATIVE, "weight of the loss of the critic's values"]
GradNorm: TypeAlias = Annotated[float, NOT_NEGATIVE, "norm that gradients are clipped to"]
TargetKL: TypeAlias = Annotated[
    float, NOT_NEGATIVE, "an update stops when the policy has moved 1.5 times that far; 0 for never"
]
GAELambda: TypeAlias = Annotated[
    float, SHARE, "trace of the advantages; 1: whole returns, 0: one-step errors (dissertation equation 2.14)"
]
Alike: TypeAlias = Annotated[
    int, COUNT, "consecutive episodes with the same jobs, whose mean advantage at each time is subtracted"
]
RewardScale: TypeAlias = Annotated[
    float, POSITIVE, "factor of the rewards, so that the values to learn are of the order of 1"
]
Standardize: TypeAlias = Annotated[
    Scale, Choice(SCALES), "decisions over which advantages are standardized before an update"
]
