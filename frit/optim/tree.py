"""`optax.tree`: arithmetic on whole pytrees, and access to parts of a state by name."""

import functools
import operator

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit import random as frit_random
from frit.api.jitting import jit
from frit.ir import dtypes
from frit.optim import state_tree
from frit.optim.base import map_present
from frit.optim.numerics import abs_sq
from frit.tree_util import (
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_reduce,
    tree_structure,
    tree_unflatten,
)

# ---- arithmetic ---------------------------------------------------------------------------------


def add(tree_x, tree_y, *other_trees):
    """The sum of trees, leaf by leaf."""
    return tree_map(lambda *leaves: _sum_of(leaves), tree_x, tree_y, *other_trees)


def _sum_of(leaves):
    return functools.reduce(operator.add, leaves)


def sub(tree_x, tree_y):
    """tree_x - tree_y, leaf by leaf."""
    return tree_map(operator.sub, tree_x, tree_y)


def mul(tree_x, tree_y):
    """tree_x * tree_y, leaf by leaf."""
    return tree_map(operator.mul, tree_x, tree_y)


def div(tree_x, tree_y):
    """tree_x / tree_y, leaf by leaf."""
    return tree_map(operator.truediv, tree_x, tree_y)


def scale(scalar, tree):
    """scalar * tree."""
    return tree_map(lambda x: scalar * x, tree)


def add_scale(tree_x, scalar, tree_y):
    """tree_x + scalar * tree_y. A None in tree_x stays None."""
    scalar = jnp.asarray(scalar)
    return map_present(lambda x, y: x + scalar * y, tree_x, tree_y)


def where(condition, tree_x, tree_y):
    """tree_x where `condition`, else tree_y."""
    return tree_map(lambda x, y: jnp.where(condition, x, y), tree_x, tree_y)


def conj(tree):
    """The complex conjugate of each leaf."""
    return tree_map(jnp.conj, tree)


def real(tree):
    """The real part of each leaf."""
    return tree_map(jnp.real, tree)


def clip(tree, min_value=None, max_value=None):
    """Each element, no less than min_value and no more than max_value."""
    return tree_map(lambda x: jnp.clip(x, min_value, max_value), tree)


# ---- reductions ---------------------------------------------------------------------------------


def vdot(tree_x, tree_y):
    """The inner product of two trees as vectors: sum of conj(x) * y."""
    products = tree_map(_vdot, tree_x, tree_y)
    return tree_reduce(operator.add, products, 0)


def _vdot(x, y):
    x, y = jnp.asarray(x), jnp.asarray(y)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        x = jnp.conj(x)
    return jnp.tensordot(x, y, x.ndim, precision=lax.Precision.HIGHEST)


def sum(tree):
    """The sum of all elements of all leaves."""
    return tree_reduce(operator.add, tree_map(jnp.sum, tree), 0)


def max(tree):
    """The largest element of all leaves; -inf where there is none."""
    largest = tree_map(lambda x: jnp.max(x) if jnp.size(x) else None, tree)
    return tree_reduce(jnp.maximum, largest, -float("inf"))


def min(tree):
    """The smallest element of all leaves; inf where there is none."""
    smallest = tree_map(lambda x: jnp.min(x) if jnp.size(x) else None, tree)
    return tree_reduce(jnp.minimum, smallest, float("inf"))


def size(tree):
    """How many elements the leaves have together."""
    return functools.reduce(operator.add, (jnp.size(leaf) for leaf in tree_leaves(tree)), 0)


