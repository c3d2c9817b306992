import numpy as np

REASON, AT, FRAMES = "SB301", "x * 2", 1


def arguments():
    return (np.array([1 + 2j, 3j]), np.ones(2))


def f(x, w):
    v = w + 1
    y = x * 2
    return y, v
