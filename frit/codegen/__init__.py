"""Jaxprs to loops: grouping into kernels, storage, and the loops of each kernel."""
