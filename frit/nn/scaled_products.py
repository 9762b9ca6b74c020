"""Matrix products of numbers stored with one scale for each block of the contracted axis.

result[b, m, n] = sum over k of  lhs[b, m, k] lhs_scales[b, m, k // s]
                               * rhs[b, n, k] rhs_scales[b, n, k // s]
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.ir import dtypes
from frit.numpy.operands import check_arraylike
from frit.numpy.promotion import requested_dtype


@dataclass(slots=True)
class BlockScaleConfig:
    """How numbers are stored: their type, the type of scales, how many numbers share a scale."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """The block formats "nvfp4" (16 float4 numbers to a scale) and "mxfp8" (32 float8 numbers).

    ValueError for any other mode.
    """
    if mode == "nvfp4":
        if global_scale is None:
            global_scale = jnp.ones((1,), dtype=np.float32)
        data_type, scale_type = "float4_e2m1fn", "float8_e4m3fn"
        block_size = 16
    elif mode == "mxfp8":
        global_scale = None
        data_type, scale_type = "float8_e4m3fn", "float8_e8m0fnu"
        block_size = 32
    else:
        raise ValueError(f"Unsupported mode: {mode}")
    return BlockScaleConfig(
        mode=mode,
        block_size=block_size,
        data_type=dtypes.as_dtype(data_type),
        scale_type=dtypes.as_dtype(scale_type),
        global_scale=global_scale,
        infer_only=False,
    )


def _check_scaled(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any) -> None:
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    if any(np.ndim(x) != 3 for x in (lhs, rhs, lhs_scales, rhs_scales)):
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays")
    pairs = (
        ("inputs a and b", lhs.shape, rhs.shape),
        ("scales", lhs_scales.shape, rhs_scales.shape),
    )
    for what, left, right in pairs:
        if (left[0], left[2]) != (right[0], right[2]):
            raise ValueError(
                f"scaled_matmul requires {what} to have matching batch (B) and contract (K) "
                f"dimensions, but got shapes {left} and {right}"
            )
    if lhs_scales.shape[1] != lhs.shape[1] or rhs_scales.shape[1] != rhs.shape[1]:
        raise ValueError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got "
            f"shapes a: {lhs.shape}, b: {rhs.shape}, a_scales: {lhs_scales.shape}, b_scales: "
            f"{rhs_scales.shape}"
        )
    if lhs.shape[2] % lhs_scales.shape[2] != 0:
        raise ValueError(
            f"scaled_matmul: {lhs_scales.shape[2]} scales along the contract dimension (K) do not "
            f"divide its size {lhs.shape[2]} into equal blocks"
        )


def _unscaled(x: Any, scales: Any) -> Any:
    block = x.shape[2] // scales.shape[2]
    return x.astype(np.float32) * jnp.repeat(scales.astype(np.float32), block, axis=2)


def scaled_matmul(
    lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32
) -> Any:
    """The batched product of lhs and rhs transposed, after each is multiplied by its scales.

    lhs: (B, M, K), rhs: (B, N, K); scales: (B, M, K / s) and (B, N, K / s).  Result: (B, M, N).
    Computed in float32.  ValueError where shapes disagree.
    """
    _check_scaled(lhs, rhs, lhs_scales, rhs_scales)
    dtype = requested_dtype(preferred_element_type, "scaled_matmul")
    left, right = _unscaled(lhs, lhs_scales), _unscaled(rhs, rhs_scales)
    return jnp.einsum("bmk,bnk->bmn", left, right).astype(dtype)


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Any = None,
    implementation: Any = None,
) -> Any:
    """`lax.dot_general` of lhs and rhs; `configs`, which ask for block formats, must be None.

    Rounding to block formats saves time only on GPUs that multiply them.
    """
    if implementation is not None:
        warnings.warn(
            "Backend selector, now ignored. The system chooses the backend automatically.",
            DeprecationWarning,
            stacklevel=2,
        )
    if configs is not None:
        raise NotImplementedError(
            "scaled_dot_general got `configs`, but products of block formats need a GPU, and "
            "arrays live on the CPU here. Leave `configs` out for the product without rounding, or "
            "round the operands yourself and call scaled_matmul."
        )
    return lax.dot_general(
        lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
    )
