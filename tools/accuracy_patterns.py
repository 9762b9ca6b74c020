"""The worst error of a function over all float32, or over many float64, piece by piece.

    piece = {name, dtype, total, start, stop, worst, at, found, exact}      a line of JSON

Pattern number n of `total` is: of float32, the number with the bits n; of float64, one number of
stratum n when all bit patterns are cut into `total` equal strata, for every second n, and else when
those of ordinary size are. A second operand is drawn from n. Where the result is the float nearest
to the exact one, the error is at most a half and not computed further.
"""

import json
import os
import pathlib
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import mpmath
import numpy as np

from frit.backends.llvm import vector_math
from tools.compiled_functions import Compiled
from tools.exact_functions import IN_DOUBLE, REFERENCES, error_in_ulps

NAMES = (
    *"exp exp2 expm1 log log1p log2 sin cos tan tanh sinh cosh".split(),
    *"erf erf_inv pow rsqrt logistic".split(),
)
ALL_FLOATS = 1 << 32
PIECE = {"float32": 1 << 26, "float64": 20_000}
BLOCK = 1 << 16  # patterns at a time: what the second-level cache holds
ORDINARY = (2.0**-40, 2.0**10)
INSIDE = {"erf_inv": (2.0**-40, 1.0)}  # where less than `ORDINARY` has a result
PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"


# ---- patterns -----------------------------------------------------------------------------------


def mixed(n):
    """64 bits that look random, for each 64-bit number (SplitMix64)."""
    z = n.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def operands_of(name, dtype, start, stop, total):
    """The operands of patterns start to stop."""
    n = np.arange(start, stop, dtype=np.uint64)
    if dtype == "float32":
        x = n.astype(np.uint32).view(np.float32)
    else:
        x = stratified(n, total, INSIDE.get(name, ORDINARY))
    if vector_math.OPERANDS[name] == 1:
        return (x,)
    return x, exponents(x, n)


