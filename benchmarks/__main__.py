"""`make bench`: frit and jax side by side, on the same programs, in alternation.

    python -m benchmarks [--rows REGEX] [--runs 3] [--pairs 7] [--threads 1] [--jax-python PATH]

Resident workers, one for each engine, hold the prepared rows; this parent asks them in turn, so
that a disturbance of the machine hits all. Before a row is timed its results are compared. A run
gives the median ratio of interleaved pairs; a row is the median of the runs, each with new workers.
Rows that loops spell out are timed on numba as well, if the environment of jax has it.
Ratios between TIE and 1 / TIE are called ties: less is not told apart on a shared machine.
Everything measured is kept in benchmarks/results.json; benchmarks/RESULTS.md is the summary.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGINES = ("frit", "jax")
PAIRS = 7
TIE = 0.67
SHORTEST = 0.02  # seconds that a timing lasts at least
LONG, VERY_LONG = 1.0, 5.0  # seconds of a call from which on 3 pairs, or one, are enough
PACKAGES = ["jax==0.10.2", "numpy", "numba"]
IMPORT_ROW = "import and first call"
FIRST_CALL = "import jax, jax.numpy as jnp; jax.jit(lambda x: x + 1)(jnp.arange(8.0))"


def jax_python():
    """Python of an environment with jax and numba in it, made when absent."""
    environment = ROOT / ".venv-bench"
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    if not imports(python, "jax, numba"):
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES], check=True)
    return python


def imports(python, modules):
    """Whether a Python can import all of some modules."""
    return not subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode


# ---- the two workers ----------------------------------------------------------------------------


def environment(threads):
    """Environment of a process in which every library keeps to `threads` threads."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "FRIT_NUM_THREADS",
              "NUMBA_NUM_THREADS")  # fmt: skip
    flags = "--xla_cpu_multi_thread_eigen=false" if threads == 1 else ""
    found = dict(os.environ, XLA_FLAGS=flags, JAX_PLATFORMS="cpu", PYTHONHASHSEED="0")
    return found | dict.fromkeys(limits, str(threads))


def keep_to(threads):
    """Restricts a new process to the first `threads` of the CPUs that this one may use."""
    return lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


