import numpy as np

REASON, AT, FRAMES = "SB302", "x * 2", 1


def arguments():
    return (np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]).sum(keepdims=True).view(np.ma.MaskedArray), np.ones(3))


def f(x, w):
    v = w + 1
    y = x * 2
    return y.sum(), v


# Fix: pass the plain array; here no element is masked any more.


def fixed(x, w):
    return (x * 2).sum(), w + 1


def caller(fixed, x, w):
    return fixed(np.asarray(x), w)
