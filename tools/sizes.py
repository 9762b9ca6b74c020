"""Prints how long functions and files of the package are, and the change against another commit.

    python tools/sizes.py [--against main]

It informs and never fails: long functions and files near 500 lines are places to look for a seam.
"""

import argparse
import ast
import pathlib
import statistics
import subprocess

from rich.console import Console
from rich.table import Table

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCREEN = 40  # lines of a function that one sees at once
SEAM = 500  # lines of a file from which on to look for a seam


def function_lengths(source):
    """(name, lines) of each function of a module, those inside others included."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [(node.name, node.end_lineno - node.lineno + 1) for node in nodes]


def sources_here():
    """path -> source of each module of the package in the working tree."""
    paths = sorted((ROOT / "frit").rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def sources_at(commit):
    """The same at a commit."""
    names = git("ls-tree", "-r", "--name-only", commit, "frit").split()
    return {n: git("show", f"{commit}:{n}") for n in names if n.endswith(".py")}


def summary(sources):
    """name -> number, of the whole package."""
    files = [source.count("\n") for source in sources.values()]
    lengths = sorted(n for source in sources.values() for _, n in function_lengths(source)) or [0]
    return {
        "files": len(files),
        "lines": sum(files),
        "longest file": max(files, default=0),
        "files over 500 lines": sum(n > SEAM for n in files),
        "functions": len(lengths),
        "median function": int(statistics.median(lengths)),
        "nine in ten under": lengths[int(0.9 * (len(lengths) - 1))],
        "functions over a screen": sum(n > SCREEN for n in lengths),
    }


def show(console, now, before, against):
    table = Table("", "now", against, "change")
    for name, value in summary(now).items():
        old = summary(before)[name]
        table.add_row(name, str(value), str(old), f"{value - old:+}" if value != old else "")
    console.print(table)


def show_longest(console, sources, count=12):
    functions = [(n, f"{path}:{f}") for path, s in sources.items() for f, n in function_lengths(s)]
    files = [(source.count("\n"), path) for path, source in sources.items()]
    for title, rows in (("longest functions", functions), ("longest files", files)):
        console.print(f"\n{title}", style="bold")
        for lines, name in sorted(rows, reverse=True)[:count]:
            console.print(f"{lines:6}  {name}", highlight=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--against", default="main", help="commit to compare with")
    options = parser.parse_args()
    console, now = Console(), sources_here()
    show(console, now, sources_at(options.against), options.against)
    show_longest(console, now)


if __name__ == "__main__":
    main()
