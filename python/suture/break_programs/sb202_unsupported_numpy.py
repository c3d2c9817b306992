import numpy as np

REASON, AT, FRAMES = "SB202", "np.cumsum", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    z = np.cumsum(y)
    return z + y


# Fix: compile the part before it, and call the function on the result.


def fixed(x):
    return x * 2


def caller(fixed, x):
    y = fixed(x)
    return np.cumsum(y) + y
