"""Backends: each turns loops into something that runs."""
