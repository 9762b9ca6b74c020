"""The LLVM backend: loops to machine code."""
