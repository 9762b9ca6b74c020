"""A resident process that times rows on one engine, as its parent asks.

python worker.py frit|jax       one JSON object a line on standard input, one answer a line

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


def timed(jax, case, calls):
    """Seconds of one call, as the mean of `calls` without the garbage collector."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    for _ in range(calls):
        jax.block_until_ready(case.call())
    seconds = (time.perf_counter() - start) / calls
    gc.enable()
    return seconds


def prepare(jax, make, file):
    """(case, seconds of its second call) after its checked result was saved to `file`."""
    case = make()
    leaves = jax.tree.leaves(case.result())
    np.savez(file, *(np.asarray(leaf) for leaf in leaves))
    first = timed(jax, case, 1)
    return case, first if first > 5 else timed(jax, case, 1)


def main(engine):
    answers = sys.stdout
    sys.stdout = sys.stderr
    if engine == "frit":
        from frit import jax_alias

        jax_alias.install()
    import jax

    from benchmarks.rows import ROWS

    cases = {}
    for line in sys.stdin:
        request, answer = json.loads(line), {}
        try:
            if "prepare" in request:
                name = request["prepare"]
                cases[name], seconds = prepare(jax, ROWS[name], request["result"])
                answer["seconds"] = seconds
            elif "time" in request:
                answer["seconds"] = timed(jax, cases[request["time"]], request["calls"])
            else:
                cases.pop(request["drop"], None)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"[:500]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
