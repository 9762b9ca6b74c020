"""A module of LLVM IR as text in the making: functions, declarations, constants, metadata.

    module   = declarations, globals, functions, metadata nodes      each symbol once
    function = blocks of lines, the first block being the entry

llvmlite's own IR classes cost more than LLVM itself; here an instruction is one formatted string,
and `render` is one join. The text goes to `llvmlite.binding.parse_assembly`.
"""

from dataclasses import dataclass

from frit.backends.llvm.values import PTR, Value, constant


class Block:
    """A basic block: label and lines; branch to it with the builder."""

    __slots__ = ("label", "lines", "terminated")

    def __init__(self, label):
        self.label = label
        self.lines = []
        self.terminated = False


class Function:
    """One function being written; make it with `Module.function`, fill it with a `Builder`."""

    __slots__ = (
        "_counter",
        "attributes",
        "blocks",
        "linkage",
        "module",
        "name",
        "parameter_attributes",
        "parameters",
        "result",
    )

    def __init__(self, module, name, result, parameters, linkage, attributes, parameter_attributes):
        self.module = module
        self.name = name
        self.result = result
        self.parameters = tuple(
            Value(f"%a{position}", type) for position, type in enumerate(parameters)
        )
        self.linkage = linkage
        self.attributes = attributes
        self.parameter_attributes = parameter_attributes
        self.blocks = []
        self._counter = 0

    def fresh(self):
        """A new value name."""
        self._counter = counter = self._counter + 1
        return f"%v{counter}"

    def block(self, hint="b"):
        """A new block at the end of the function."""
        block = Block(f"{hint}{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def render(self):
        """The definition as text."""
        arguments = ", ".join(
            f"{value.type.text} {self.parameter_attributes.get(position, '')} {value.text}"
            for position, value in enumerate(self.parameters)
        )
        head = f"define {self.linkage} {self.result.text} @{self.name}({arguments})"
        lines = [f"{head} {self.attributes} {{"]
        for block in self.blocks:
            if not block.terminated:
                raise ValueError(f"block {block.label} of @{self.name} has no terminator")
            lines.append(f"{block.label}:")
            lines += map(str, block.lines)
        lines.append("}\n")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Rendered definitions and what they refer to, by name, for several modules to absorb."""

    texts: dict
    declarations: dict
    globals: dict


class Module:
    """A program of LLVM IR being written.

    has_fma: the target multiplies and adds in one rounding, in hardware; where it is False,
    `Builder.fma` contracts to mul + add and `Builder.product_error` uses Dekker's product, since
    LLVM would call the C library for `llvm.fma`.
    """

    def __init__(self, name="frit", *, has_fma=True, triple=None, data_layout=None):
        self.name = name
        self.has_fma = has_fma
        self.triple = triple
        self.data_layout = data_layout
        self.functions = {}
        self._texts = {}
        self._declarations = {}
        self._globals = {}
        self._metadata = []
        self._loop_nodes = {}

    def __contains__(self, name):
        return name in self.functions or name in self._texts or name in self._declarations

    def function(
        self,
        name,
        result,
        parameters,
        *,
        linkage="",
        attributes="nounwind",
        parameter_attributes=None,
    ):
        """A new empty function of this module.

        parameters: types. linkage: "" (visible) or "internal". attributes: text such as
        "nounwind noinline". parameter_attributes: position -> text such as "noalias align 64".
        """
        if name in self:
            raise ValueError(f"@{name} is already in module {self.name!r}; names are unique")
        made = Function(
            self, name, result, parameters, linkage, attributes, parameter_attributes or {}
        )
        self.functions[name] = made
        return made

    def declare(self, name, result, parameters, attributes=""):
        """The external function `name`, declared once; returns its symbol as a ptr value."""
        types = ", ".join(type.text for type in parameters)
        text = f"declare {result.text} @{name}({types}) {attributes}".rstrip()
        if name not in self.functions and name not in self._texts:
            known = self._declarations.setdefault(name, text)
            if known != text:
                raise ValueError(f"@{name} is declared twice with different types: {known}; {text}")
        return Value(f"@{name}", PTR)

    def has_declared(self, name):
        """Whether the external function is declared already."""
        return name in self._declarations

    def absorb(self, fragment):
        """Adds a `Fragment`: definitions with all they need, each once."""
        for name, text in fragment.texts.items():
            self._texts.setdefault(name, text)
        for name, text in fragment.declarations.items():
            self._declarations.setdefault(name, text)
        for name, text in fragment.globals.items():
            self._globals.setdefault(name, text)

    def fragment(self):
        """All of this module as a `Fragment`; it must have no metadata (their numbers clash)."""
        if self._metadata:
            raise ValueError(f"module {self.name!r} has metadata, so others cannot absorb it")
        texts = dict(self._texts)
        texts.update((name, function.render()) for name, function in self.functions.items())
        return Fragment(texts, dict(self._declarations), dict(self._globals))

    def constant_array(self, name, element, numbers, align=64):
        """A private constant table, made once under its name; returns its address."""
        if name not in self._globals:
            inside = ", ".join(f"{element.text} {constant(element, n).text}" for n in numbers)
            self._globals[name] = (
                f"@{name} = private unnamed_addr constant [{len(numbers)} x {element.text}] "
                f"[{inside}], align {align}"
            )
        return Value(f"@{name}", PTR)

    def constant_bytes(self, name, data, align=64):
        """A private constant blob, made once under its name; returns its address."""
        if name not in self._globals:
            inside = "".join(f"\\{byte:02X}" for byte in data)
            self._globals[name] = (
                f"@{name} = private unnamed_addr constant [{len(data)} x i8] "
                f'c"{inside}", align {align}'
            )
        return Value(f"@{name}", PTR)

    def global_variable(self, name, type, initial=None, linkage="internal", align=None):
        """A mutable global (`initial` None: external); returns its address."""
        if name not in self._globals:
            kind = "external global" if initial is None else f"{linkage} global"
            value = "" if initial is None else f" {initial.text}"
            where = f", align {align}" if align else ""
            self._globals[name] = f"@{name} = {kind} {type.text}{value}{where}"
        return Value(f"@{name}", PTR)

    def metadata(self, body, *, distinct=False):
        """A metadata node with this body; returns its reference, such as "!3"."""
        self._metadata.append(f"{'distinct ' if distinct else ''}{body}")
        return f"!{len(self._metadata) - 1}"

    def _self_referring(self, rest, *, distinct=True):
        reference = f"!{len(self._metadata)}"
        inside = ", ".join((reference, *rest))
        self._metadata.append(f"{'distinct ' if distinct else ''}!{{{inside}}}")
        return reference

    def loop_metadata(self, *, unroll=False, vectorize=False):
        """Metadata for a loop's back branch: what LLVM's own passes may do to it."""
        hints = []
        if not unroll:
            hints.append(self._hint('!{!"llvm.loop.unroll.disable"}'))
        if not vectorize:
            hints.append(self._hint('!{!"llvm.loop.vectorize.enable", i1 false}'))
        return f"!llvm.loop {self._self_referring(hints)}"

    def _hint(self, body):
        if body not in self._loop_nodes:
            self._loop_nodes[body] = self.metadata(body)
        return self._loop_nodes[body]

    def alias_domain(self):
        """A new domain of alias scopes; one for each function with `noalias` facts."""
        return self._self_referring(())

    def alias_scope(self, domain):
        """A new scope in `domain`: one for each buffer proved not to overlap others."""
        return self._self_referring((domain,))

    def alias_metadata(self, own, others):
        """Text for a load or store: it touches scopes `own` and none of `others`."""
        parts = []
        if own:
            parts.append(f"!alias.scope {self._scope_list(own)}")
        if others:
            parts.append(f"!noalias {self._scope_list(others)}")
        return ", ".join(parts)

    def _scope_list(self, scopes):
        return self._hint(f"!{{{', '.join(scopes)}}}")

    def render(self):
        """The module as text for `llvmlite.binding.parse_assembly`."""
        lines = [f'source_filename = "{self.name}"']
        if self.data_layout:
            lines.append(f'target datalayout = "{self.data_layout}"')
        if self.triple:
            lines.append(f'target triple = "{self.triple}"')
        lines += self._globals.values()
        defined = self.functions.keys() | self._texts.keys()
        lines += (text for name, text in self._declarations.items() if name not in defined)
        lines += self._texts.values()
        lines += (function.render() for function in self.functions.values())
        lines += (f"!{number} = {body}" for number, body in enumerate(self._metadata))
        return "\n".join(lines) + "\n"
