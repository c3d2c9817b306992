import numpy as np

REASON, AT, FRAMES = "SB510", "locals()", 0


def arguments():
    return (np.ones(3),)


def f(x):
    low, high = x - 1, x + 1
    names = locals()
    return names["low"] * names["high"]


# Fix: use the variables by name.


def fixed(x):
    low, high = x - 1, x + 1
    return low * high
