"""The program behind the golden logs: each artifact has something to say about it."""

import warnings

import numpy as np

import suture


def scale(x, factor):
    return x * factor


def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = scale(y, 2)
    return np.maximum(y, 0) * n


def loop(x):
    total = x * 0
    for name in ("a", "b"):
        total = total + x
        print(name, end="")
    return total


def spread(x):
    rows = x - x.mean(axis=1)[:, None]
    return (rows * rows).sum(axis=0), np.median(rows + 1)


def strided(x):
    return x[::2, ::2].sum() + 1


def divided(x):
    return 1 / x


def numbers(x):
    yield x + 1


def shifted(x):
    y = x * 2
    return y[1:] - y[:-1]


def main() -> None:
    compiled = suture.compile(f)
    for size in (4, 6, 8):
        compiled(np.ones((size, size)), 3.0)
    compiled(np.ones(3, "f4"), 3.0)
    suture.compile(loop)(np.ones(3))
    suture.compile(spread)(np.arange(12.0).reshape(3, 4))
    suture.compile(strided, dynamic=True)(np.ones((6, 8)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suture.compile(divided)(np.zeros(2))
        suture.compile(divided)(np.zeros(2))
    next(suture.compile(numbers)(np.ones(1)))
    suture.compile(shifted)(np.linspace(0, 1, 10_000))


main()
