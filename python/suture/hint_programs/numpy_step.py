import numpy as np

SETTINGS = {"dynamic": True}


def f(x):
    return x[::2, ::2].sum()


def arguments():
    return (np.ones((600, 800)),)


# Fix: Reduce a contiguous array; the copy becomes part of the kernel.


def fixed(x):
    return np.ascontiguousarray(x[::2, ::2]).sum()
