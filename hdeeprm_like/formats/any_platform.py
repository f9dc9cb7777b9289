"""A platform from any argument: a `Platform`, its name or file, or the number of cores of a pool."""

from pathlib import Path
from typing import TypeAlias

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.formats.shipped import existing

AnyPlatform: TypeAlias = Platform | int | str | Path


def platform_from(platform: AnyPlatform) -> Platform:
    """Return a platform: the given one, that of a name of `shipped.SHIPPED` or of a file, or a pool with so many cores.

    Raises:
        PlatformError: the name is unknown, or the file cannot be used.
        OptionsError: a pool without cores is requested.
    """
    if isinstance(platform, Platform):
        return platform
    if isinstance(platform, str | Path):
        return load_platform(existing(platform, "platform"))
    if not isinstance(platform, int | np.integer) or isinstance(platform, bool):
        raise OptionsError(
            f"platform is {platform!r:.80}; its name or path is needed, or the cores of a pool as a whole number"
        )
    if platform < 1:
        raise OptionsError(f"platform: a pool of {platform} cores is not possible; at least 1 is needed")
    if platform > limits.CORES.most:
        raise OptionsError(f"platform: a pool of {platform!r:.40} cores: {limits.refusal(limits.CORES)}")
    return pool(int(platform))
