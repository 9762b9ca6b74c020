"""All primitives, under the names of jax.extend.core.primitives: `add_p` and so on."""

from typing import Any

from frit import lax as _lax
from frit.ir.types import typeof as _typeof
from frit.primitives.calls import closed_call as _closed_call
from frit.primitives.calls import custom_jvp_call as custom_jvp_call_p
from frit.primitives.calls import custom_vjp_call as custom_vjp_call_p
from frit.primitives.calls import jit as jit_p
from frit.primitives.calls import name as name_p
from frit.primitives.calls import remat as remat_p
from frit.transforms.linear import add_any as add_jaxvals_p
from frit.transforms.linear import custom_lin as custom_lin_p
from frit.transforms.trace import trace_closed as _trace_closed


class _Call:
    """A call of a function of flat values, which dissolves into the interpreter that meets it."""

    multiple_results = True

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *operands: Any, subfuns: Any, **_: Any) -> list[Any]:
        (function,) = subfuns
        closed, captured = _trace_closed(function.call_wrapped, [_typeof(x) for x in operands])
        return _closed_call(*captured, *operands, jaxpr=closed)

    def __repr__(self) -> str:
        return self.name


call_p, closed_call_p = _Call("core_call"), _Call("closed_call")


def __getattr__(name: str) -> Any:
    for module in (_lax, getattr(_lax, "linalg", None)):
        if name.endswith("_p") and hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"frit has no primitive {name!r}")
