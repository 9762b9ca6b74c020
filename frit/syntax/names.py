"""Which variables statements bind and read, and which are still needed after each of them.

    needed before s  =  what s reads  |  (needed after s  -  what s surely binds)

Scopes inside (functions, lambdas, comprehensions, classes) count with what they read from outside.
What a function or lambda reads is needed for ever, as it may be called at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_READERS_OF_FRAMES = {"locals", "vars", "eval", "exec", "dir"}


def bound(nodes: ast.AST | Iterable[ast.AST]) -> list[str]:
    """The names that the nodes bind (or delete) in the function they stand in, in order."""
    found: dict[str, None] = {}
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        _collect_bound(node, found)
    return list(found)


def _collect_bound(node: ast.AST, found: dict[str, None]) -> None:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            found[name] = None
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found[name] = None
            for child in [*node.decorator_list, *_evaluated_outside(node)]:
                _collect_bound(child, found)
            return
        case ast.Lambda():
            for child in _evaluated_outside(node):
                _collect_bound(child, found)
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            for child in ast.walk(node):
                if isinstance(child, ast.NamedExpr):
                    found[child.target.id] = None
            return
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            found.update((a.asname or a.name.partition(".")[0], None) for a in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            found[name] = None
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            found[name] = None
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        _collect_bound(child, found)


def _evaluated_outside(node: Any) -> list[ast.AST]:
    """The parts of a function or class definition that run where it is defined."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *[k.value for k in node.keywords]]
    return [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of a function's parameters."""
    a = arguments
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x]]
    return [x.arg for x in every]


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names declared `global` (or `nonlocal`) by statements of this function."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, kind):
            found.update(node.names)
        elif not isinstance(node, (*_SCOPES, ast.ClassDef)):
            found |= declared(ast.iter_child_nodes(node), kind)
    return found


def read(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """The names that the nodes read from the function they stand in, or from outside it."""
    if not isinstance(nodes, ast.AST):
        return set().union(*map(read, nodes))
    match nodes:
        case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
            return {name}
        case ast.AugAssign(target=ast.Name(id=name)):
            return {name} | read(nodes.value)
        case ast.Lambda():
            return read(_evaluated_outside(nodes)) | _read_inside(nodes)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            outside = [*nodes.decorator_list, *_evaluated_outside(nodes)]
            return read(outside) | _read_inside(nodes)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = set(bound(g.target for g in nodes.generators))
            return (read(ast.iter_child_nodes(nodes)) - own) | read(nodes.generators[0].iter)
        case _:
            return read(ast.iter_child_nodes(nodes))


def _read_inside(node: Any) -> set[str]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    own = set(parameters(node.args))
    if not isinstance(node, ast.Lambda):
        own |= set(bound(body)) - declared(body, ast.Nonlocal) - declared(body, ast.Global)
    return read(body) - own


def read_later(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that functions defined in the nodes read whenever they are called."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, _SCOPES):
            found |= _read_inside(node)
        elif isinstance(node, ast.GeneratorExp):
            found |= read(node)
        elif isinstance(node, ast.ClassDef):
            found |= read(node.body)
        found |= read_later(ast.iter_child_nodes(node))
    return found


def rebound_inside(body: Iterable[ast.AST]) -> set[str]:
    """The names that functions defined in the nodes declare `nonlocal`."""
    found: set[str] = set()
    for node in body:
        for inside in ast.walk(node):
            if isinstance(inside, _SCOPES) and not isinstance(inside, ast.Lambda):
                found |= declared(inside.body, ast.Nonlocal)
    return found


class Needed:
    """What is needed after each statement of a function, and where each loop begins anew."""

    def __init__(self, body: Sequence[ast.stmt], shared: Iterable[str]) -> None:
        """shared: names that others see (nonlocal ones), always needed."""
        self.after: dict[ast.stmt, frozenset[str]] = {}
        self.at_head: dict[ast.stmt, frozenset[str]] = {}
        self._always = frozenset(shared) | read_later(body)
        if read(body) & _READERS_OF_FRAMES:
            self._always |= set(bound(body))
        self._block(body, self._always)

    def _block(self, body: Sequence[ast.stmt], after: frozenset[str]) -> frozenset[str]:
        for statement in reversed(body):
            self.after[statement] = after
            after = self._statement(statement, after) | self._always
        return after

    def _statement(self, s: ast.stmt, after: frozenset[str]) -> frozenset[str]:
        match s:
            case ast.If():
                return self._block(s.body, after) | self._block(s.orelse, after) | read(s.test)
            case ast.While():
                return self._loop(s, after, set(), read(s.test) - set(bound(s.test)))
            case ast.For():
                return self._loop(s, after, set(bound(s.target)), read(s.target)) | read(s.iter)
            case ast.With() | ast.AsyncWith():
                inside = self._block(s.body, after)
                kept = inside - set(bound([i.optional_vars for i in s.items if i.optional_vars]))
                return kept | read(s.items)
            case ast.Match():
                blocks = [self._block(c.body, after) for c in s.cases]
                rest = [read([c.pattern, *([c.guard] if c.guard else [])]) for c in s.cases]
                return after.union(read(s.subject), *blocks, *rest)
            case ast.Try() | ast.TryStar():
                # An exception may leave any part early: nothing is surely bound.
                whole = after | read(s)
                for part in (s.body, *[h.body for h in s.handlers], s.orelse, s.finalbody):
                    self._block(part, whole)
                return whole
            case ast.Return() | ast.Raise():
                return frozenset(read(s))
            case ast.AugAssign() | ast.Delete():
                return after | read(s)
            case _:
                return (after - set(bound(s))) | read(s)

    def _loop(
        self, s: ast.While | ast.For, after: frozenset[str], targets: set[str], tested: set[str]
    ) -> frozenset[str]:
        exits = frozenset(getattr(s, "exits", ()))
        head = after | tested | exits
        while True:
            again = after | tested | exits | (self._block(s.body, head) - targets)
            if again == head:
                break
            head = again
        self.at_head[s] = head
        return head
