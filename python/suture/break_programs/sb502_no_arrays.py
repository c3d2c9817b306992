import numpy as np

REASON, AT, FRAMES = "SB502", "", 0


def arguments():
    return (3, 4)


def f(a, b):
    return a * b + 1


# Fix: nothing; with arrays there is work to compile.


def fixed(a, b):
    return a * b + 1


def caller(fixed, a, b):
    return fixed(np.array([a]), b)[0]
