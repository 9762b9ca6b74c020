"""The long form of the random checks.

    python tools/fuzz.py [--programs 20000] [--seed 0] [--only programs|loops|math]

First random programs (tests/fuzzing.py), each in its whole against its equations one at a time and
against NumPy; then, of a tenth as many, every kernel in the loops interpreter, which finds accesses
out of bounds, races and memory read before it is written. A disagreement is shrunk and shown with
its seed, so that `--seed N --programs 1` repeats it. Then the elementary functions on every
float32 and many float64 (tools/accuracy.py --exhaustive). The compiler's verifiers are on unless
FRIT_CHECK=0.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("FRIT_CHECK", "1")

from tests import fuzzing  # noqa: E402 - found through the line above


def program_of(seed):
    """The program of a seed: 5 to 40 steps."""
    generator = np.random.default_rng(seed)
    choose = lambda n: int(generator.integers(n))
    return fuzzing.make_program(choose, 5 + choose(36))


def failure(program, check):
    """The error that checking a program ends in, or None."""
    try:
        check(program)
    except Exception as error:
        return error
    return None


def fuzz_programs(count, seed, check):
    """Number of seeds whose program fails a check."""
    failed, start = 0, time.perf_counter()
    for number in range(seed, seed + count):
        program = program_of(number)
        error = failure(program, check)
        if error is not None:
            failed += 1
            kind = type(error)
            small = fuzzing.shrunk(
                program, lambda p, kind=kind: isinstance(failure(p, check), kind)
            )
            print(f"seed {number}: {kind.__name__}: {failure(small, check)}\n{small}\n", flush=True)
        done = number - seed + 1
        if done % 500 == 0:
            rate = done / (time.perf_counter() - start)
            print(f"{done} programs, {failed} failed, {rate:.1f} a second", flush=True)
    print(f"{check.__name__}: {count} programs from seed {seed}, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("programs", "loops", "math"))
    options = parser.parse_args()
    only, status = options.only, 0
    if only in (None, "programs"):
        status |= bool(fuzz_programs(options.programs, options.seed, fuzzing.check))
    if only in (None, "loops"):
        count = options.programs if only else -(-options.programs // 10)
        status |= bool(fuzz_programs(count, options.seed, fuzzing.check_loops))
    if only in (None, "math"):
        accuracy = [sys.executable, str(ROOT / "tools" / "accuracy.py"), "--exhaustive"]
        status |= subprocess.run([*accuracy, "--jobs", str(os.cpu_count())]).returncode
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
