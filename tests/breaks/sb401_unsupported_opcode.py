import numpy as np

REASON, AT, FRAMES = "SB401", "case (3,)", 2


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    match x.shape:
        case (3,):
            return y * 3
    return y
