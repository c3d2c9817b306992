from fractions import Fraction

import numpy as np

REASON, AT, FRAMES = "SB303", "y * third", 1


def arguments():
    return (np.ones(3), Fraction(1, 3))


def f(x, third):
    y = x * 2
    return y * third


# Fix: pass the number that the array needs.


def fixed(x, third):
    return x * 2 * third


def caller(fixed, x, third):
    return fixed(x, float(third))
