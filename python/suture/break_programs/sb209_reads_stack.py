import warnings

import numpy as np

REASON, AT, FRAMES = "SB209", "warnings.warn", 2


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    if x.ndim == 1:
        warnings.warn("one axis only", stacklevel=2)
    return y + 1


# Fix: warn before the compiled function, where its arguments are checked.


def fixed(x):
    return x * 2 + 1


def caller(fixed, x):
    if x.ndim == 1:
        warnings.warn("one axis only", stacklevel=2)
    return fixed(x)
