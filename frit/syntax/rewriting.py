"""A function's syntax tree, its control flow turned into calls of the bridge.

    while c:              def test(): return c
        x = f(x)    ->    def body(): nonlocal x; x = @frit.called(f)(x)
                          @frit.while_(3, test, body)

Every new node has the position of the user's, so that tracebacks show the user's lines.  Blocks are
functions in the user's function and bind its variables by `nonlocal`; 3 is the number of a Site.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from frit.errors import ControlFlowConversionError
from frit.syntax import names
from frit.syntax.bridge import Site
from frit.syntax.exits import BRIDGE, lower_exits

_BLOCK = "@block"
_ITEM = "@item"


class Rewriter:
    """Converts one function of the user, and the functions inside it."""

    def __init__(self, file: str, function: str) -> None:
        self.file, self.function = file, function
        self.sites: list[Site] = []
        self.changed = False

    def convert(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """The converted definition, without decorators."""
        for inside in _walk_own(ast.iter_child_nodes(node)):
            if isinstance(inside, (ast.Yield, ast.YieldFrom)):
                raise self.refuse(
                    inside,
                    f"`{self.function}` has a `yield` and cannot be converted: a compiled program "
                    "does not stop in the middle. Return a list or an array of the results, or "
                    "write `lax.scan`.",
                )
        if isinstance(node, ast.Lambda):
            return ast.copy_location(
                ast.Lambda(args=node.args, body=_Expressions(self, None).visit(node.body)), node
            )
        return _FunctionScope(self, node).converted(decorators=[])

    def site(self, kind: str, node: ast.AST, **fields: Any) -> int:
        self.changed = True
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        self.sites.append(Site(kind, self.file, line, column, self.function, **fields))
        return len(self.sites) - 1

    def refuse(self, node: ast.AST, text: str) -> ControlFlowConversionError:
        line = getattr(node, "lineno", 0)
        return ControlFlowConversionError(f"{text}\nThis is at {self.file}:{line}.")


def _bridge(name: str, *args: ast.expr, at: ast.AST) -> ast.Call:
    function = ast.copy_location(ast.Attribute(_name(BRIDGE, at), name, ast.Load()), at)
    return ast.copy_location(ast.Call(func=function, args=list(args), keywords=[]), at)


def _name(name: str, at: ast.AST, context: ast.expr_context | None = None) -> ast.Name:
    return ast.copy_location(ast.Name(name, context or ast.Load()), at)


def _number(value: int, at: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), at)


def _arguments(*given: str) -> ast.arguments:
    args = [ast.arg(arg=g) for g in given]
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.copy_location(ast.Lambda(args=_arguments(), body=body), body)


class _Expressions(ast.NodeTransformer):
    """Converts what stands in expressions, and leaves statements to the scope."""

    def __init__(self, rewriter: Rewriter, first_parameter: str | None) -> None:
        self.rewriter, self.first_parameter = rewriter, first_parameter

    def _lazily(self, *operands: ast.expr) -> list[ast.expr] | None:
        """Functions of the operands; None if one binds a name, which a lambda could not."""
        if any(isinstance(n, ast.NamedExpr) for x in operands for n in ast.walk(x)):
            return None
        return [_thunk(self.visit(x)) for x in operands]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        rest = self._lazily(*node.values[1:])
        if rest is None:
            return self.generic_visit(node)
        name, kind = ("and_", "`and`") if isinstance(node.op, ast.And) else ("or_", "`or`")
        number = _number(self.rewriter.site(kind, node), node)
        return _bridge(name, number, self.visit(node.values[0]), *rest, at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        number = _number(self.rewriter.site("`not`", node), node)
        return _bridge("not_", number, self.visit(node.operand), at=node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        parts = self._lazily(node.body, node.orelse)
        if parts is None:
            return self.generic_visit(node)
        number = _number(self.rewriter.site("`… if … else …`", node), node)
        return _bridge("if_else", number, self.visit(node.test), *parts, at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1:
            return self.generic_visit(node)
        operands = self._lazily(*node.comparators)
        if operands is None:
            return self.generic_visit(node)
        number = _number(self.rewriter.site("chained comparison", node), node)
        links: list[ast.expr] = []
        for op, operand in zip(node.ops, operands, strict=True):
            pair = ast.Compare(left=_name("@a", node), ops=[op], comparators=[_name("@b", node)])
            made = ast.Lambda(args=_arguments("@a", "@b"), body=ast.copy_location(pair, node))
            links += [ast.copy_location(made, node), operand]
        return _bridge("chain", number, self.visit(node.left), *links, at=node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[], keywords=[]) if self.first_parameter:
                # A block is a function of its own: what `super()` looks for is told.
                node.args = [_name("__class__", node), _name(self.first_parameter, node)]
                return node
        self.rewriter.changed = True
        self.generic_visit(node)
        node.func = _bridge("called", node.func, at=node.func)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        for i, test in enumerate(node.ifs):
            number = _number(self.rewriter.site("comprehension", test), test)
            node.ifs[i] = _bridge("known", number, test, at=test)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.visit(node.args)
        node.body = _Expressions(self.rewriter, self.first_parameter).visit(node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        decorators = [self.visit(d) for d in node.decorator_list]
        self.visit(node.args)
        return _FunctionScope(self.rewriter, node).converted(decorators)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """A class's own statements stay: their names are no variables of the function."""
        node.body = [
            _FunctionScope(self.rewriter, s).converted(s.decorator_list)
            if isinstance(s, ast.FunctionDef)
            else s
            for s in node.body
        ]
        return node


