import numpy as np

REASON, AT, FRAMES = "SB407", "with np.errstate", 2


def arguments():
    return (np.ones(3),)


def f(x):
    with np.errstate(all="ignore"):
        return np.log(x) * 2


# Fix: enter the block outside of the compiled function.


def fixed(x):
    return np.log(x) * 2


def caller(fixed, x):
    with np.errstate(all="ignore"):
        return fixed(x)
