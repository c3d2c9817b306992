import numpy as np

REASON, AT, FRAMES = "SB102", "np.where(y)", 2


def arguments():
    return (np.array([0.0, 1.0, 0.0, 2.0]),)


def f(x):
    y = x * 2
    where = np.where(y)
    return y + 1, where[0]


# Fix: return the mask, whose shape is known, and look for its positions outside.


def fixed(x):
    y = x * 2
    return y + 1, y != 0


def caller(fixed, x):
    y, mask = fixed(x)
    return y, np.flatnonzero(mask)
