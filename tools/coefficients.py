"""Derives the polynomials of `frit.backends.llvm.vector_math` and writes its coefficients.py.

Each polynomial is a truncated Chebyshev series (within a factor of two of minimax for these smooth
functions), computed with 60 digits, of the lowest degree whose error meets the tolerance, and then
rounded to its type.

    python tools/coefficients.py            writes the file anew (a minute)
"""

import pathlib
import sys

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
TARGET = "frit/backends/llvm/vector_math/coefficients.py"
NODES = 64

# variant: bits that the approximation must reach. "f64_short" is f64 arithmetic for an f32 result.
BITS = {"f32": 27, "f64": 57, "f64_short": 34}


def chebyshev(function, low, high, nodes=NODES):
    """The first `nodes` Chebyshev coefficients of the function on [low, high]."""
    low, high = mpf(low), mpf(high)
    angles = [mp.pi * (2 * j + 1) / (2 * nodes) for j in range(nodes)]
    middle, half = (low + high) / 2, (high - low) / 2
    values = [function(middle + half * mp.cos(angle)) for angle in angles]
    series = []
    for n in range(nodes):
        total = mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True))
        series.append(total * (1 if n == 0 else 2) / nodes)
    return series


def monomials(series, low, high):
    """Coefficients in powers of x of a Chebyshev series on [low, high]."""
    low, high = mpf(low), mpf(high)
    # x -> u = scale * x + shift maps onto [-1, 1].
    scale, shift = 2 / (high - low), -(high + low) / (high - low)

    def times_u(p):
        out = [mpf(0)] * (len(p) + 1)
        for i, c in enumerate(p):
            out[i] += c * shift
            out[i + 1] += c * scale
        return out

    previous, current = [mpf(1)], [shift, scale]
    total = [mpf(0)] * len(series)
    for n, coefficient in enumerate(series):
        basis = previous if n == 0 else current
        for i, c in enumerate(basis):
            total[i] += coefficient * c
        if n >= 1:
            following = times_u(current)
            following = [2 * c for c in following]
            for i, c in enumerate(previous):
                following[i] -= c
            previous, current = current, following
    return total


def horner(polynomial, x):
    """The polynomial at x."""
    total = mpf(0)
    for c in reversed(polynomial):
        total = total * x + c
    return total


def worst_error(function, polynomial, low, high, weight):
    """The greatest weighted error on a grid that is dense at both ends."""
    points = [mpf(low) + (mpf(high) - mpf(low)) * (1 - mp.cos(mp.pi * i / 83)) / 2
              for i in range(1, 83)]  # fmt: skip
    return max(abs((horner(polynomial, x) - function(x)) * weight(x)) for x in points)


def fit(function, low, high, bits, weight=lambda x: 1, degree=None, nodes=NODES):
    """The lowest-degree polynomial with weighted error under 2**-bits (or of this degree)."""
    series = chebyshev(function, low, high, nodes)
    tail = mpf(0)
    tails = []
    for c in reversed(series):
        tails.append(tail)
        tail += abs(c)
    tails = tails[::-1]
    largest = max(abs(weight(mpf(low) + (mpf(high) - mpf(low)) * i / 10)) for i in range(11))
    if degree is not None:
        return monomials(series[: degree + 1], low, high)
    for count in range(1, nodes):
        if tails[count - 1] * largest < mpf(2) ** (8 - bits):
            polynomial = monomials(series[:count], low, high)
            if worst_error(function, polynomial, low, high, weight) < mpf(2) ** -bits:
                return polynomial
    raise ValueError(f"no polynomial on [{low}, {high}] reaches {bits} bits")


def rounded(polynomial, variant):
    """The coefficients as Python floats, each rounded to the type of the variant."""
    if variant == "f32":
        return tuple(float(np.float32(float(c))) for c in polynomial)
    return tuple(float(c) for c in polynomial)


def pair(number, variant="f64"):
    """(high, low): the number as a sum of two floats of the variant's type."""
    kind = np.float32 if variant == "f32" else float
    high = float(kind(float(number)))
    return high, float(kind(float(mpf(number) - mpf(high))))


def parts(number, variant):
    """The number as a sum of three floats of the variant's type."""
    first, second = pair(number, variant)
    third = pair(number - mpf(first) - mpf(second), variant)[0]
    return first, second, third


def two_over_pi_words(count=21):
    """Bits of 2/pi behind the binary point, after 64 zeros."""
    with mp.workprec(64 * count + 64):
        whole = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * (count - 1))))
    return [whole >> (64 * (count - 1 - position)) & (2**64 - 1) for position in range(count)]


def root(z):
    return mp.sqrt(z)


SPECS = {}


def spec(
    name, function, low, high, weight=lambda x: 1, *, variants=tuple(BITS), bits=0, degree=None
):
    """One polynomial; `bits` is added to what its variants ask for."""
    SPECS[name] = (function, low, high, weight, variants, bits, degree)


HALF_LN2 = mp.log(2) / 2 + mpf("0.0005")
ROOT_HALF = mp.sqrt(mpf(1) / 2)
S_LIMIT = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")


