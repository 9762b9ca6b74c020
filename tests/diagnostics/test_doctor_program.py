"""python -m frit doctor: the forms of the report, `--fail-on`, and the program itself."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from frit.diagnostics.doctor import KINDS, NAMES, conditions_of
from tests.diagnostics.browser import browser, need_chromium
from tests.diagnostics.examined import doctor, examine, report_of

# -------------------------------------------------------------------------------------- the report

WASTEFUL = """
RATE = 0.5

@jax.jit
def step(x):
    return x * RATE

for RATE in (1.0, 2.0, 3.0, 4.0):
    step(jnp.ones(3))
for n in (4, 5, 6, 7):
    step(jnp.ones(n))
print("the end")
"""


def test_the_most_expensive_comes_first(tmp_path):
    found = report_of(tmp_path, WASTEFUL)["findings"]
    assert {f["kind"] for f in found} == {"captures", "shapes"}
    costly = [f["seconds"] for f in found if f["seconds"] > 0.005]
    assert costly == sorted(costly, reverse=True)


def test_report_as_json(tmp_path):
    report = report_of(tmp_path, WASTEFUL)
    assert list(report) == [
        "program", "status", "error", "seconds", "trace_seconds", "compile_seconds", "run_seconds",
        "findings", "counts", "functions", "failed", "failures",
    ]  # fmt: skip
    assert (report["program"], report["status"], report["error"]) == ("program.py", 0, "")
    assert list(report["findings"][0]) == [
        "kind", "severity", "title", "place", "count", "seconds", "details", "remedy", "example",
    ]  # fmt: skip
    assert list(report["counts"]) == list(NAMES)
    assert report["counts"]["captures"] == 3 and report["counts"]["shapes"] == 4
    assert report["counts"]["recompiles"] == 7 and report["counts"]["any"] == 2
    (step,) = report["functions"]
    assert list(step) == [
        "function", "calls", "traces", "trace_seconds", "compile_seconds", "run_seconds",
    ]  # fmt: skip
    assert (step["calls"], step["traces"]) == (8, 8)
    parts = (report[f"{name}_seconds"] for name in ("trace", "compile", "run"))
    assert sum(parts) <= report["seconds"]


def test_times_of_functions_within_others_are_their_own(tmp_path):
    code = """
    @jax.jit
    def inner(x):
        time.sleep(0.2)
        return x * 2

    @jax.jit
    def outer(x):
        time.sleep(0.1)
        return inner(x) + 1

    outer(jnp.ones(3))
    """
    rows = {f["function"].split()[0]: f for f in report_of(tmp_path, code)["functions"]}
    assert 0.2 <= rows["inner"]["trace_seconds"] < 0.3
    assert 0.1 <= rows["outer"]["trace_seconds"] < 0.2
    assert rows["outer"]["run_seconds"] < 0.1 and "inner" not in rows["outer"]["function"]


def test_report_as_text_goes_to_stderr(tmp_path):
    status, out, err = examine(tmp_path, WASTEFUL)
    assert (status, out) == (0, "the end\n")
    assert "frit doctor: program.py\n" in err
    assert "2 findings, the most expensive first. The remedies would save up to " in err
    assert "step is compiled for 5 shapes of `x`  [shapes, " in err
    assert "→ Each shape is a program of its own." in err
    assert "Time by function" in err
    report = err[err.index("frit doctor: program.py") :]
    assert max(map(len, report.splitlines())) <= 100


def test_report_to_a_file(tmp_path):
    status, out, err = examine(tmp_path, WASTEFUL, "--output", "report.txt")
    assert (status, out) == (0, "the end\n") and "doctor" not in err
    assert "frit doctor: program.py\n" in (tmp_path / "report.txt").read_text()


def test_nothing_found(tmp_path):
    status, out, err = examine(tmp_path, "print(jax.jit(lambda x: x + 1)(1.0))")
    assert (status, out) == (0, "2.0\n")
    assert "Nothing found that should be otherwise." in err


def test_json_to_stderr(tmp_path):
    status, out, err = examine(tmp_path, "print(1)", "--json", start="")
    assert (status, out) == (0, "1\n")
    assert json.loads(err)["findings"] == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
def test_report_as_a_page(tmp_path, width, height):
    need_chromium()
    status, _, err = examine(tmp_path, WASTEFUL, "--html", "report.html", "--output", "x.txt")
    assert status == 0, err
    with browser(width, height) as page:
        page.open(tmp_path / "report.html")
        assert page.text("h1") == "frit doctor: program.py"
        text = page.text("main")
        assert "step is compiled for 5 shapes of `x`" in text
        assert "global `RATE`" in text and "Pass it as an argument of the function" in text
        assert "step (program.py:" in page.text("#time-by-function table")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.errors == []


# ------------------------------------------------------------------------------------- --fail-on


COUNTS = dict.fromkeys(NAMES, (0, 0.0)) | {"recompiles": (7, 1.5), "captures": (3, 0.5)}


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("recompiles", "recompiles>0"),
        ("recompiles>6", "recompiles>6"),
        ("recompiles>7", ""),
        ("recompiles>=7", "recompiles>=7"),
        ("stale, captures > 2", "captures>2"),
        ("stale,leaks,recompiles>1.5s", ""),
        ("recompiles>=1.5s,captures>0.2s", "recompiles>=1.5 s,captures>0.2 s"),
    ],
)
def test_conditions(text, failed):
    assert ",".join(str(c) for c in conditions_of(text) if c.holds(COUNTS)) == failed


@pytest.mark.parametrize("bad", ["recompile", "stale>", "stale>x", "", "stale,,leaks", "any<3"])
def test_a_bad_condition_is_an_error_with_the_names(bad):
    with pytest.raises(ValueError, match="is no condition") as error:
        conditions_of(bad)
    assert f"The names are {', '.join(NAMES)}." in str(error.value)


def test_fail_on(tmp_path):
    status, out, err = examine(tmp_path, WASTEFUL, "--fail-on", "stale,recompiles>6,any>1")
    assert (status, out) == (3, "the end\n")
    assert "--fail-on: recompiles>6, any>1" in err
    status, out, err = doctor(tmp_path, "--fail-on", "stale,recompiles>7", "program.py")
    assert (status, out) == (0, "the end\n") and "--fail-on" not in err
    status, out, err = doctor(tmp_path, "--fail-on", "stale,waste", "program.py")
    assert (status, out) == (2, "")
    assert "'waste' in 'stale,waste' is no condition" in err


def test_names_are_in_the_help(tmp_path):
    status, out, _ = doctor(tmp_path, "--help")
    assert status == 0
    assert all(kind.name in out.replace("\n", "").replace(" ", "") for kind in KINDS)


# ------------------------------------------------------------------------------------ the program


def test_a_program_that_raises(tmp_path):
    code = """
    def inner(x):
        raise KeyError("lost")

    jax.jit(inner)(jnp.ones(3))
    """
    status, out, err = examine(tmp_path, code, "--fail-on", "any")
    assert (status, out) == (1, "")
    shown, report = err.split("frit doctor: program.py")
    assert shown.startswith(
        f'Traceback (most recent call last):\n  File "{tmp_path}/program.py", line '
    )
    assert "KeyError: 'lost'" in shown
    assert "diagnostics" not in shown and "programs.py" not in shown
    assert "It ended with KeyError: 'lost'" in report.replace("\n", " ")


@pytest.mark.parametrize(
    ("ending", "status", "told"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no data')", 1, "no data\n"),
        ("raise SystemExit(True)", 1, ""),
        ("1 +", 1, "SyntaxError"),
    ],
)
def test_exit_status_of_the_program(tmp_path, ending, status, told):
    found, _, err = examine(tmp_path, f"import sys\n{ending}", start="")
    assert found == status
    assert told in err.split("frit doctor:")[0]


def test_the_program_s_status_goes_before_fail_on(tmp_path):
    code = WASTEFUL + "\nraise SystemExit(5)"
    status, _, err = examine(tmp_path, code, "--fail-on", "any")
    assert status == 5 and "--fail-on: any>0" in err


SURROUNDINGS = """
import atexit, json, pickle, sys, __main__

