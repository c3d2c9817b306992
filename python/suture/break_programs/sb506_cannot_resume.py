import numpy as np

REASON, AT, FRAMES = "SB506", "", 0


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    rows = (row for row in y)
    print(end="")
    return next(rows) + 1


# Fix: no generator that is alive across the break: take the element directly.


def fixed(x):
    y = x * 2
    return y[0] + 1
