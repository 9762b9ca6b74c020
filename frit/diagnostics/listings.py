"""The text of a module, LLVM or assembly, by function."""

from __future__ import annotations

import re

_DEFINITION = re.compile(r"^define [^@]*@([\w.$]+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^_?([A-Za-z][\w.$]*):")
_DIRECTIVE = re.compile(r"^\s+\.(?!LBB)\w+|^\.Lfunc_|^\s*$|^\s*#")


def llvm_of(text: str) -> dict[str, str]:
    """The definition of each function of LLVM text."""
    return {match[1]: match[0] for match in _DEFINITION.finditer(text)}


def machine_code_of(text: str) -> dict[str, str]:
    """The instructions and inner labels of each function of an assembly listing."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label is not None:
            current = found.setdefault(label[1], [])
        elif line.startswith((".Lfunc_end", "Lfunc_end")):
            current = None
        elif current is not None and not _DIRECTIVE.match(line):
            current.append(line.split(" ##")[0].rstrip())
    return {name: "\n".join(lines) for name, lines in found.items() if lines}
