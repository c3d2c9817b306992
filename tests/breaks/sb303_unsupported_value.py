from fractions import Fraction

import numpy as np

REASON, AT, FRAMES = "SB303", "y * third", 1


def arguments():
    return (np.ones(3), Fraction(1, 3))


def f(x, third):
    y = x * 2
    return y * third
