import numpy as np


def f(a, b):
    return a @ b


def arguments():
    return np.ones((200, 200)), np.ones((200, 200), "float32")


# Fix: Convert once, outside of the compiled function.


def fixed(a, b):
    return a @ b


def fixed_arguments():
    a, b = arguments()
    return a, b.astype(a.dtype)