class Worker:
    """A resident process that answers requests about rows."""

    def __init__(self, engine, python, threads):
        self.process = subprocess.Popen(
            [python, ROOT / "benchmarks" / "worker.py", engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(threads),
            preexec_fn=keep_to(threads),
        )

    def ask(self, **request):
        """The answer to a request; RuntimeError with the worker's reason where it has none."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the worker died"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- one row ------------------------------------------------------------------------------------


def same(file, other):
    """Why two files of results differ, or None where they agree to float32's accuracy."""
    ours, theirs = np.load(file), np.load(other)
    if ours.files != theirs.files:
        return f"{len(ours.files)} results for {len(theirs.files)}"
    for name in ours.files:
        a, b = ours[name], theirs[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
        scale = float(np.abs(b).max(initial=0)) or 1.0
        if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * scale, equal_nan=True):
            return f"values differ by {np.abs(a - b).max() / scale:.1e} of the largest"
    return None


def measure(name, workers, folder, pairs):
    """The seconds of each engine, pair by pair: {"frit": [...], "jax": [...]}."""
    estimates = {}
    for engine, worker in workers.items():
        file = str(pathlib.Path(folder) / f"{engine}.npz")
        estimates[engine] = worker.ask(prepare=name, result=file)["seconds"]
    files = {engine: pathlib.Path(folder) / f"{engine}.npz" for engine in workers}
    for engine in workers:
        difference = same(files[engine], files["jax"])
        if difference:
            raise RuntimeError(f"results of {engine} and jax differ: {difference}")
    slowest = max(estimates[engine] for engine in ENGINES)
    pairs = 1 if slowest > VERY_LONG else min(3, pairs) if slowest > LONG else pairs
    calls = {e: max(1, math.ceil(SHORTEST / max(s, 1e-7))) for e, s in estimates.items()}
    times = {engine: [] for engine in workers}
    for pair in range(pairs):
        order = list(workers) if pair % 2 == 0 else list(reversed(workers))
        for engine in order:
            answer = workers[engine].ask(time=name, calls=calls[engine])
            times[engine].append(answer["seconds"])
    for worker in workers.values():
        worker.ask(drop=name)
    return times


def measure_import(pythons, threads, pairs):
    """The same for a new process that imports the library and calls one function."""
    install = "from frit import jax_alias; jax_alias.install(); "
    programs = {"frit": install + FIRST_CALL, "jax": FIRST_CALL}
    times = {engine: [] for engine in ENGINES}
    for pair in range(pairs):
        order = list(ENGINES) if pair % 2 == 0 else list(reversed(ENGINES))
        for engine in order:
            command = [pythons[engine], "-c", programs[engine]]
            start = time.perf_counter()
            subprocess.run(command, check=True, cwd=ROOT, env=environment(threads))
            times[engine].append(time.perf_counter() - start)
    return times


def one_run(names, looped, pythons, options):
    """name -> times, or {"error": reason}, with new workers. looped: the rows that numba has."""
    found = {}
    workers = {e: Worker(e, pythons[e], options.threads) for e in pythons}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            engines = [e for e in workers if e != "numba" or name in looped]
            try:
                if name == IMPORT_ROW:
                    found[name] = measure_import(pythons, options.threads, options.pairs)
                else:
                    chosen = {e: workers[e] for e in engines}
                    found[name] = measure(name, chosen, folder, options.pairs)
            except (RuntimeError, subprocess.CalledProcessError, BrokenPipeError) as error:
                found[name] = {"error": str(error)}
            print(f"  {name}: {line_of(found[name])}", flush=True)
    for worker in workers.values():
        worker.close()
    return found


# ---- the summary --------------------------------------------------------------------------------


def ratio(times, peer="jax"):
    """Median over the pairs of a peer's time by frit's: above one frit is faster."""
    return statistics.median(j / f for f, j in zip(times["frit"], times[peer], strict=True))


def shown(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"


def verdict(value):
    if TIE <= value <= 1 / TIE:
        return "tie"
    return f"{value:.1f}x faster" if value > 1 else f"{1 / value:.1f}x slower"


def line_of(times):
    if "error" in times:
        return times["error"]
    medians = (statistics.median(times[engine]) for engine in ENGINES)
    line = " against ".join(map(shown, medians)) + f", {verdict(ratio(times))}"
    if "numba" in times:
        line += f"; numba {shown(statistics.median(times['numba']))}"
    return line


def table_row(name, runs):
    """A line of the table from the times of each run."""
    errors = [run["error"] for run in runs if "error" in run]
    if errors:
        return f"| {name} | | | | | {errors[0][:100]} | | |"
    frit, jax = (median_of(runs, engine) for engine in ENGINES)
    ratios = [ratio(run) for run in runs]
    spread = ", ".join(f"{value:.2f}" for value in ratios)
    middle = statistics.median(ratios)
    numba = numba_cells(runs) if "numba" in runs[0] else "| |"
    return (
        f"| {name} | {shown(frit)} | {shown(jax)} | {middle:.2f} | {spread} | {verdict(middle)} "
        + numba
    )


def median_of(runs, engine):
    return statistics.median(t for run in runs for t in run[engine])


def numba_cells(runs):
    """numba's time, and how many times frit's it is."""
    against = statistics.median(ratio(run, "numba") for run in runs)
    return f"| {shown(median_of(runs, 'numba'))} | {against:.2f} |"


def machine():
    cpu = platform.processor() or "unknown CPU"
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        models = re.findall(r"model name\s*: (.*)", info.read_text())
        cpu = models[0] if models else cpu
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "cpu": cpu,
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit,
    }


PAGE = """# frit and jax side by side

Written by `make bench`. {threads} thread(s); {cpu}, {cpus} CPUs; Python {python}; commit {commit};
jax 0.10.2. Times are medians; the ratio is jax's time by frit's, the median over the runs of the
median over interleaved pairs. Ratios between 0.67 and 1.5 are ties. Results were compared before
anything was timed. The last columns are numba on the same work, spelled out as loops, and its time
by that of frit. All figures: results.json.{again}

| row | frit | jax | ratio | each run | verdict | numba | numba / frit |
| --- | ---: | ---: | ---: | --- | --- | ---: | ---: |
{rows}
"""


RECORD = ROOT / "benchmarks" / "results.json"


def write(record):
    """results.json and RESULTS.md of a record: the machine, the runs, and rows measured again."""
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    runs = record["runs"]
    rows = "\n".join(table_row(name, [run[name] for run in runs]) for name in runs[0])
    later = "; ".join(f"{name} at {commit}" for name, commit in record["again"].items())
    again = f" Measured again since: {later}." if later else ""
    RECORD.with_name("RESULTS.md").write_text(
        PAGE.format(**record | {"rows": rows, "again": again})
    )
    print(rows)


def measured_again(runs):
    """The record of the last full run on this machine, with some rows measured anew."""
    record, here = json.loads(RECORD.read_text()), machine()
    if record["cpu"] != here["cpu"] or len(record["runs"]) != len(runs):
        raise SystemExit("results.json is of another machine or number of runs: measure all rows")
    for old, new in zip(record["runs"], runs, strict=True):
        old.update(new)
    record["again"] |= dict.fromkeys(runs[0], here["commit"])
    return record


def row_names(python, module):
    """Names of the rows of a module, asked of the peers' environment, which can import it."""
    code = f"from benchmarks.{module} import ROWS; print(*ROWS, sep='\\n')"
    done = subprocess.run(
        [python, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", default="", help="only rows in whose name this is found")
    parser.add_argument("--update", action="store_true", help="put these rows into RESULTS.md")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="interleaved pairs of a run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jax-python", help="Python with jax, instead of an environment made here")
    options = parser.parse_args()
    peer = options.jax_python or jax_python()
    pythons = {"frit": sys.executable, "jax": peer}
    looped = []
    if imports(peer, "numba"):
        pythons["numba"] = peer
        looped = row_names(peer, "numba_rows")
    else:
        print(f"without numba, which {peer} does not have", flush=True)
    names = [IMPORT_ROW, *row_names(peer, "rows")]
    names = [name for name in names if re.search(options.rows, name)]
    runs = []
    for number in range(options.runs):
        print(f"run {number + 1} of {options.runs}", flush=True)
        runs.append(one_run(names, looped, pythons, options))
    if options.update:
        write(measured_again(runs))
    elif options.rows:
        print("\n".join(table_row(name, [run[name] for run in runs]) for name in names))
    else:
        write(machine() | {"threads": options.threads, "again": {}, "runs": runs})


if __name__ == "__main__":
    main()
