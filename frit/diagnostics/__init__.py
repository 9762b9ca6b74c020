"""Presents what the runtime recorded."""
