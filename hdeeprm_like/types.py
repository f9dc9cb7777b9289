"""Array aliases used in every signature.

Shapes are written with one letter per axis: J jobs, C cores, P processors, N nodes, A actions.
"""

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating]
Ints: TypeAlias = NDArray[np.integer]
Bools: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[np.void]
"""Structured arrays: each entry has named fields."""

Float64s: TypeAlias = Annotated[NDArray[np.float64], 1]
Float32s: TypeAlias = Annotated[NDArray[np.float32], 1]
Int64s: TypeAlias = Annotated[NDArray[np.int64], 1]
Int32s: TypeAlias = Annotated[NDArray[np.int32], 1]
Uint64s: TypeAlias = Annotated[NDArray[np.uint64], 1]
Flags: TypeAlias = Annotated[NDArray[np.bool_], 1]
Float64Grid: TypeAlias = Annotated[NDArray[np.float64], 2]
FlagGrid: TypeAlias = Annotated[NDArray[np.bool_], 2]
"""Arrays that compiled functions take, with the number of their dimensions: machine code is made for these types."""
