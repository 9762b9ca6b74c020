"""Programs that import jax, run on frit, and examined.

python -m frit run script.py [arguments]
python -m frit run -m module [arguments]
python -m frit doctor [--json] [--html FILE] [--output FILE] [--fail-on LIST] script.py [arguments]
python -m frit doctor [options] -m module [arguments]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from typing import Any

from frit.jax_alias.programs import Program

_FAIL_ON = """\
conditions under which the exit status is 3: a list such as `stale,recompiles>5,shapes>=3`, or
`recompiles>2s` for seconds; a name alone is `name>0`. Names: stale, side-effects, leaks, captures,
jit-in-loop, statics, shapes, recompiles (all needless traces), constants, narrowing, any.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    words = options.module or options.script
    if not words:
        options.parser.error("name a script, or -m and a module")
    if options.script and not os.path.exists(words[0]):
        options.parser.error(f"no file {words[0]!r} in {os.getcwd()}")
    program = Program(words, is_module=bool(options.module))
    if options.command == "run":
        program.run()
        return 0
    return _examine(program, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m frit", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a program that imports jax on frit")
    doctor = commands.add_parser(
        "doctor", help="run a program, and say what costs time or may be wrong, and what to do"
    )
    doctor.add_argument("--json", action="store_true", help="the report as JSON")
    doctor.add_argument("--output", metavar="FILE", help="write the report there, not to stderr")
    doctor.add_argument("--html", metavar="FILE", help="write the report as one HTML page, too")
    doctor.add_argument("--fail-on", metavar="LIST", help=_FAIL_ON)
    rest: Any = argparse.REMAINDER
    for command in commands.choices.values():
        command.add_argument("-m", dest="module", nargs=rest, help="a module and its arguments")
        command.add_argument("script", nargs=rest, help="script.py and its arguments")
        command.set_defaults(parser=command)
    return parser


def _examine(program: Program, options: argparse.Namespace) -> int:
    """Runs the program under the doctor; the exit status."""
    from frit.api.jitting import JitFunction
    from frit.diagnostics import doctor

    try:
        conditions = doctor.conditions_of(options.fail_on) if options.fail_on is not None else []
    except ValueError as error:
        options.parser.error(f"--fail-on: {error}")
    files = [pathlib.Path(f).absolute() for f in (options.output, options.html) if f]
    for file in files:
        if not file.parent.is_dir():
            options.parser.error(f"no folder {str(file.parent)!r} to write {file.name} to")
    process, folder = os.getpid(), pathlib.Path.cwd()
    report = doctor.examine(program.run, str(program), JitFunction, conditions)
    if os.getpid() != process:  # a child of the program, which ends where the program does
        return report.status
    if options.html:
        (folder / options.html).write_text(report.to_html(), encoding="utf-8")
    if options.output:
        text = json.dumps(report.to_dict(), indent=1) if options.json else report.text()
        (folder / options.output).write_text(text + "\n", encoding="utf-8")
    elif options.json:
        print(json.dumps(report.to_dict(), indent=1), file=sys.stderr)
    else:
        _show(report)
    return report.status


def _show(report: Any) -> None:
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        console.print(report)
    else:
        print(report.text(), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
