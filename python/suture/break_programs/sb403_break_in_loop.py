import numpy as np

REASON, AT, FRAMES = "SB403", "print(", 4


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    for i in range(4):
        y = y + x * i
        print("step", i)
    return y - 1


# Fix: move the statement out of the loop.


def fixed(x):
    y = x * 2
    for i in range(4):
        y = y + x * i
    return y - 1


def caller(fixed, x):
    for i in range(4):
        print("step", i)
    return fixed(x)
