import numpy as np

REASON, AT, FRAMES = "SB203", "print(", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    print("half way", y.shape)
    return y + 1


# Fix: print outside of the compiled function.


def fixed(x):
    return x * 2 + 1


def caller(fixed, x):
    print("half way", x.shape)
    return fixed(x)
