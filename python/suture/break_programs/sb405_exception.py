import numpy as np

REASON, AT, FRAMES, RAISES = "SB405", "raise ValueError", 1, ValueError


def arguments():
    return (np.ones(3),)


def f(x):
    y = x + 1
    if y.shape[0] == 3:
        raise ValueError("three is refused")
    return y


# Fix: nothing, when the exception is meant: inputs that the check accepts are compiled.

fixed = f


def caller(fixed, x):
    return fixed(np.append(x, 1.0))
