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

Float64s: TypeAlias = Annotated[Floats, np.float64, 1]
Float32s: TypeAlias = Annotated[Floats, np.float32, 1]
Int64s: TypeAlias = Annotated[Ints, np.int64, 1]
Int32s: TypeAlias = Annotated[Ints, np.int32, 1]
Uint64s: TypeAlias = Annotated[NDArray[np.uint64], np.uint64, 1]
Flags: TypeAlias = Annotated[Bools, np.bool_, 1]
Float64Grid: TypeAlias = Annotated[Floats, np.float64, 2]
FlagGrid: TypeAlias = Annotated[Bools, np.bool_, 2]
"""Arrays that compiled functions take, with the type of an entry and the number of dimensions of their machine code."""
