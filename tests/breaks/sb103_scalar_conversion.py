import numpy as np

REASON, AT, FRAMES = "SB103", "float(", 2


def arguments():
    return (np.linspace(0.0, 1.0, 5),)


def f(x):
    y = x + 1
    total = float(y.sum())
    return y * total
