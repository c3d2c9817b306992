import numpy as np

REASON, AT, FRAMES = "SB208", "helper(y)", 3
OPTIONS = {"max_inline_depth": 0}


def helper(v):
    return v + 1


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    z = helper(y)
    return z - 1


# Fix: call fewer nested functions: here the helper is written out.


def fixed(x):
    y = x * 2
    z = y + 1
    return z - 1
