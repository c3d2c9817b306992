import numpy as np

import suture

REASON, AT, FRAMES = "SB205", "suture.graph_break", 2


def arguments():
    return (np.array([3.0, 1.0, 2.0]),)


def f(x):
    y = x * 2
    suture.graph_break("to look at y")
    return y + 1


# Fix: remove the call.


def fixed(x):
    return x * 2 + 1
