import numpy as np


def f(row):
    return row * 2 + 1


def arguments():
    return (np.linspace(0, 1, 60_000).reshape(-1, 3),)


def use(f, rows):
    return np.stack([f(row) for row in rows])


# Fix: Call once with all rows.


def fixed(rows):
    return rows * 2 + 1


def fixed_use(fixed, rows):
    return fixed(rows)
