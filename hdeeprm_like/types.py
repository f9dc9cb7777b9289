"""Array aliases used in every signature.

Shapes are written with one letter per axis: J jobs, C cores, P processors, N nodes, A actions.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating]
Ints: TypeAlias = NDArray[np.integer]
Bools: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[np.void]
"""Structured arrays: each entry has named fields."""
