import numpy as np

REASON, AT, FRAMES = "SB401", "class Result", 3


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2

    class Result:
        value = 3

    return y * Result.value


# Fix: make the class once, outside of the function.


class Result:
    value = 3


def fixed(x):
    return x * 2 * Result.value
