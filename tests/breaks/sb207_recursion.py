import numpy as np

REASON, AT, FRAMES = "SB207", "halve(", 2


def halve(x, n):
    if n == 0:
        return x
    return halve(x * 0.5, n - 1)


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x + 1
    z = halve(y, 3)
    return z * 2
