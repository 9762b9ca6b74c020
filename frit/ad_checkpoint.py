"""Checkpointing, under the names of jax.ad_checkpoint."""

from frit.api.checkpointing import checkpoint, checkpoint_name, checkpoint_policies, remat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
