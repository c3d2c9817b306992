import numpy as np

REASON, AT, FRAMES = "SB203", "print(", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    print("half way", y.shape)
    return y + 1
