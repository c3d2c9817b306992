import numpy as np

REASON, AT, FRAMES = "SB308", "n // 0.4", 2


def arguments():
    return (np.ones(3), 2.5)


def f(x, n):
    y = x * 2
    m = n // 0.4
    return y * m


# Fix: compute the number outside and pass it.


def fixed(x, m):
    return x * 2 * m


def caller(fixed, x, n):
    return fixed(x, n // 0.4)
