"""Writes frit/scipy/special/coefficients.py: Chebyshev series of special functions.

A table is a tuple of pieces (low, high, coefficients): on low <= u <= high the function is
sum(c[k] T_k(t)), t = (2 u - low - high) / (high - low).  Each function below is smooth in its
variable u, and of one sign, so that the series is accurate relative to it.  Computed with mpmath
in 50 digits at the Chebyshev points, cut where the terms fall below 1e-18 of the largest.

    python tools/special_coefficients.py > frit/scipy/special/coefficients.py
"""

import mpmath as mp

mp.mp.dps = 50
TERMS = 48


def chebyshev(function, low, high):
    """The coefficients of `function` on [low, high], as floats."""
    low, high = mp.mpf(low), mp.mpf(high)
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / TERMS) for k in range(TERMS)]
    values = [function((high - low) / 2 * t + (high + low) / 2) for t in nodes]
    found = []
    for j in range(TERMS):
        terms = (v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / TERMS) for k, v in enumerate(values))
        found.append(2 * mp.fsum(terms) / TERMS)
    found[0] /= 2
    size = max(map(abs, found))
    while abs(found[-1]) < size * mp.mpf("1e-18"):
        found.pop()
    return [float(c) for c in found]


def table(function, *breaks):
    return [
        (float(a), float(b), chebyshev(function, a, b))
        for a, b in zip(breaks, breaks[1:], strict=False)
    ]


def exponential_integral_scaled(u):
    """x exp(x) E1(x) with x = 1 / u."""
    return mp.mpf(1) if u == 0 else mp.exp(1 / u) * mp.expint(1, 1 / u) / u


def entire_exponential_integral(x):
    """(E1(x) + gamma + log(x)) / x, an entire function."""
    return mp.nsum(lambda k: (-1) ** k * x**k / ((k + 1) * mp.factorial(k + 1)), [0, mp.inf])


def growing_exponential_integral(x):
    """(Ei(x) - gamma - log(x)) / x, entire."""
    return entire_exponential_integral(-x)


def growing_scaled(u):
    """x exp(-x) Ei(x) with x = 1 / u."""
    if u == 0:
        return mp.mpf(1)
    return mp.exp(-1 / u) * mp.ei(1 / u) / u


def sine_integral(v):
    """Si(x) / x with v = x**2."""
    x = mp.sqrt(v)
    return mp.si(x) / x


def cosine_integral(v):
    """(Ci(x) - gamma - log(x)) / x**2 with v = x**2."""
    x = mp.sqrt(v)
    return (mp.ci(x) - mp.euler - mp.log(x)) / v


def sine_auxiliary(w):
    """x f(x) with w = 1 / x**2;  Si = pi/2 - f cos - g sin,  Ci = f sin - g cos."""
    x = 1 / mp.sqrt(w)
    return x * (mp.ci(x) * mp.sin(x) + (mp.pi / 2 - mp.si(x)) * mp.cos(x))


def cosine_auxiliary(w):
    """x**2 g(x) with w = 1 / x**2."""
    x = 1 / mp.sqrt(w)
    return x * x * ((mp.pi / 2 - mp.si(x)) * mp.sin(x) - mp.ci(x) * mp.cos(x))


def fresnel_sine(v):
    """S(x) / x**3 with v = x**4."""
    x = mp.root(v, 4)
    return mp.fresnels(x) / x**3


def fresnel_cosine(v):
    """C(x) / x with v = x**4."""
    x = mp.root(v, 4)
    return mp.fresnelc(x) / x


def _fresnel_parts(w):
    """x, and 1/2 - S, 1/2 - C, sine and cosine of pi x**2 / 2, with w = 1 / x**2."""
    x = 1 / mp.sqrt(w)
    half = mp.mpf(1) / 2
    angle = mp.pi * x * x / 2
    return x, half - mp.fresnels(x), half - mp.fresnelc(x), mp.sin(angle), mp.cos(angle)


def fresnel_first_auxiliary(w):
    """pi x f(x) with w = 1 / x**2;  S = 1/2 - f cos - g sin,  C = 1/2 + f sin - g cos."""
    x, s, c, sine, cosine = _fresnel_parts(w)
    return mp.pi * x * (s * cosine - c * sine)


def fresnel_second_auxiliary(w):
    """pi**2 x**3 g(x) with w = 1 / x**2."""
    x, s, c, sine, cosine = _fresnel_parts(w)
    return mp.pi**2 * x**3 * (s * sine + c * cosine)


def dawson(v):
    """F(x) / x with v = x**2."""
    if v == 0:
        return mp.mpf(1)
    x = mp.sqrt(v)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-v) * mp.erfi(x) / x


def dawson_far(w):
    """2 x F(x) with w = 1 / x**2."""
    if w < mp.mpf("0.004"):  # the asymptotic series has 40 digits
        return mp.fsum(mp.fac2(2 * k - 1) * (w / 2) ** k for k in range(60))
    x = 1 / mp.sqrt(w)
    return mp.sqrt(mp.pi) * mp.exp(-1 / w) * mp.erfi(x) * x


def scaled_complement(t):
    """(1 + 2 x) exp(x**2) erfc(x) with t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    with mp.workdps(50):
        if x > 1000:  # the asymptotic series has converged
            terms = mp.fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(1, 8))
            return (1 + 2 * x) * (1 + terms) / (x * mp.sqrt(mp.pi))
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def dilogarithm(w):
    """-spence(1 + w) / w."""
    return mp.mpf(1) if w == 0 else -mp.polylog(2, -w) / w


FUNCTIONS = [
    (exponential_integral_scaled, (0, "0.125", "0.5", 1)),
    (entire_exponential_integral, (0, 1)),
    (growing_exponential_integral, (0, 2, 6)),
    (growing_scaled, (0, "0.02", "0.05", "0.1", mp.mpf(1) / 6)),
    (sine_integral, (0, 16)),
    (cosine_integral, (0, 16)),
    (sine_auxiliary, (0, mp.mpf(1) / 64, mp.mpf(1) / 16)),
    (cosine_auxiliary, (0, mp.mpf(1) / 64, mp.mpf(1) / 16)),
    (fresnel_sine, (0, 8)),
    (fresnel_cosine, (0, 8)),
    (fresnel_first_auxiliary, (0, "0.1", mp.mpf(8) ** mp.mpf("-0.5"))),
    (fresnel_second_auxiliary, (0, "0.1", mp.mpf(8) ** mp.mpf("-0.5"))),
    (dawson, (0, 4, 12, 25)),
    (dawson_far, (0, "0.04")),
    (scaled_complement, (-1, "-0.4", "0.3", 1)),
    (dilogarithm, ("-0.5", "0.5")),
]


def main():
    print('"""Chebyshev series, written by tools/special_coefficients.py: see there.')
    print('\nEach piece is (low, high, coefficients).\n"""\n')
    for function, breaks in FUNCTIONS:
        print(f"{function.__name__.upper()} = (")
        for low, high, coefficients in table(function, *breaks):
            print(f"    ({low!r}, {high!r}, (")
            for c in coefficients:
                print(f"        {c!r},")
            print("    )),")
        print(")  # fmt: skip\n")


if __name__ == "__main__":
    main()