def _is_generator(node: ast.AST) -> bool:
    return any(
        isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _walk_own(ast.iter_child_nodes(node))
    )


def _walk_own(nodes: Any) -> Any:
    for node in nodes:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _walk_own(ast.iter_child_nodes(node))


class _FunctionScope:
    """Converts the statements of one function, whose variables the blocks share."""

    def __init__(self, rewriter: Rewriter, node: ast.FunctionDef) -> None:
        self.rewriter, self.node = rewriter, node
        self.parameters = names.parameters(node.args)
        first = self.parameters[0] if self.parameters else None
        self.expressions = _Expressions(rewriter, first)
        self.globals = names.declared(node.body, ast.Global)
        self.outer = names.declared(node.body, ast.Nonlocal)
        own = {*self.parameters, *names.bound(node.body), *self.outer}
        # A block that calls a function may assign these, too.
        self.rebound = sorted(names.rebound_inside(node.body) & own)
        self.shared: dict[str, None] = {}  # variables that some block binds
        self.enclosing: list[int] = []  # the sites around the statement being converted
        self.in_try = False

    def converted(self, decorators: list[ast.expr]) -> ast.FunctionDef:
        node = self.node
        if _is_generator(node):
            return node  # stays as it is
        body = lower_exits(node)
        self.needed = names.Needed(body, self.outer | self.globals)
        done = self.block(body)
        own = [n for n in self.shared if n not in {*self.parameters, *self.outer, *self.globals}]
        made = ast.FunctionDef(
            name=node.name,
            args=node.args,
            body=[*[_local(n, node) for n in own], *done],
            decorator_list=decorators,
            returns=node.returns,
        )
        return ast.copy_location(made, node)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for s in body:
            done += self.statement(s)
        return done

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.If():
                return self._if(s)
            case ast.While():
                return self._while(s)
            case ast.For():
                return self._for(s)
            case ast.Assert():
                return [self._assert(s)]
            case ast.Raise() if self.enclosing:
                number = _number(self.enclosing[-1], s)
                check = ast.Expr(_bridge("raising", number, at=s))
                return [ast.copy_location(check, s), self.expressions.visit(s)]
            case ast.Try() | ast.TryStar():
                return [self._try(s)]
            case ast.With():
                s.items = [self.expressions.visit(i) for i in s.items]
                s.body = self.block(s.body)
                return [s]
            case ast.Match():
                return [self._match(s)]
            case ast.AnnAssign(target=ast.Name(id=name), simple=1):
                # Annotations of variables mean nothing here, and a shared one cannot have any.
                if s.value is None:
                    self.shared[name] = None
                    return [ast.copy_location(ast.Pass(), s)]
                made = ast.Assign(targets=[s.target], value=s.value)
                return [self.expressions.visit(ast.copy_location(made, s))]
            case ast.AsyncFor() | ast.AsyncWith():
                raise self.rewriter.refuse(s, "asynchronous code cannot be converted.")
            case _:
                return [self.expressions.visit(s)]

    def _site(self, kind: str, s: ast.stmt, blocks: Any, **fields: Any) -> int:
        bound = self._bound(blocks)
        own = tuple(n for n in bound if n not in self.globals)
        self.shared.update(dict.fromkeys(own))
        return self.rewriter.site(
            kind,
            s,
            names=own,
            declared=tuple(n for n in bound if n in self.globals),
            needed=self.needed.after[s],
            in_try=self.in_try,
            **fields,
        )

    def _bound(self, blocks: Sequence[ast.AST]) -> list[str]:
        """The variables that blocks assign, by themselves or through functions defined here."""
        found = names.bound(blocks)
        calls = any(isinstance(n, ast.Call) for b in blocks for n in ast.walk(b))
        return [*found, *[n for n in self.rebound if calls and n not in found]]

    def _if(self, s: ast.If) -> list[ast.stmt]:
        guards = getattr(s, "guards", False)
        kind = "code after the block that may leave" if guards else "`if`"
        number = self._site(kind, s, [*s.body, *s.orelse])
        test = s.test if guards else self.expressions.visit(s.test)
        then = self._function("then", number, s.body, s)
        blocks: list[ast.stmt] = [then]
        args = [_number(number, s.test), test, _name(then.name, s)]
        if s.orelse:
            other = self._function("other", number, s.orelse, s)
            blocks.append(other)
            args.append(_name(other.name, s))
        return [*blocks, self._call("if_", args, s.test)]

    def _while(self, s: ast.While) -> list[ast.stmt]:
        tested = self._bound([s.test])
        number = self._site(
            "`while`",
            s,
            [s.test, *s.body],
            at_head=self.needed.at_head[s],
            exits=tuple(s.exits),  # type: ignore[attr-defined]
            tested=tuple(tested),
        )
        ask = ast.copy_location(ast.Return(value=self.expressions.visit(s.test)), s.test)
        test = self._wrapped("test", number, [ask], tested, s)
        body = self._function("body", number, s.body, s)
        args = [_number(number, s.test), _name(test.name, s), _name(body.name, s)]
        return [test, body, self._call("while_", args, s.test)]

    def _for(self, s: ast.For) -> list[ast.stmt]:
        number = self._site(
            "`for`",
            s,
            [s.target, *s.body],
            at_head=self.needed.at_head[s],
            exits=tuple(s.exits),  # type: ignore[attr-defined]
        )
        value = _name(_ITEM, s.target)
        take = ast.copy_location(ast.Assign(targets=[s.target], value=value), s.target)
        body = self._function("body", number, s.body, s, [take], [_ITEM])
        iterable = self.expressions.visit(s.iter)
        args = [_number(number, s.iter), iterable, _name(body.name, s)]
        return [body, self._call("for_", args, s.iter)]

    def _function(
        self, name: str, number: int, body: Sequence[ast.stmt], at: ast.stmt,
        first: Sequence[ast.stmt] = (), arguments: Sequence[str] = (),
    ) -> ast.FunctionDef:  # fmt: skip
        """A block as a function that binds the variables of the function it stands in."""
        bound = self._bound([*first, *body])
        self.enclosing.append(number)
        done = [*first, *self.block(body)]
        self.enclosing.pop()
        return self._wrapped(name, number, done, bound, at, arguments)

    def _wrapped(
        self, name: str, number: int, body: list[ast.stmt], bound: list[str], at: ast.stmt,
        arguments: Sequence[str] = (),
    ) -> ast.FunctionDef:  # fmt: skip
        head: list[ast.stmt] = []
        for kind, wanted in ((ast.Global, True), (ast.Nonlocal, False)):
            found = [n for n in bound if (n in self.globals) is wanted]
            if found:
                head.append(ast.copy_location(kind(names=found), at))
        made = ast.FunctionDef(
            name=f"{_BLOCK}_{name}{number}",
            args=_arguments(*arguments),
            body=[*head, *body],
            decorator_list=[],
        )
        return ast.copy_location(made, at)

    def _call(self, name: str, args: list[Any], at: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Expr(_bridge(name, *args, at=at)), at)

    def _assert(self, s: ast.Assert) -> ast.stmt:
        number = _number(self.rewriter.site("`assert`", s, in_try=self.in_try), s)
        args = [number, self.expressions.visit(s.test)]
        if s.msg is not None:
            args.append(_thunk(self.expressions.visit(s.msg)))
        check = ast.copy_location(ast.Expr(_bridge("assert_", *args, at=s)), s)
        # Python leaves assertions out under -O.
        debugging = ast.copy_location(_name("__debug__", s), s)
        return ast.copy_location(ast.If(test=debugging, body=[check], orelse=[]), s)

    def _try(self, s: ast.Try | ast.TryStar) -> ast.stmt:
        before = self.in_try
        self.in_try = before or bool(s.handlers)
        s.body = self.block(s.body)
        self.in_try = before
        enclosing, self.enclosing = self.enclosing, []
        for handler in s.handlers:
            if handler.type is not None:
                handler.type = self.expressions.visit(handler.type)
            handler.body = self.block(handler.body)
        self.enclosing = enclosing
        s.orelse, s.finalbody = self.block(s.orelse), self.block(s.finalbody)
        return s

    def _match(self, s: ast.Match) -> ast.stmt:
        number = _number(self.rewriter.site("`match`", s), s.subject)
        s.subject = _bridge("matched", number, self.expressions.visit(s.subject), at=s.subject)
        for case in s.cases:
            if case.guard is not None:
                at = case.guard
                guard = _number(self.rewriter.site("`case`", at), at)
                case.guard = _bridge("known", guard, self.expressions.visit(at), at=at)
            case.body = self.block(case.body)
        return s


def _local(name: str, at: ast.AST) -> ast.stmt:
    """Makes a name a variable of the function, without a value."""
    made = ast.AnnAssign(
        target=_name(name, at, ast.Store()), annotation=_number(0, at), value=None, simple=1
    )
    return ast.copy_location(made, at)
