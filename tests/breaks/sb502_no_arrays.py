REASON, AT, FRAMES = "SB502", "", 0


def arguments():
    return (3, 4)


def f(a, b):
    return a * b + 1
