import numpy as np

REASON, AT, FRAMES = "SB404", "except KeyError", 1


def arguments():
    return (np.ones(3), {})


def f(x, names):
    y = x * 2
    try:
        print(names["missing"])
    except KeyError:
        y = y + 1
    return y * 3


# Fix: test for the common case, or leave the handler before the numeric part.


def fixed(x, names):
    y = x * 2
    if "missing" not in names:
        y = y + 1
    return y * 3
