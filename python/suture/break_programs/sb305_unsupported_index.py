import numpy as np

REASON, AT, FRAMES = "SB305", "y[order]", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]), np.array([2, 0, 1]))


def f(x, order):
    y = x * 2
    z = y[order]
    return z + 1


# Fix: put the elements in order before the compiled function.


def fixed(x):
    return x * 2 + 1


def caller(fixed, x, order):
    return fixed(x[order])
