import os

import numpy as np

REASON, AT, FRAMES = "SB201", "os.getpid", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    order = os.getpid() > 0
    return y + 1, order


# Fix: make the call outside of the compiled function.


def fixed(x):
    return x * 2 + 1


def caller(fixed, x):
    return fixed(x), os.getpid() > 0
