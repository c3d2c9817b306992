"""Lloyd's k-means on scikit-learn's bundled handwritten digits (1797 images of 8 x 8 pixels).

python examples/kmeans_digits.py [CLUSTERS]
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

import suture


def assign(points, centres):
    """Index of the nearest centre per point, and the squared distance to it."""
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return distances.argmin(axis=1), distances.min(axis=1)


def move_centres(points, labels, centres):
    """Mean of the points of each cluster; a cluster without points stays where it is."""
    member = labels[:, None] == np.arange(centres.shape[0])
    counts = member.sum(axis=0)
    sums = member.T.astype(points.dtype) @ points
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)


@suture.compile
def kmeans(points, centres, tolerance=1e-6, max_iterations=100):
    """Centres, labels, inertia and the number of iterations."""
    for iteration in range(max_iterations):
        labels, squared = assign(points, centres)
        moved = move_centres(points, labels, centres)
        shift = np.sqrt(((moved - centres) ** 2).sum(axis=1)).max()
        centres = moved
        if shift < tolerance:
            break
    return centres, labels, squared.sum(), iteration + 1


def main():
    clusters = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    digits = load_digits()
    points = digits.data
    start = points[np.random.default_rng(3).choice(len(points), clusters, replace=False)]
    centres, labels, inertia, iterations = kmeans(points, start)
    print(f"{len(points)} points, {clusters} clusters, {iterations} iterations, inertia {inertia:.3f}")
    majority = sum(np.bincount(digits.target[labels == k]).max() for k in range(clusters) if (labels == k).any())
    print(f"points that share the majority digit of their cluster: {100 * majority / len(points):.1f} %")


if __name__ == "__main__":
    main()
