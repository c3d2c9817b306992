import numpy as np

REASON, AT, FRAMES = "SB104", "for item in items", 2


def arguments():
    return (np.ones(4), iter([1.0, 2.0, 3.0]))


def f(x, items):
    total = np.zeros(4)
    for item in items:
        total = total + x * item
    return total
