"""What of jax.nn is compared with JAX: name -> program of the module `jax` (or frit)."""

import numpy as np

GRID = np.linspace(-6.5, 6.5, 27).astype(np.float32)
POSITIVE = np.linspace(0.05, 6.5, 14).astype(np.float32)

ACTIVATIONS = (
    "celu elu gelu hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid log_softmax mish relu "
    "relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus "
    "standardize tanh"
).split()

INITIALIZERS = {
    "uniform": lambda i: i.uniform(),
    "normal": lambda i: i.normal(0.5),
    "truncated_normal": lambda i: i.truncated_normal(2.0, lower=-1.0),
    "glorot_uniform": lambda i: i.glorot_uniform(),
    "glorot_normal": lambda i: i.glorot_normal(),
    "lecun_uniform": lambda i: i.lecun_uniform(),
    "lecun_normal": lambda i: i.lecun_normal(),
    "he_uniform": lambda i: i.he_uniform(),
    "he_normal": lambda i: i.he_normal(in_axis=0, out_axis=1),
    "geometric_mean": lambda i: i.variance_scaling(1.5, "fan_geo_avg", "normal"),
    "orthogonal": lambda i: i.orthogonal(2.0),
    "delta_orthogonal": lambda i: i.delta_orthogonal(),
    "constant": lambda i: i.constant(7.0),
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
}


def _generator():
    return np.random.default_rng(5)


def _heads(*shape, dtype=np.float32):
    return _generator().normal(size=shape).astype(dtype)


def attention(jax, **options):
    """Attention of two heads of keys under four of queries, B = 2, T = 5, S = 6, H = 3."""
    query, key, value = _heads(2, 5, 4, 3), _heads(2, 6, 2, 3) / 2, _heads(2, 6, 2, 3) - 0.5
    return jax.nn.dot_product_attention(query, key, value, **options)


def _bias():
    return _generator().normal(size=(1, 4, 5, 6)).astype(np.float32)


def _mask():
    return _generator().random((2, 1, 5, 6)) > 0.3


LENGTHS = np.array([3, 5], np.int32)

ATTENTION = {
    "plain": {},
    "scaled": {"scale": 0.25},
    "causal": {"is_causal": True},
    "biased": {"bias": _bias()},
    "masked": {"mask": _mask()},
    "all masks": {"bias": _bias(), "mask": _mask(), "is_causal": True, "local_window_size": (2, 1)},
    "window": {"local_window_size": 1},
    "lengths": {"query_seq_lengths": LENGTHS, "key_value_seq_lengths": LENGTHS},
    "residual": {"return_residual": True, "is_causal": True},
}


def programs(jax):
    """name -> arrays, computed with `jax`."""
    nn, jnp = jax.nn, jax.numpy
    found = {}
    for name in ACTIVATIONS:
        function = getattr(nn, name)
        found[name] = function(GRID)
        weights = jnp.arange(GRID.size) % 5 - 2.0
        found[f"gradient of {name}"] = jax.grad(lambda x, f=function: (f(x) * weights).sum())(GRID)
    found["gelu, exact"] = nn.gelu(GRID, approximate=False)
    found["log1mexp"] = nn.log1mexp(POSITIVE)
    found["gradient of log1mexp"] = jax.grad(lambda x: nn.log1mexp(x).sum())(POSITIVE)
    found["glu"] = nn.glu(GRID[:26].reshape(13, 2).T, axis=0)
    rows = GRID.reshape(3, 9)
    where = rows % 2 > 0.5
    found["softmax of some"] = nn.softmax(rows, axis=0, where=where)
    found["log_softmax of some"] = nn.log_softmax(rows, where=where)
    found["standardize of some"] = nn.standardize(rows, where=where, algorithm="stable")
    found["logsumexp"] = nn.logsumexp(rows, axis=1, b=rows, return_sign=True)
    found["logsumexp of nothing"] = nn.logsumexp(np.full(3, -np.inf, np.float32))
    found["logmeanexp"] = nn.logmeanexp(rows, axis=0, where=where)
    labels = np.array([[0, 3, -1], [2, 1, 9]])
    found["one_hot"] = nn.one_hot(labels, 4, axis=1)
    found["one_hot, int8"] = nn.one_hot(labels, 4, dtype=np.int8)
    for name, options in ATTENTION.items():
        found[f"attention, {name}"] = attention(jax, **options)
    key = jax.random.key(3)
    for name, make in INITIALIZERS.items():
        found[f"initializer {name}"] = make(nn.initializers)(key, (3, 4, 4), np.float32)
    complex_normal = nn.initializers.lecun_normal(dtype=np.complex64)
    found["initializer lecun_normal, complex"] = complex_normal(key, (3, 4))
    return found
