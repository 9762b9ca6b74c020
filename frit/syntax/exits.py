"""`return`, `break` and `continue` inside blocks, as assignments and branches.

    if c: return a        if c: @return = a           for x in xs:         for x in xs:
    return b          ->  else: @return = b               if c: break  ->      if c: @break1 = True
                          return @return                  s                    else: s

What follows a branch that surely leaves moves into the other branch.  Where a branch only may
leave, it sets a flag, and what follows stands under `if` no flag is set.  Names with `@` cannot
clash with the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

RESULT, RETURNED = "@return", "@returned"
BRIDGE = "@frit"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


_Inner = Callable[[Sequence[ast.stmt]], list[ast.stmt]]


@dataclass(frozen=True)
class _Loop:
    broken: str
    continued: str


@dataclass
class _Lowering:
    tested: set[str] = field(default_factory=set)
    loops: int = 0


def lower_exits(function: ast.FunctionDef) -> list[ast.stmt]:
    """The function's body without `break` and `continue`, and with one `return` at its end."""
    lowering = _Lowering()
    body = list(function.body)
    if not any(_returns(s) for s in body if not isinstance(s, ast.Return)):
        done = _block(lowering, body, None, nested=False)
        return _without_untested(done, lowering.tested)
    if not _surely_leaves(body):
        body.append(_like(body[-1], ast.Return(value=None)))
    last = body[-1]
    done = _block(lowering, body, None, nested=True)
    if RETURNED in lowering.tested:
        done.insert(0, _assign(RETURNED, False, body[0]))
    result: ast.expr = ast.Name(RESULT, ast.Load())
    if any(isinstance(n, ast.With) and _returns(n) for s in body for n in ast.walk(s)):
        # The block's manager may swallow an exception, and nothing has been returned.
        result = _call("result", ast.Lambda(args=_no_arguments(), body=result))
    done.append(_like(last, ast.Return(value=result)))
    return _without_untested(done, lowering.tested)


def _block(
    lowering: _Lowering, body: Sequence[ast.stmt], loop: _Loop | None, nested: bool
) -> list[ast.stmt]:
    """nested: whether `return` is a flag here (else it stands at the function's own level)."""
    done: list[ast.stmt] = []
    for i, s in enumerate(body):
        rest = body[i + 1 :]
        inner = lambda part, loop=loop: _block(lowering, part, loop, nested)
        match s:
            case ast.Return() if nested:
                value = s.value or ast.Constant(None)
                target = ast.Name(RESULT, ast.Store())
                done.append(_like(s, ast.Assign(targets=[target], value=value)))
                done.append(_assign(RETURNED, True, s))
                return done
            case ast.Return() | ast.Raise():
                return [*done, s]
            case ast.Break():
                assert loop is not None
                return [*done, _assign(loop.broken, True, s)]
            case ast.Continue():
                assert loop is not None
                return [*done, _assign(loop.continued, True, s)]
            case ast.If() if _flags(s.body, loop) and _surely_leaves(s.body):
                s = _replaced(s, body=inner(s.body), orelse=inner([*s.orelse, *rest]))
                return [*done, s]
            case ast.If() if _flags(s.orelse, loop) and _surely_leaves(s.orelse):
                s = _replaced(s, body=inner([*s.body, *rest]), orelse=inner(s.orelse))
                return [*done, s]
            case ast.While() | ast.For():
                before, s, after = _lower_loop(lowering, s, nested)
                done += before
                rest = [*after, *rest]
                if after:
                    return [*done, s, *_guarded(lowering, s, rest, loop, nested)]
            case _:
                s = _with_blocks(s, inner)
        flags = _flags([body[i]], loop)
        if flags and rest:
            return [*done, s, *_guarded(lowering, body[i], rest, loop, nested)]
        done.append(s)
    return done


def _guarded(
    lowering: _Lowering, leaving: ast.stmt, rest: Sequence[ast.stmt], loop: _Loop | None,
    nested: bool,
) -> list[ast.stmt]:  # fmt: skip
    """The statements after one that may leave: they run where no flag is set."""
    flags = sorted(_flags([leaving], loop))
    inside = _block(lowering, rest, loop, nested)
    if not flags:
        return inside
    return [_guard(lowering, flags, inside, leaving)]


def _guard(
    lowering: _Lowering, flags: list[str], body: list[ast.stmt], place: ast.stmt
) -> ast.stmt:
    lowering.tested.update(flags)
    guard = ast.If(test=none_of(flags), body=body, orelse=[])
    guard.guards = True  # type: ignore[attr-defined]
    return _like(place, guard)


def none_of(flags: Iterable[str]) -> ast.expr:
    """An expression: whether no flag is set."""
    return _call("none_of", *[ast.Name(f, ast.Load()) for f in flags])


