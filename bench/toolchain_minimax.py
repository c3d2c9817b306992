"""Minimax polynomials of the prelude's vector math. Needs mpmath; run it to reproduce or change the coefficients.

    python bench/toolchain_minimax.py [name ...]

Each entry of PROBLEMS approximates g(z) on [lo, hi] by a polynomial of the given degree, with the error weighted by w(z) so
that the weighted error is the relative error of the whole function (or a bound of it). The two lowest coefficients are rounded to double first
and the rest is fitted again to what the rounding left, so that rounding costs almost nothing.
"""

import sys

import mpmath as mp

mp.mp.prec = 200


def cheb_nodes(lo, hi, n):
    return [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)][::-1]


def solve(g, w, powers, nodes):
    """Coefficients and levelled error E with sum c_p z^p + (-1)^i E / w = g at the nodes."""
    n = len(powers) + 1
    a = mp.matrix(n, n)
    b = mp.matrix(n, 1)
    for i, z in enumerate(nodes):
        for j, p in enumerate(powers):
            a[i, j] = z**p
        a[i, n - 1] = (-1) ** i / w(z)
        b[i] = g(z)
    x = mp.lu_solve(a, b)
    return [x[j] for j in range(n - 1)], x[n - 1]


def remez(g, w, powers, lo, hi, rounds=12):
    nodes = cheb_nodes(lo, hi, len(powers) + 1)
    samples = [lo + (hi - lo) * (1 - mp.cos(mp.pi * i / 600)) / 2 for i in range(601)]
    values = [(z, g(z), w(z)) for z in samples]
    for _ in range(rounds):
        c, _ = solve(g, w, powers, nodes)
        error = [(sum(cj * z**p for cj, p in zip(c, powers, strict=True)) - gz) * wz for z, gz, wz in values]
        extrema = []
        for i, e in enumerate(error):
            left, right = error[i - 1] if i else -e * mp.inf, error[i + 1] if i < 600 else -e * mp.inf
            if (i in (0, 600) or abs(e) >= max(abs(left), abs(right))) and e != 0:
                if extrema and mp.sign(error[extrema[-1]]) == mp.sign(e):
                    if abs(e) > abs(error[extrema[-1]]):
                        extrema[-1] = i
                else:
                    extrema.append(i)
        while len(extrema) > len(nodes):
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        if len(extrema) < len(nodes):
            break
        nodes = [samples[i] for i in extrema]
    return c, max(abs(e) for e in error)


def fit(g, w, degree, lo, hi):
    # A third coefficient is not worth another fit: its rounding is far below the others' by then. Around zero the remaining
    # powers would all vanish inside the interval, where no polynomial can level the error.
    c, worst = remez(g, w, list(range(degree + 1)), lo, hi)
    for fixed in range(1, 3 if lo >= 0 else 1):
        first = [mp.mpf(float(x)) for x in c[:fixed]]
        rest, worst = remez(
            lambda z, first=first: g(z) - sum(cj * z**j for j, cj in enumerate(first)),
            w,
            list(range(fixed, degree + 1)),
            lo,
            hi,
        )
        c = first + rest
    return [float(x) for x in c], worst


def series(f, terms, z):
    return f(z) if abs(z) > 2**-30 else terms(z)


def sin_g(z):
    r = mp.sqrt(z)
    return series(lambda z: (mp.sin(r) / r - 1) / z, lambda z: -mp.mpf(1) / 6 + z / 120 - z * z / 5040, z)


def cos_g(z):
    r = mp.sqrt(z)
    return series(lambda z: (mp.cos(r) - 1 + z / 2) / z**2, lambda z: mp.mpf(1) / 24 - z / 720 + z * z / 40320, z)


def exp_g(r):
    return series(lambda r: (mp.expm1(r) - r) / r**2, lambda r: mp.mpf(1) / 2 + r / 6 + r * r / 24 + r**3 / 120, r)


def exp2_g(r):
    ln2 = mp.log(2)
    return series(
        lambda r: (mp.expm1(r * ln2) - r * ln2) / r**2, lambda r: ln2**2 / 2 + r * ln2**3 / 6 + r * r * ln2**4 / 24, r
    )


def log_g(z):  # log((1+s)/(1-s)) = 2 s + s z R(z), z = s^2
    s = mp.sqrt(z)
    return series(
        lambda z: (mp.log((1 + s) / (1 - s)) - 2 * s) / (s * z), lambda z: mp.mpf(2) / 3 + 2 * z / 5 + 2 * z * z / 7, z
    )


def atan_g(z):
    r = mp.sqrt(z)
    return series(lambda z: (mp.atan(r) / r - 1) / z, lambda z: -mp.mpf(1) / 3 + z / 5 - z * z / 7, z)


def asin_g(z):
    r = mp.sqrt(z)
    return series(lambda z: (mp.asin(r) / r - 1) / z, lambda z: mp.mpf(1) / 6 + 3 * z / 40 + 15 * z * z / 336, z)


def sinh_g(z):
    r = mp.sqrt(z)
    return series(lambda z: (mp.sinh(r) / r - 1) / z, lambda z: mp.mpf(1) / 6 + z / 120 + z * z / 5040, z)


def cbrt_g(m):
    return mp.cbrt(m)


Q = mp.pi / 4 * (1 + mp.mpf(2) ** -20)
L = mp.log(2) / 2 * (1 + mp.mpf(2) ** -20)
S = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) * (1 + mp.mpf(2) ** -20)
PROBLEMS = {
    # name: (g, weight, lo, hi, degree in double, degree for float results)
    "sin": (sin_g, lambda z: z, mp.mpf(0), Q**2, 5, 3),
    "cos": (cos_g, lambda z: z * z / mp.cos(mp.sqrt(z)), mp.mpf(0), Q**2, 5, 2),
    "exp": (exp_g, lambda r: L**2, -L, L, 10, 4),
    "exp2": (exp2_g, lambda r: mp.mpf(1) / 4, -mp.mpf(1) / 2, mp.mpf(1) / 2, 10, 4),
    "log": (log_g, lambda z: z / 2, mp.mpf(0), S**2, 6, 3),
    "atan": (atan_g, lambda z: z, mp.mpf(0), (mp.sqrt(2) - 1) ** 2, 10, 5),
    "asin": (asin_g, lambda z: z, mp.mpf(0), mp.mpf(1) / 4, 12, 6),
    "sinh": (sinh_g, lambda z: z, mp.mpf(0), mp.mpf(1), 7, 3),
    "cbrt": (cbrt_g, lambda m: 1 / mp.cbrt(m), mp.mpf(1), mp.mpf(2), 4),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PROBLEMS:
        g, w, lo, hi, *degrees = PROBLEMS[name]
        for degree in degrees:
            c, worst = fit(g, w, degree, lo, hi)
            print(f"{name} degree {degree}: error 2^{float(mp.log(worst, 2)):.1f}")
            for value in c:
                print(f"  {value.hex()},  // {value!r}")
