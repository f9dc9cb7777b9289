"""The ids of the environments, registered with Gymnasium by names alone, which imports next to nothing.

Gymnasium calls `register` as a plugin (entry point ``gymnasium.envs``), so an installed package needs no import;
but Gymnasium 1.4 loads no plugins, so there `hdeeprm_like.gym` is imported or named, as in ``hdeeprm_like.gym:ID``.
"""

from hdeeprm_like.decision import specs

NAMESPACE, VERSION = "hdeeprm_like", "v0"
SCENARIOS = 10  # of the compact MDP
PAPERS = (
    *("SMDP-paper", "CompactRM-paper", "DeepBackfilling-paper", "DeepRM-paper"),
    *(f"CompactRM-paper-{number}" for number in range(1, SCENARIOS + 1)),
)
"""The names of `envs.settings.PAPERS`."""


def register() -> None:
    """Register an environment for each preset, and with the sizes of each paper, unless they already are."""
    from gymnasium.envs.registration import register, registry

    for name in (*specs.PRESETS, *PAPERS):
        given = f"{NAMESPACE}/{name}-{VERSION}"
        if given not in registry:
            register(
                given,
                entry_point="hdeeprm_like.gym:environment",
                vector_entry_point="hdeeprm_like.gym:environments",
                kwargs={"preset": name},
            )
