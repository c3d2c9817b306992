import numpy as np

REASON, AT, FRAMES = "SB207", "f(x * 0.5", 4


def arguments():
    return (np.array([3.0, 1.0, 2.0]), 3)


def f(x, n):
    if n == 0:
        return x + 1
    y = f(x * 0.5, n - 1)
    return y * 2


# Fix: a loop instead of the recursion.


def fixed(x, n):
    for _ in range(n):
        x = x * 0.5
    y = x + 1
    for _ in range(n):
        y = y * 2
    return y
