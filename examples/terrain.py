"""Slope, aspect, hillshade, smoothing and flow accumulation over a real elevation model.

The data is the Jacksboro fault elevation model that matplotlib ships (344 x 403 cells, metres).

    python examples/terrain.py [REPEATS]
"""

import sys

import numpy as np
from matplotlib.cbook import get_sample_data

import suture


def load_elevation():
    """Elevation in metres, and the cell sizes (dx, dy) in metres, taken at the middle of the map."""
    with get_sample_data("jacksboro_fault_dem.npz") as dem:
        z = dem["elevation"].astype(np.float64)
        degrees_x, degrees_y = float(dem["dx"]), float(dem["dy"])
        latitude = 0.5 * (float(dem["ymin"]) + float(dem["ymax"]))
    metres_per_degree = 111_200.0
    return z, metres_per_degree * degrees_x * np.cos(np.radians(latitude)), metres_per_degree * degrees_y


@suture.compile
def gradient(z, dx, dy):
    """Central differences inside, one-sided at the border; same shape as z."""
    east = np.empty_like(z)
    south = np.empty_like(z)
    east[:, 1:-1] = (z[:, 2:] - z[:, :-2]) / (2 * dx)
    east[:, 0] = (z[:, 1] - z[:, 0]) / dx
    east[:, -1] = (z[:, -1] - z[:, -2]) / dx
    south[1:-1, :] = (z[2:, :] - z[:-2, :]) / (2 * dy)
    south[0, :] = (z[1, :] - z[0, :]) / dy
    south[-1, :] = (z[-1, :] - z[-2, :]) / dy
    return east, south


@suture.compile
def slope_aspect(east, south):
    """Steepness and downhill direction, both in radians."""
    slope = np.arctan(np.hypot(east, south))
    aspect = np.arctan2(-south, east)
    return slope, aspect


@suture.compile
def hillshade(slope, aspect, azimuth=315.0, altitude=45.0):
    """Brightness in [0, 1] under a sun at the given angles (degrees)."""
    zenith = np.radians(90.0 - altitude)
    direction = np.radians(360.0 - azimuth + 90.0)
    shade = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(direction - aspect)
    return np.clip(shade, 0.0, 1.0)


@suture.compile
def smooth(z, passes):
    """`passes` rounds of a 3x3 mean over the inner cells."""
    z = z.copy()
    for _ in range(passes):
        total = (
            z[:-2, :-2]
            + z[:-2, 1:-1]
            + z[:-2, 2:]
            + z[1:-1, :-2]
            + z[1:-1, 1:-1]
            + z[1:-1, 2:]
            + z[2:, :-2]
            + z[2:, 1:-1]
            + z[2:, 2:]
        )
        z[1:-1, 1:-1] = total / 9.0
    return z


@suture.compile
def flow_step(z, water):
    """Every inner cell passes its water to its lowest neighbour of four, if that one is lower than itself."""
    centre = z[1:-1, 1:-1]
    north, south = z[:-2, 1:-1], z[2:, 1:-1]
    west, east = z[1:-1, :-2], z[1:-1, 2:]
    lowest = np.minimum(np.minimum(north, south), np.minimum(west, east))
    flows = lowest < centre
    amount = np.where(flows, water[1:-1, 1:-1], 0.0)
    to_north = flows & (north == lowest)
    to_south = flows & (south == lowest) & ~to_north
    to_west = flows & (west == lowest) & ~to_north & ~to_south
    to_east = flows & ~to_north & ~to_south & ~to_west
    moved = np.zeros_like(water)
    moved[:-2, 1:-1] += np.where(to_north, amount, 0.0)
    moved[2:, 1:-1] += np.where(to_south, amount, 0.0)
    moved[1:-1, :-2] += np.where(to_west, amount, 0.0)
    moved[1:-1, 2:] += np.where(to_east, amount, 0.0)
    return moved


@suture.compile
def accumulate_flow(z, steps):
    """Water that passed each cell when one unit rains on every cell and runs for `steps` steps."""
    water = np.ones_like(z)
    total = water.copy()
    for step in range(steps):
        water = flow_step(z, water)
        total += water
        if water.sum() < 1.0:
            print("all water has left the map after", step + 1, "steps")
            break
    return total


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    z, dx, dy = load_elevation()
    for _ in range(repeats):
        smoothed = smooth(z, 5)
        east, south = gradient(smoothed, dx, dy)
        slope, aspect = slope_aspect(east, south)
        shade = hillshade(slope, aspect)
        flow = accumulate_flow(smoothed, 30)
    print(f"cells           {z.shape[0]} x {z.shape[1]}, {dx:.1f} m x {dy:.1f} m")
    print(f"elevation       {z.min():.0f} to {z.max():.0f} m")
    print(f"steepest slope  {np.degrees(slope.max()):.2f} degrees, mean {np.degrees(slope.mean()):.2f}")
    print(f"mean shade      {shade.mean():.6f}")
    print(f"largest flow    {flow.max():.0f} cells")


if __name__ == "__main__":
    main()
