"""Machine code made of the compiled functions, by numba and LLVM; the only folder that imports them."""