def stratified(n, total, ordinary):
    """A float64 in each stratum: even numbers of all patterns, odd ones of ordinary numbers."""
    strata, number = max(total // 2, 1), n // np.uint64(2)
    everything = number * np.uint64((1 << 64) // strata)
    everything += mixed(n) % np.uint64((1 << 64) // strata)
    low, high = (int(np.float64(x).view(np.uint64)) for x in ordinary)
    width = max((high - low) // strata, 1)
    usual = np.uint64(low) + number * np.uint64(width) + mixed(n) % np.uint64(width)
    usual |= (mixed(n) >> np.uint64(60) & np.uint64(1)) << np.uint64(63)
    return np.where(n % np.uint64(2), usual, everything).view(np.float64)


def exponents(x, n):
    """Exponents for the bases x: any bit pattern, or such that x**y is a number; small integers."""
    kind = x.dtype.type
    bits = mixed(n ^ np.uint64(0xA5A5A5A5))
    anything = (bits >> np.uint64(64 - 8 * x.itemsize)).astype(f"u{x.itemsize}").view(kind)
    span = 2.0 * np.finfo(kind).maxexp * (bits.astype(np.float64) / 2.0**64 - 0.5) * 1.1
    logarithm = np.log2(np.abs(x.astype(np.float64)))
    fitting = (span / np.where(logarithm == 0, 1, logarithm)).astype(kind)
    integers = np.round((bits >> np.uint64(40)).astype(np.float64) % 41 - 20).astype(kind)
    which = bits % np.uint64(8)
    return np.where(which == 0, anything, np.where(which == 1, integers, fitting))


# ---- errors -------------------------------------------------------------------------------------


@cache
def compiled(name, dtype):
    return Compiled(name, dtype, 16 if dtype == "float32" else 8, as_operation=True)


def measure_piece(task):
    """The piece of a task (name, dtype, total, start, stop), measured."""
    name, dtype, total, start, stop = task
    worst, place = 0.5, None
    measure = worst_of_f32 if dtype == "float32" else worst_of_f64
    with np.errstate(all="ignore"):
        for first in range(start, stop, BLOCK):
            operands = operands_of(name, dtype, first, min(first + BLOCK, stop), total)
            error, found = measure(name, operands)
            if error > worst:
                worst, place = error, found
    at, found, exact = place or (None, None, None)
    return {
        "name": name, "dtype": dtype, "total": total, "start": start, "stop": stop,
        "worst": worst, "at": at, "found": found, "exact": exact,
    }  # fmt: skip


def worst_of_f32(name, operands):
    """(worst error, (operands, found, exact)) against NumPy's float64."""
    found = compiled(name, "float32")(*operands)
    exact = IN_DOUBLE[name](*(x.astype(np.float64) for x in operands))
    same = (found == exact.astype(np.float32)) | (np.isnan(found) & np.isnan(exact))
    differ = np.flatnonzero(~same)
    found, exact = found[differ].astype(np.float64), exact[differ]
    info = np.finfo(np.float32)
    _, exponent = np.frexp(exact)
    spacing = np.maximum(np.ldexp(1.0, exponent - 24), float(info.smallest_subnormal))
    error = np.abs(found - exact) / spacing
    error[np.isinf(found) & (np.abs(exact) >= float(info.max) * (1 + 2.0**-25))] = 0
    error[np.isnan(error)] = np.inf
    if not error.size:
        return 0.0, None
    k = int(np.argmax(error))
    at = [float(x[differ[k]]) for x in operands]
    return float(error[k]), (at, float(found[k]), float(exact[k]))


def worst_of_f64(name, operands):
    """The same against mpmath."""
    found = compiled(name, "float64")(*operands)
    worst, place = 0.0, None
    with mpmath.workdps(40):
        for k, result in enumerate(found.tolist()):
            at = [float(x[k]) for x in operands]
            exact = _exact(name, at, result)
            if float(exact) == result:
                continue
            error = error_in_ulps(result, exact, "float64")
            if error > worst:
                worst, place = error, (at, result, float(exact))
    return worst, place


def _exact(name, at, found):
    if name == "erf_inv" and 1e-300 < abs(at[0]) < 1 and abs(found) < 10:
        return newton_inverse_erf(mpmath.mpf(at[0]), mpmath.mpf(found))
    return REFERENCES[name](*at)


def newton_inverse_erf(x, guess):
    """erfinv(x) by one step from a guess that is right to 15 digits, which doubles them."""
    slope = 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-guess * guess)
    return guess - (mpmath.erf(guess) - x) / slope


# ---- all pieces ---------------------------------------------------------------------------------


def tasks_of(names, dtypes, count):
    """(name, dtype, total, start, stop) of every piece."""
    return [
        (name, dtype, total, start, min(start + PIECE[dtype], total))
        for dtype in dtypes
        for total in [ALL_FLOATS if dtype == "float32" else count]
        for name in names
        for start in range(0, total, PIECE[dtype])
    ]


def key_of(piece):
    return tuple(piece[k] for k in ("name", "dtype", "total", "start", "stop"))


def read_pieces(file):
    """The pieces that a file records, by their tasks; none where it does not exist."""
    lines = pathlib.Path(file).read_text().splitlines() if os.path.exists(file) else []
    pieces = [json.loads(line) for line in lines if line.endswith("}")]
    return {key_of(piece): piece for piece in pieces}


def record(file, piece):
    """Appends a piece as a line of its own, whatever an earlier run was stopped in."""
    with open(file, "a+b") as lines:
        lines.seek(max(lines.tell() - 1, 0))
        torn = lines.read(1) not in (b"", b"\n")
        lines.write(b"\n" * torn + json.dumps(piece).encode() + b"\n")


def measure_patterns(names, dtypes, count, jobs, output=None):
    """Measures all functions and tells of each; 1 if one is worse than stated."""
    tasks = tasks_of(names or NAMES, dtypes, count)
    known = read_pieces(output) if output else {}
    missing = [task for task in tasks if task not in known]
    with ProcessPoolExecutor(jobs) as pool:
        for piece in pool.map(measure_piece, missing):
            known[key_of(piece)] = piece
            if output:
                record(output, piece)
            if piece["stop"] == piece["total"]:
                same = [t for t in tasks if t in known and t[:2] == key_of(piece)[:2]]
                print(line_of(worst_pieces(known[t] for t in same)[0]), flush=True)
    found = worst_pieces(known[task] for task in tasks)
    return int(any(piece["worst"] > stated(piece["name"]) for piece in found))


def stated(name):
    return vector_math.ACCURACY[name]


def worst_pieces(pieces):
    """For each function and dtype its worst piece, `stop - start` being all that was measured."""
    found = {}
    for piece in pieces:
        key = piece["name"], piece["dtype"]
        known = found.get(key, piece | {"start": 0, "stop": 0})
        worse = piece if piece["worst"] > known["worst"] or known["at"] is None else known
        measured = known["stop"] + piece["stop"] - piece["start"]
        found[key] = worse | {"start": 0, "stop": measured}
    return list(found.values())


def line_of(piece):
    verdict = "WORSE" if piece["worst"] > stated(piece["name"]) else ""
    return f"{piece['name']:10} {piece['dtype']:8} {piece['worst']:8.4f} {verdict} at {piece['at']}"


# ---- the page -----------------------------------------------------------------------------------

TEXT = """# Accuracy

Written by `python tools/accuracy.py --page` from what `--exhaustive` runs measured: the largest
error of each function, in units in the last place of the exact result. float32: every bit pattern
(of `pow` every base, each with one exponent), against float64. float64: one number of each stratum
of bit patterns, half of them of ordinary size, against mpmath. 0.5 is the least possible.

| function | dtype | patterns | worst ulp | stated | worst at |
| --- | --- | ---: | ---: | ---: | --- |
{rows}
"""


def write_page(files):
    """Writes docs/accuracy.md from the files of one or more runs."""
    pieces = {}
    for file in files:
        pieces |= read_pieces(file)
    found = worst_pieces(pieces.values())
    order = {name: position for position, name in enumerate(NAMES)}
    found.sort(key=lambda p: (order.get(p["name"], len(order)), p["dtype"]))
    PAGE.write_text(TEXT.format(rows="\n".join(map(row_of, found))))
    return 0


def row_of(piece):
    number = np.dtype(piece["dtype"]).type
    at = ", ".join(str(number(x)) for x in piece["at"] or ())
    return (
        f"| {piece['name']} | {piece['dtype']} | {piece['stop']:,} | {piece['worst']:.3f} "
        f"| {stated(piece['name'])} | {at} |"
    )
