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
