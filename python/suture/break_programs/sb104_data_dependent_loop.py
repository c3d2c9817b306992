import numpy as np

REASON, AT, FRAMES = "SB104", "for item in items", 2


def arguments():
    return (np.ones(4), iter([1.0, 2.0, 3.0]))


def f(x, items):
    total = np.zeros(4)
    for item in items:
        total = total + x * item
    return total


# Fix: make an array of the items first; its length is a size.


def fixed(x, items):
    return (x * items[:, None]).sum(axis=0)


def caller(fixed, x, items):
    return fixed(x, np.array(list(items)))