class Here: pass

def say(): print("exit", sys.modules["__main__"] is __main__, isinstance(Here(), Here))

atexit.register(say)
names = ["__name__", "__file__", "__package__", "__doc__", "__cached__", "__builtins__"]
print(json.dumps([
    sys.argv, sys.path[0], *(str(globals()[n]) for n in names[:5]), names[5] in globals(),
    __spec__ and __spec__.name, type(__loader__).__name__, __main__.__dict__ is globals(),
    type(pickle.loads(pickle.dumps(Here()))).__name__,
]))
"""


@pytest.mark.parametrize("how", [["here/program.py"], ["-m", "here.program"], ["-m", "here"]])
@pytest.mark.parametrize("command", ["run", "doctor"])
def test_surroundings_are_those_of_python(tmp_path, how, command):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("program", "__main__"):
        (here / f"{name}.py").write_text(SURROUNDINGS)
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    found = [
        subprocess.run(
            [sys.executable, *before, *how, "-x", "--json", "y"],
            capture_output=True, text=True, cwd=tmp_path, env=env,
        )
        for before in ([], ["-m", "frit", command])
    ]  # fmt: skip
    assert found[0].returncode == found[1].returncode == 0, found[1].stderr
    assert found[0].stdout == found[1].stdout
    assert "exit True True" in found[1].stdout


def test_a_module_that_is_not_there(tmp_path):
    status, _, err = doctor(tmp_path, "-m", "nothing_here")
    assert status == 1 and "No module named 'nothing_here'" in err
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "__init__.py").write_text("")
    status, _, err = doctor(tmp_path, "-m", "bare")
    assert status == 1 and "bare is a package without a module __main__" in err


def test_wrong_command_lines_say_what_to_write(tmp_path):
    status, _, err = doctor(tmp_path)
    assert status == 2 and "name a script, or -m and a module" in err
    status, _, err = doctor(tmp_path, "nothing.py")
    assert status == 2 and "no file 'nothing.py'" in err
    (tmp_path / "program.py").write_text("print(1)")
    status, out, err = doctor(tmp_path, "--html", "no/where.html", "program.py")
    assert (status, out) == (2, "") and "to write where.html to" in err


def test_what_cannot_be_examined_does_not_stop_the_program(tmp_path):
    code = """
    class Mute:
        def __repr__(self):
            raise RuntimeError("no words")

    f = jax.jit(lambda x, mute: x, static_argnums=1)
    for i in range(2):
        print(f(1.0, Mute()))
    """
    status, out, err = examine(tmp_path, code)
    assert (status, out) == (0, "1.0\n1.0\n")
    told = "Something could not be examined: RuntimeError: no words (1×)."
    assert told in err.replace("\n", " ")


def test_a_forked_child_reports_nothing(tmp_path):
    code = """
    import os, sys
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("parent")
    """
    status, out, err = examine(tmp_path, code, start="")
    assert (status, out) == (0, "parent\n")
    assert err.count("frit doctor:") == 1
