import numpy as np

REASON, AT, FRAMES = "SB307", "y.flags.writeable", 2


def arguments():
    return (np.ones(3), np.array([2, 0]))


def f(x, order):
    y = x * 2
    y.flags.writeable = False
    return y
