import numpy as np

REASON, AT, FRAMES = "SB307", "y.flags.writeable", 2


def arguments():
    return (np.ones(3), np.array([2, 0]))


def f(x, order):
    y = x * 2
    y.flags.writeable = False
    return y


# Fix: return the new array, and write the flag outside.


def fixed(x):
    return x * 2


def caller(fixed, x, order):
    y = fixed(x)
    y.flags.writeable = False
    return y
