import numpy as np


def f(x):
    y = x + 1
    y[1:] = y[:-1]
    return y


def arguments():
    return (np.linspace(0, 1, 100_000),)


# Fix: Read from an array that is not written.


def fixed(x):
    y = np.empty_like(x)
    y[0] = x[0] + 1
    y[1:] = x[:-1] + 1
    return y
