import numpy as np


def f(x):
    return np.sqrt(x.T.reshape(-1))


def arguments():
    return (np.linspace(0, 1, 60_000).reshape(200, 300),)


# Fix: Compute in the shape the array has, and reshape the result: the kernel stores it in the new order.


def fixed(x):
    return np.sqrt(x.T).reshape(-1)
