import numpy as np

REASON, AT, FRAMES = "SB102", "np.where(y)", 2


def arguments():
    return (np.array([0.0, 1.0, 0.0, 2.0]),)


def f(x):
    y = x * 2
    where = np.where(y)
    return y + 1, where[0]
