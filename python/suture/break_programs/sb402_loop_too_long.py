import numpy as np

REASON, AT, FRAMES = "SB402", "for i in range(500)", 4


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    for i in range(500):
        y = y + x * i
    return y - 1


# Fix: one expression over whole arrays instead of the loop.


def fixed(x):
    return x * 2 + x * np.arange(500).sum() - 1
