"""A program that imports jax, run on frit as Python itself would run it.

    Program(["script.py", "argument"]).run()              sys.path[0]: the script's folder
    Program(["package.module", "argument"], True).run()   sys.path[0]: the working folder

`__main__` is a new module, which stays in `sys.modules` when the program has ended: what it
registered for the end of the process finds its globals.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType

from frit import jax_alias


@dataclass(frozen=True)
class Program:
    """A script, or a module, and its arguments."""

    words: Sequence[str]
    is_module: bool = False

    def __str__(self) -> str:
        return " ".join(["-m", *self.words] if self.is_module else self.words)

    def run(self) -> None:
        """Runs it as `__main__`, with `import jax` giving frit.

        ImportError where there is no such module, OSError where there is no such script.
        """
        jax_alias.install()
        module = ModuleType("__main__")
        code = self._module(module) if self.is_module else self._script(module)
        sys.modules["__main__"] = module
        exec(code, module.__dict__)

    def _script(self, module: ModuleType) -> CodeType:
        path = os.path.abspath(self.words[0])
        with io.open_code(path) as file:
            text = file.read()
        sys.argv = list(self.words)
        _put_first(os.path.dirname(os.path.realpath(path)))
        module.__file__ = path
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        module.__dict__.update(__builtins__=__builtins__, __cached__=None, __annotations__={})
        return compile(text, path, "exec", dont_inherit=True)

    def _module(self, module: ModuleType) -> CodeType:
        _put_first(os.getcwd())
        sys.argv = ["-m", *self.words[1:]]
        spec = _spec_of(self.words[0])
        code = getattr(spec.loader, "get_code", lambda name: None)(spec.name)
        if code is None:
            raise ImportError(f"{self.words[0]} has no code that could be run", name=spec.name)
        sys.argv[0] = spec.origin or "-m"
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
        module.__file__ = spec.origin
        module.__dict__.update(
            __builtins__=__builtins__, __cached__=spec.cached, __annotations__={}
        )
        return code


def _put_first(folder: str) -> None:
    """Takes the place in sys.path that `python -m frit` took for the working folder."""
    if sys.flags.safe_path:
        return
    if sys.path and sys.path[0] in ("", os.getcwd()):
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


def _spec_of(name: str) -> importlib.machinery.ModuleSpec:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        if importlib.util.find_spec(f"{name}.__main__") is None:
            raise ImportError(
                f"{name} is a package without a module __main__, so it cannot be run", name=name
            )
        return _spec_of(f"{name}.__main__")
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return spec
