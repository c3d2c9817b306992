"""A module of a user's own whose functions are inlined into functions of another file."""

from __future__ import annotations

import numpy as np


def divide(x, y):
    scaled = x * 1.0
    return scaled / y


def outer(x, y):
    z = x + 0.0
    return divide(z, y) + np.log(y)


class Model:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return [row for row in (divide(part, self.weight) for part in (x, x + 1))][0]
