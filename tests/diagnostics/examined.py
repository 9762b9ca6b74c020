"""Programs that tests run under the doctor, each in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

START = """
import functools, time
import numpy as np
import jax
import jax.numpy as jnp
"""


def examine(folder, code, *options, arguments=(), start=START):
    """(exit status, standard output, standard error) of a program under the doctor."""
    (folder / "program.py").write_text(start + textwrap.dedent(code))
    return doctor(folder, *options, "program.py", *arguments)


def doctor(folder, *words):
    """(exit status, standard output, standard error) of the doctor."""
    command = [sys.executable, "-m", "frit", "doctor", *words]
    root = str(pathlib.Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "FRIT_CHECK": "0"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    return done.returncode, done.stdout, done.stderr


def report_of(folder, code, *options):
    """The report of a program as data."""
    status, out, err = examine(folder, code, "--json", "--output", "report.json", *options)
    assert status == 0, err
    return json.loads((folder / "report.json").read_text())


def the_finding(folder, code, kind):
    """The one finding of a program, which is of that kind."""
    report = report_of(folder, code)
    found = report["findings"]
    assert [f["kind"] for f in found] == [kind], found
    assert report["counts"]["any"] == 1
    return found[0]


def line_of(folder, text):
    """The number of the line of the program that has a text."""
    lines = (folder / "program.py").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)
