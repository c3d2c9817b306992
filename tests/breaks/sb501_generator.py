import numpy as np

REASON, AT, FRAMES = "SB501", "", 0


def arguments():
    return (np.ones(3),)


def rows(x):
    yield x + 1
    yield x + 2


f = rows
