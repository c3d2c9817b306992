import numpy as np

import suture

REASON, AT, FRAMES = "SB204", "secret(y)", 2


@suture.disable
def secret(y):
    return y[::-1].copy()


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    z = secret(y)
    return z + 1


# Fix: without `suture.disable` the function is inlined.


def open_secret(y):
    return y[::-1].copy()


def fixed(x):
    return open_secret(x * 2) + 1
