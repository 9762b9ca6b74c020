"""Pytrees: nested containers of leaves, flattened to tuples and rebuilt, over optree."""
