import numpy as np

REASON, AT, FRAMES, RAISES = "SB306", "y + other", 1, ValueError


def arguments():
    return (np.ones(3), np.ones(4))


def f(x, other):
    y = x * 2
    return y + other


# Fix: pass operands whose shapes fit.


def fixed(x, other):
    return x * 2 + other


def caller(fixed, x, other):
    return fixed(x, other[: x.shape[0]])
