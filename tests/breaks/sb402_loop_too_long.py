import numpy as np

REASON, AT, FRAMES = "SB402", "for i in range(500)", 4


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    for i in range(500):
        y = y + x * i
    return y - 1