def _call(name: str, *args: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name(BRIDGE, ast.Load()), name, ast.Load())
    return ast.Call(func=function, args=list(args), keywords=[])


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _lower_loop(
    lowering: _Lowering, s: ast.While | ast.For, nested: bool
) -> tuple[list[ast.stmt], ast.stmt, list[ast.stmt]]:
    """Statements before the loop, the loop, and its `else` as statements after it."""
    lowering.loops += 1
    own = _Loop(f"@break{lowering.loops}", f"@continue{lowering.loops}")
    body = _block(lowering, s.body, own, nested=nested or _returns(s))
    found = _flags(s.body, own)
    exits = sorted(found & {own.broken, RETURNED})
    lowering.tested.update(exits)
    if own.continued in lowering.tested:
        body.insert(0, _assign(own.continued, False, s.body[0]))
    before = [_assign(own.broken, False, s)] if own.broken in found else []
    after = list(s.orelse)
    if after and own.broken in found:
        after = [_guard(lowering, [own.broken], after, s)]
    loop = _replaced(s, body=body, orelse=[])
    loop.exits = exits  # type: ignore[attr-defined]
    loop.returns = _returns(s)  # type: ignore[attr-defined]
    return before, loop, after


def _with_blocks(s: ast.stmt, inner: _Inner) -> ast.stmt:
    """The statement with its inner blocks lowered, where it has any."""
    match s:
        case ast.If():
            return _replaced(s, body=inner(s.body), orelse=inner(s.orelse))
        case ast.With() | ast.AsyncWith():
            return _replaced(s, body=inner(s.body))
        case ast.Try() | ast.TryStar():
            return _lower_try(s, inner)
        case ast.Match():
            cases = [_replaced(c, body=inner(c.body)) for c in s.cases]
            return _replaced(s, cases=cases)
        case _:
            return s


def _lower_try(s: ast.Try | ast.TryStar, inner: _Inner) -> ast.stmt:
    handlers = [_replaced(h, body=inner(h.body)) for h in s.handlers]
    return _replaced(
        s,
        body=inner(s.body),
        handlers=handlers,
        orelse=inner(s.orelse),
        finalbody=inner(s.finalbody),
    )


# ---------------------------------------------------------------------------- what may leave where


def _flags(body: Iterable[ast.AST], loop: _Loop | None) -> set[str]:
    """The flags that statements may set, seen from within `loop`."""
    found: set[str] = set()
    for s in body:
        match s:
            case ast.Return():
                found.add(RETURNED)
            case ast.Break() if loop is not None:
                found.add(loop.broken)
            case ast.Continue() if loop is not None:
                found.add(loop.continued)
            case ast.While() | ast.For() | ast.AsyncFor():
                if _returns(s) or getattr(s, "returns", False):
                    found.add(RETURNED)
                found |= _flags(s.orelse, loop)
            case _ if not isinstance(s, _SCOPES):
                found |= _flags(ast.iter_child_nodes(s), loop)
    return found


def _returns(node: ast.AST) -> bool:
    if isinstance(node, _SCOPES):
        return False
    return isinstance(node, ast.Return) or any(map(_returns, ast.iter_child_nodes(node)))


def _breaks(body: Iterable[ast.AST]) -> bool:
    return "broken" in _flags(body, _Loop("broken", "continued"))


def _surely_leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    for s in body:
        match s:
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                return True
            case ast.If() if _surely_leaves(s.body) and _surely_leaves(s.orelse):
                return True
            case ast.While(test=ast.Constant(value=value)) if value and not _breaks(s.body):
                return True
            case ast.With() if _surely_leaves(s.body) and not any(map(_raises, s.body)):
                return True
            case _:
                pass
    return False


def _raises(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Raise) for n in ast.walk(node))


# ------------------------------------------------------------------------------------- small parts


def _like(place: ast.AST, node: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _replaced(node: ast.AST, **changes: object) -> ast.stmt:
    fields = dict(ast.iter_fields(node)) | changes
    made = ast.copy_location(type(node)(**fields), node)
    for extra in ("guards", "exits", "returns"):
        if hasattr(node, extra):
            setattr(made, extra, getattr(node, extra))
    return made  # type: ignore[return-value]


def _assign(name: str, value: bool, place: ast.stmt) -> ast.stmt:
    target = ast.Name(name, ast.Store())
    return _like(place, ast.Assign(targets=[target], value=ast.Constant(value)))


def _without_untested(body: list[ast.stmt], tested: set[str]) -> list[ast.stmt]:
    """The statements without assignments to flags that nothing reads."""

    class Remover(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
            match node.targets:
                case [ast.Name(id=name)] if name.startswith("@") and name != RESULT:
                    return node if name in tested else None
            return node

        def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
            return node

        visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda  # type: ignore

    remover = Remover()
    kept = [remover.visit(s) for s in body]
    for s in kept:
        for node in ast.walk(s) if s is not None else ():
            if getattr(node, "body", None) == []:
                node.body = [ast.copy_location(ast.Pass(), node)]  # type: ignore[attr-defined]
    return [s for s in kept if s is not None] or [ast.copy_location(ast.Pass(), body[0])]
