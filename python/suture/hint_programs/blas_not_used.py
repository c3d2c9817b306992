import numpy as np


def f(a, b):
    return a @ b


def arguments():
    a = np.arange(128 * 128).reshape(128, 128) % 100
    return a, a.T.copy()


# Fix: Multiply as float64, which is exact for numbers of this size.


def fixed(a, b):
    return a.astype(float) @ b.astype(float)
