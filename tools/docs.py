"""Writes the generated pages of docs/: settings, rules of primitives, scalar semantics.

    python tools/docs.py [--check]

`--check` writes nothing and fails where a page is not what this would write.
"""

import argparse
import ast
import importlib
import pathlib
import pkgutil
import sys

import semantics

from frit.codegen import lapack, nests, units
from frit.config import Setting
from frit.ir.primitive import Absent, Primitive
from frit.optimize import inline
from frit.runtime import pipeline  # noqa: F401 - fills the tables of lowerings

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ("evaluate", "jvp", "transpose", "batch")


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


# ---- settings -----------------------------------------------------------------------------------


def settings_page():
    found = vars(importlib.import_module("frit.config")).values()
    settings = sorted((s for s in found if isinstance(s, Setting)), key=lambda s: s.name)
    rows = [(f"`{s.name}`", s.kind.__name__, f"`{s.default!r}`", _meaning(s)) for s in settings]
    return SETTINGS.format(table=table(("name", "type", "default", "meaning"), rows))


def _meaning(setting):
    choices = ", ".join(f"`{choice}`" for choice in setting.choices)
    text = setting.meaning + (f" ({choices})" if choices else "")
    return text + ("; part of every cache key" if setting.affects_tracing else "")


SETTINGS = """# Settings

Written by `make docs` from the table in `frit/config.py`. A setting is set for the process by
`frit.config.update(name, value)` or, at import, by the environment variable `FRIT_NAME` (or
`JAX_NAME`), and for a block by `with frit.config_name(value):`.

{table}
"""


# ---- coverage -----------------------------------------------------------------------------------


def modules(package):
    """The modules of a package, itself first."""
    root = importlib.import_module(package)
    names = [info.name for info in pkgutil.walk_packages(root.__path__, f"{package}.")]
    return [root, *map(importlib.import_module, names)]


def primitives():
    """family -> primitives by name: a family is the module where a record is made."""
    families = {}
    for module in [*modules("frit.transforms"), *modules("frit.primitives")]:
        made = [getattr(module, name, None) for name in assigned_names(module)]
        own = {value for value in made if isinstance(value, Primitive)}
        if own:
            families[module.__name__.split(".")[-1]] = sorted(own, key=lambda p: p.name)
    return families


def assigned_names(module):
    """The names that a module assigns at its top level, imports left aside."""
    for statement in ast.parse(pathlib.Path(module.__file__).read_text()).body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.target.id
        elif isinstance(statement, ast.Assign):
            yield from (n.id for t in statement.targets for n in ast.walk(t) if type(n) is ast.Name)


def coverage_page():
    families = primitives()
    sections, reasons = [], []
    for family, members in sorted(families.items()):
        rows = [
            (f"`{p.name}`", *(_mark(p, rule) for rule in RULES), p.accuracy, lowering(p))
            for p in members
        ]
        head = ("primitive", *RULES, "accuracy", "compiled as")
        sections.append(f"## {family}\n\n{table(head, rows)}\n")
        reasons += [(p, rule) for p in members for rule in RULES if _is_absent(p, rule)]
    lines = [f"- `{p.name}`, {rule}: {getattr(p, rule).reason}" for p, rule in reasons]
    count = sum(map(len, families.values()))
    return COVERAGE.format(count=count, tables="\n".join(sections), reasons="\n".join(lines))


def lowering(primitive):
    """How the LLVM backend computes a primitive."""
    name = primitive.name
    kinds = {
        "loops": nests.RULES,
        "library call": lapack.RULES,
        "loop or branch": units.LOOPS,
        "callback": units.CALLBACKS,
        "entry of the program": units.NATIVE,
        "inlined": {*inline.CALLS, *inline._SINGLE, "optimization_barrier"},
    }
    found = [kind for kind, names in kinds.items() if name in names]
    if not found and primitive.decompose:
        found = ["other primitives"]
    return ", ".join(found) or "absent"


def _is_absent(primitive, rule):
    return isinstance(getattr(primitive, rule), Absent)


def _mark(primitive, rule):
    return "absent" if _is_absent(primitive, rule) else "✓"


COVERAGE = """# Coverage: which primitive has which rule

Written by `make docs` from the records in `frit/primitives/`: {count} primitives. A rule that is
absent has its reason at the end.

{tables}
## Absent rules

{reasons}
"""


def pages():
    """file name -> text."""
    return {
        "settings.md": settings_page(),
        "coverage.md": coverage_page(),
        "semantics.md": semantics.page(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a page is out of date")
    options = parser.parse_args()
    stale = []
    for name, text in pages().items():
        path = ROOT / "docs" / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not options.check:
                path.write_text(text)
    print(*(f"{'stale' if options.check else 'wrote'}: docs/{name}" for name in stale), sep="\n")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
