"""jax.scipy.cluster."""

from frit.scipy.cluster import vq as vq
