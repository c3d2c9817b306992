import numpy as np


def f(x):
    y = x * 2
    return y[1:] - y[:-1]


def arguments():
    return (np.linspace(0, 1, 100_000),)


# Fix: Slice the input instead of the result; multiplying twice is cheaper than going through memory.


def fixed(x):
    return x[1:] * 2 - x[:-1] * 2
