import numpy as np

REASON, AT, FRAMES = "SB206", "helper(y)", 4


def helper(y):
    y = y + 1
    print("in the helper")
    return y * 3


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    z = helper(y)
    return z - 1


# Fix: fix the break inside the helper; then the helper is inlined.


def quiet_helper(y):
    return (y + 1) * 3


def fixed(x):
    return quiet_helper(x * 2) - 1


def caller(fixed, x):
    print("in the helper")
    return fixed(x)
