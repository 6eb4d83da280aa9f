"""Timing for benchmarks: the best of a few interleaved runs, printed as ratios in one run."""

import argparse
import time
from pathlib import Path


def arguments_with_folder(description):
    """A parser with --folder, where the real streams are; they do not ship with the project."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--folder", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    return arguments


def best_of(*functions, repeats=5):
    """The least time of each function, run in turn so that a busy machine hits all alike."""
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, seen in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            seen.append(time.perf_counter() - start)
    return [min(seen) for seen in times]


def report(name, ratio, goal, at_least=False):
    """One line: a ratio, its goal, and whether it is met."""
    met = ratio >= goal if at_least else ratio <= goal
    sign = ">=" if at_least else "<="
    print(f"{'ok  ' if met else 'MISS'} {name}: {ratio:.3f} (goal {sign} {goal:g})", flush=True)
    return met
