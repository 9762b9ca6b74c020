"""`python -m frit run script.py [arguments]`: a program that imports jax, run on frit.

python -m frit run script.py [arguments]
python -m frit run -m module [arguments]
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from frit import jax_alias


def run(arguments: list[str]) -> None:
    """Runs a script, or with `-m` a module, as `__main__`, with `import jax` giving frit."""
    jax_alias.install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m frit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="run a program that imports jax on frit")
    rest = argparse.REMAINDER
    runner.add_argument("-m", dest="module", nargs=rest, help="a module and its arguments")
    runner.add_argument("script", nargs=rest, help="script.py and its arguments")
    options = parser.parse_args(arguments)
    if not options.module and not options.script:
        runner.error("name a script, or -m and a module")
    if options.script and not os.path.exists(options.script[0]):
        runner.error(f"no file {options.script[0]!r} in {os.getcwd()}")
    run(options.script or ["-m", *options.module])
    return 0


if __name__ == "__main__":
    sys.exit(main())
