import numpy as np


def f(x):
    return x.prod()


def arguments():
    return (np.linspace(0.9999, 1.0001, 512 * 200),)


# Fix: Multiply columns side by side; the last bits of the result may differ.


def fixed(x):
    return x.reshape(-1, 512).prod(axis=0).prod()
