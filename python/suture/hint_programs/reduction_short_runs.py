import numpy as np


def f(points):
    return (points * points).sum(axis=1)


def arguments():
    return (np.linspace(0, 1, 90_000).reshape(-1, 3),)


# Fix: Store the data the other way round, with the long axis last.


def fixed(coordinates):
    return (coordinates * coordinates).sum(axis=0)


def fixed_arguments():
    (points,) = arguments()
    return (np.ascontiguousarray(points.T),)
