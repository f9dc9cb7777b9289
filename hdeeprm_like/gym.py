"""Environments by name: importing this module registers one for each preset with Gymnasium; see `envs.registration`."""

from hdeeprm_like.envs.registration import environment, environments
from hdeeprm_like.envs.settings import SETTINGS

__all__ = ["SETTINGS", "environment", "environments"]