def series_tail(skip):
    """2 atanh(s) / s of z = s**2 but its first terms: the sum of 2 z**j / (2 (j + skip) + 1)."""
    return lambda z: mp.fsum(2 * z**j / (2 * (j + skip) + 1) for j in range(60))


spec("exp", lambda r: (mp.expm1(r) - r) / r**2, -HALF_LN2, HALF_LN2, lambda r: r)
spec("log_direct", lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, ROOT_HALF - 1,
     mp.sqrt(2) - 1, lambda f: f**2, variants=("f32",))  # fmt: skip
spec("log", series_tail(1), 0, S_LIMIT, lambda z: z / 2, variants=("f64", "f64_short"), bits=2)
spec("log_pair", series_tail(2), 0, S_LIMIT, lambda z: z**2 / 2, variants=("f64",), bits=12)
spec("sinh", lambda z: (mp.sinh(root(z)) - root(z)) / (z * root(z)), 0, HALF_LN2**2,
     lambda z: z)  # fmt: skip
spec("cosh", lambda z: (mp.cosh(root(z)) - 1 - z / 2) / z**2, 0, HALF_LN2**2, lambda z: z**2)
spec("tanh", lambda z: (mp.tanh(root(z)) - root(z)) / (z * root(z)), 0, mpf("0.4901"),
     lambda z: z, variants=("f32",))  # fmt: skip
spec("cbrt", lambda m: mp.cbrt(m), ROOT_HALF, mp.sqrt(2), degree=4)

QUARTER = (mp.pi / 4 + mpf("0.0005")) ** 2
spec("sin", lambda z: (mp.sin(root(z)) - root(z)) / (z * root(z)), 0, QUARTER, lambda z: z)
spec("cos", lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, 0, QUARTER, lambda z: z**2)
spec("atan", lambda z: (mp.atan(root(z)) - root(z)) / (z * root(z)), 0, mpf("0.1717"),
     lambda z: z)  # fmt: skip
spec("asin", lambda z: (mp.asin(root(z)) - root(z)) / (z * root(z)), 0, mpf("0.25"),
     lambda z: z)  # fmt: skip

ERFCX_CENTRE = 4


def scaled_erfcx(t):
    """(1 + 2a) exp(a^2) erfc(a) at the a with t = (a - K) / (a + K)."""
    a = ERFCX_CENTRE * (1 + t) / (1 - t)
    return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)


spec("erf", lambda z: mp.erf(root(z)) / root(z) - 1, 0, 1)
spec("erfcx", scaled_erfcx, -1, (mpf(28) - ERFCX_CENTRE) / (28 + ERFCX_CENTRE))
spec("log_erfc", lambda a: mp.log(mp.erfc(a)), 1, mpf("4.1"), lambda a: mp.erfc(a),
     variants=("f32",))  # fmt: skip


# Tables: rows of polynomials in x - centre, x in [start + row * width, start + (row + 1) * width].
TABLES = {}


def table(name, function, start, width, rows, bits=57):
    """One table of f64 polynomials of equal degree, with relative error under 2**-bits."""
    TABLES.setdefault(name, []).append((function, mpf(start), mpf(width), rows, bits))


