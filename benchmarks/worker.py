"""A resident process that times rows on one engine, as its parent asks.

python worker.py frit|jax|numba     one JSON object a line on standard input, one answer a line

{"prepare": NAME, "result": FILE}   builds the row, saves its checked result  -> {"seconds": s}
{"time": NAME, "calls": N}          mean of N calls                           -> {"seconds": s}
{"drop": NAME}                      frees the row                             -> {}
"""

import gc
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))


class JaxRows:
    """The rows for jax, or for frit under its name."""

    def __init__(self):
        import jax

        from benchmarks.rows import ROWS

        self.rows, self.wait, self.leaves = ROWS, jax.block_until_ready, jax.tree.leaves


class NumbaRows:
    """The rows that are spelled out as loops; what they return is there at once."""

    def __init__(self):
        from benchmarks.numba_rows import ROWS

        self.rows, self.wait, self.leaves = ROWS, lambda result: result, self.leaves_of

    def leaves_of(self, result):
        """Arrays; numba returns scalars of float32 as Python's numbers."""
        leaves = result if isinstance(result, tuple) else [result]
        return [np.float32(x) if isinstance(x, float) else x for x in leaves]


def timed(engine, case, calls):
    """Seconds of one call, as the mean of `calls` without the garbage collector."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    for _ in range(calls):
        engine.wait(case.call())
    seconds = (time.perf_counter() - start) / calls
    gc.enable()
    return seconds


def prepare(engine, name, file):
    """(case, seconds of its second call) after its checked result was saved to `file`."""
    case = engine.rows[name]()
    leaves = engine.leaves(case.result())
    np.savez(file, *(np.asarray(leaf) for leaf in leaves))
    first = timed(engine, case, 1)
    return case, first if first > 5 else timed(engine, case, 1)


def main(name):
    answers = sys.stdout
    sys.stdout = sys.stderr
    if name == "frit":
        from frit import jax_alias

        jax_alias.install()
    engine = NumbaRows() if name == "numba" else JaxRows()
    cases = {}
    for line in sys.stdin:
        request, answer = json.loads(line), {}
        try:
            if "prepare" in request:
                name = request["prepare"]
                cases[name], seconds = prepare(engine, name, request["result"])
                answer["seconds"] = seconds
            elif "time" in request:
                answer["seconds"] = timed(engine, cases[request["time"]], request["calls"])
            else:
                cases.pop(request["drop"], None)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"[:500]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
