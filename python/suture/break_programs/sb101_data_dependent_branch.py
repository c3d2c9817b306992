import numpy as np

REASON, AT, FRAMES = "SB101", "if y.sum() > 0", 2


def arguments():
    return (np.linspace(0.0, 1.0, 7), 3.0)


def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


# Fix: choose per element with `np.where`; nothing is left to decide while the graph runs.


def fixed(x, n):
    y = np.sin(x) + 1
    y = np.where(y.sum() > 0, y * 2, y)
    return np.maximum(y, 0) * n