def lgamma_factor(x):
    """lgamma(x) / ((x - 1) (x - 2))."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


DIGAMMA_ROOT = mp.findroot(mp.digamma, mpf("1.4616"))


def digamma_factor(x):
    """digamma(x) / (x - root), root being its positive zero."""
    return mp.digamma(x) / (x - DIGAMMA_ROOT)


def stirling_excess(x):
    """lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)."""
    return mp.loggamma(x) - ((x - mpf("0.5")) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def stirling_rest(z):
    """x stirling_excess(x) of z = 1 / x**2, x >= 8."""
    x = 1 / mp.sqrt(z)
    return x * stirling_excess(x)


def digamma_rest(z):
    """x**2 (log x - 1 / (2 x) - digamma(x)) of z = 1 / x**2, x >= 8."""
    x = 1 / mp.sqrt(z)
    return x**2 * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


spec("stirling", stirling_rest, mpf(10) ** -8, mpf(1) / 64, lambda z: mpf(1) / 64,
     variants=("f64",))  # fmt: skip
spec("digamma", digamma_rest, mpf(10) ** -8, mpf(1) / 64, lambda z: z, variants=("f64",))
spec("erf_inv", lambda z: mp.erfinv(root(z)) / root(z), 0, mpf("0.5625"), variants=("f64",))

table("lgamma", lgamma_factor, 1, 0.5, 14)
table("stirling", stirling_excess, 1, 0.5, 14, bits=53)
table("digamma", digamma_factor, 1, 0.5, 2)
table("digamma", mp.digamma, 2, 0.5, 12)
table("erf_inv", lambda s: mp.erfinv(1 - mp.exp(-s * s)), 1.17, 0.62, 8)
for order in (0, 1):

    def scaled_bessel(a, order=order):
        """exp(-a) I(a), divided by a for order 1."""
        return mp.exp(-a) * mp.besseli(order, a) / a**order

    def large_bessel(u, order=order):
        """sqrt(a) exp(-a) I(a) of u = 1 / a."""
        return mp.exp(-1 / u) * mp.besseli(order, 1 / u) / mp.sqrt(u)

    table(f"bessel_i{order}e", scaled_bessel, 0, 1, 8)
    table(f"bessel_i{order}e", large_bessel, 0, mpf(1) / 32, 4)


def temme_series(order, terms=9):
    """Taylor coefficients of c0 or c1 of eta in Temme's expansion (DLMF 8.12.9 and 8.12.10).

    With eta**2 / 2 = m - log(1 + m): c0 = 1/m - 1/eta and c1 = c0' / eta - 1 / (12 m).
    """

    def excess(eta):
        if eta == 0:
            return mpf(0)
        start = eta + eta**2 / 3 + eta**3 / 36
        return mp.findroot(lambda m: m - mp.log1p(m) - eta**2 / 2, start)

    first = mp.taylor(lambda eta: excess(eta) / eta if eta else mpf(1), 0, terms + 4)
    # 1/m - 1/eta = (1/q - 1)/eta with q = m/eta = 1 + eta/3 + ...
    inverse = [mpf(1)]
    for n in range(1, len(first)):
        inverse.append(-mp.fsum(first[k] * inverse[n - k] for k in range(1, n + 1)))
    zeroth = inverse[1:]
    if order == 0:
        return zeroth[:terms]
    return [(n + 2) * zeroth[n + 2] - inverse[n + 1] / 12 for n in range(terms - 2)]


def table_rows(name):
    """The rows of a table, all of the degree that the hardest row needs."""
    pieces = [
        (function, start + row * width, start + (row + 1) * width, bits)
        for function, start, width, rows, bits in TABLES[name]
        for row in range(rows)
    ]
    jobs = []
    for function, low, high, bits in pieces:
        middle, half = (low + high) / 2, (high - low) / 2
        size = abs(function(middle))
        shifted = lambda t, f=function, m=middle: f(m + t)
        degree = len(fit(shifted, -half, half, bits, lambda t, s=size: 1 / s, nodes=32)) - 1
        jobs.append((shifted, half, degree))
    degree = max(job[2] for job in jobs)
    print(f"{name:12} {len(jobs)} rows    degree {degree}", file=sys.stderr)
    return [
        rounded(fit(shifted, -half, half, 0, degree=degree, nodes=32), "f64")
        for shifted, half, _ in jobs
    ]


def polynomials():
    """name -> variant -> coefficients, for every spec."""
    found = {}
    for name, (function, low, high, weight, variants, more, degree) in SPECS.items():
        for variant in variants:
            polynomial = fit(function, low, high, BITS[variant] + more, weight, degree)
            found.setdefault(name, {})[variant] = rounded(polynomial, variant)
            print(f"{name:12} {variant:10} degree {len(polynomial) - 1}", file=sys.stderr)
    return found


def main():
    lines = [
        '"""Coefficients of vector_math: name -> variant -> lowest power first.',
        "",
        "Generated by tools/coefficients.py, where each function and interval is stated.",
        'Variants: "f32"; "f64"; "f64_short" for f64 arithmetic whose result is rounded to f32.',
        '"""',
        "",
        "# fmt: off",
        "POLYNOMIALS = {",
    ]
    for name, variants in polynomials().items():
        lines.append(f"    {name!r}: {{".replace("'", '"'))
        for variant, numbers in variants.items():
            lines.append(f'        "{variant}": (')
            lines += [f"            {number!r}," for number in numbers]
            lines.append("        ),")
        lines.append("    },")
    lines.append("}")
    lines += [
        "",
        "# Rows of polynomials in x - centre, for equal intervals of x; f64.",
        "TABLES = {",
    ]
    for name in TABLES:
        lines.append(f'    "{name}": (')
        for row in table_rows(name):
            lines.append("        (")
            lines += [f"            {number!r}," for number in row]
            lines.append("        ),")
        lines.append("    ),")
    lines += ["}", "", f"DIGAMMA_ROOT = {pair(DIGAMMA_ROOT)!r}"]
    lines += ["", "# Taylor series of Temme's c0 and c1."]
    for order in (0, 1):
        lines.append(f"TEMME_{order} = (")
        lines += [f"    {float(c)!r}," for c in temme_series(order)]
        lines.append(")")
    lines += ["", "# pi/2 as a sum of three floats.", "PI_HALF_PARTS = {"]
    for variant in ("f32", "f64"):
        lines.append(f'    "{variant}": {parts(mp.pi / 2, variant)!r},')
    lines += ["}", "", "# 2/pi as a binary fraction, 64 bits a word, after a word of zeros."]
    lines.append("TWO_OVER_PI_WORDS = (")
    lines += [f"    0x{word:016X}," for word in two_over_pi_words()]
    lines.append(")")
    pathlib.Path(TARGET).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
