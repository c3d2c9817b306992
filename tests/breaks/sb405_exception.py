import numpy as np

REASON, AT, FRAMES, RAISES = "SB405", "raise ValueError", 2, ValueError


def arguments():
    return (np.ones(3),)


def f(x):
    y = x + 1
    if y.shape[0] == 3:
        raise ValueError("three is refused")
    return y