def norm(tree, ord=None, squared=False):
    """The norm of a tree as one vector: of order 2 (None), 1 or inf; or its square.

    Raises ValueError for another order.
    """
    if ord is None or ord == 2:
        squares = tree_map(lambda x: jnp.square(x.real) + jnp.square(x.imag), tree)
        total = sum(squares)
        return jnp.array(total if squared else jnp.sqrt(total))
    if ord == 1:
        result = sum(tree_map(jnp.abs, tree))
    elif ord in (np.inf, "inf", "infinity"):
        result = max(tree_map(jnp.abs, tree))
    else:
        raise ValueError(f"Unsupported ord: {ord}. Write 1, 2 or jnp.inf.")
    return jnp.array(jnp.square(result) if squared else result)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of two trees are close to each other, as in `jnp.allclose`."""
    close = tree_map(lambda x, y: jnp.allclose(x, y, rtol, atol, equal_nan), a, b)
    return functools.reduce(operator.and_, tree_leaves(close), True)


# ---- trees like another -------------------------------------------------------------------------


def zeros_like(tree, dtype=None):
    """Zeros of the shapes (and, unless given, dtypes) of the leaves."""
    return tree_map(lambda x: jnp.zeros_like(x, dtype=dtype), tree)


def ones_like(tree, dtype=None):
    """Ones of the shapes (and, unless given, dtypes) of the leaves."""
    return tree_map(lambda x: jnp.ones_like(x, dtype=dtype), tree)


def full_like(tree, fill_value, dtype=None):
    """`fill_value` in the shapes (and, unless given, dtypes) of the leaves."""
    return tree_map(lambda x: jnp.full_like(x, fill_value, dtype=dtype), tree)


def batch_shape(tree, shape=()):
    """Each leaf repeated along new leading axes of `shape`."""
    return tree_map(lambda x: jnp.broadcast_to(x, (*shape, *jnp.shape(x))), tree)


def split_key_like(rng_key, target_tree):
    """A tree of independent keys, one for each leaf of `target_tree`."""
    structure = tree_structure(target_tree)
    return tree_unflatten(structure, frit_random.split(rng_key, structure.num_leaves))


def random_like(rng_key, target_tree, sampler=frit_random.normal, dtype=None):
    """Draws of `sampler(key, shape, dtype)` in the shapes of the leaves of `target_tree`."""
    keys = split_key_like(rng_key, target_tree)
    return tree_map(lambda x, key: sampler(key, x.shape, dtype or x.dtype), target_tree, keys)


def unwrap_random_key_data(input_tree):
    """The tree with typed keys replaced by their words."""

    def unwrap(x):
        is_key = hasattr(x, "dtype") and dtypes.issubdtype(x.dtype, dtypes.prng_key)
        return frit_random.key_data(x) if is_key else x

    return tree_map(unwrap, input_tree)


# ---- dtypes -------------------------------------------------------------------------------------


def cast(tree, dtype):
    """The leaves in `dtype`; as they are where it is None."""
    return tree if dtype is None else tree_map(lambda x: x.astype(dtype), tree)


def cast_like(tree, other_tree):
    """The leaves in the dtypes of those of `other_tree`."""
    return tree_map(lambda x, y: x.astype(y.dtype) if hasattr(y, "dtype") else x, tree, other_tree)


def dtype(tree, mixed_dtype_handler=None):
    """The dtype of the leaves. Where they differ: "promote", "highest" or "lowest" of them.

    Raises ValueError where they differ and `mixed_dtype_handler` is None.
    """
    found = [(path, jnp.asarray(x).dtype) for path, x in tree_leaves_with_path(tree)]
    if not found:
        return jnp.asarray([]).dtype
    leaf_dtypes = [leaf_dtype for _, leaf_dtype in found]
    if mixed_dtype_handler is None:
        differing = [(path, d) for path, d in found if d != leaf_dtypes[0]]
        if differing:
            lines = [
                f"Expected dtype={leaf_dtypes[0]} for {path} but got {d}." for path, d in differing
            ]
            raise ValueError(
                "\n".join([*lines, 'Write mixed_dtype_handler="promote" to promote them.'])
            )
        return leaf_dtypes[0]
    choose = {"promote": jnp.promote_types, "highest": _higher, "lowest": _lower}
    if mixed_dtype_handler not in choose:
        raise ValueError(
            f"Invalid value for {mixed_dtype_handler=}, possible values are: None, "
            '"promote", "highest", "lowest".'
        )
    return functools.reduce(choose[mixed_dtype_handler], leaf_dtypes)


def _lower(a, b):
    promoted = jnp.promote_types(a, b)
    if promoted not in (a, b):
        raise ValueError(
            f"Cannot compare dtypes {a} and {b}. Neither can be promoted to the other: write "
            'mixed_dtype_handler="promote".'
        )
    return b if promoted == a else a


def _higher(a, b):
    return b if _lower(a, b) == a else a


# ---- moments ------------------------------------------------------------------------------------


def update_moment(updates, moments, decay, order):
    """The moving average of g^order: (1 - decay) * g^order + decay * moment."""
    return map_present(lambda g, m: (1 - decay) * g**order + decay * m, updates, moments)


def update_moment_per_elem_norm(updates, moments, decay, order):
    """The moving average of |g|^order, which is real also where g is complex."""

    def power(g):
        if jnp.isrealobj(g):
            return g**order
        half = order / 2
        return abs_sq(g) ** (int(half) if half.is_integer() else half)

    return map_present(lambda g, m: (1 - decay) * power(g) + decay * m, updates, moments)


def update_infinity_moment(updates, moments, decay, eps):
    """The decaying maximum of |g|: max(|g| + eps, decay * moment)."""
    return map_present(lambda g, m: jnp.maximum(jnp.abs(g) + eps, decay * m), updates, moments)


@functools.partial(jit, inline=True)
def bias_correction(moment, decay, count):
    """moment / (1 - decay^count): undoes that moving averages start from zero."""
    correction = 1 - decay**count
    return tree_map(lambda m: m / correction.astype(m.dtype), moment)


# ---- parts of a state ---------------------------------------------------------------------------

get, get_all_with_path, set = state_tree.get, state_tree.get_all_with_path, state_tree.set
map_params = state_tree.map_params
