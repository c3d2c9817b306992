import numpy as np

REASON, AT, FRAMES = "SB103", "float(", 2


def arguments():
    return (np.linspace(0.0, 1.0, 5),)


def f(x):
    y = x + 1
    total = float(y.sum())
    return y * total


# Fix: leave the sum an array; it multiplies just as well.


def fixed(x):
    y = x + 1
    return y * y.sum()
