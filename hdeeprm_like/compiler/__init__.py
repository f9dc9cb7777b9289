"""Compilation of the compiled functions to machine code, by numba and LLVM; the only folder that imports them."""
