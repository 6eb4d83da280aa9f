"""What the threads of BLAS cost: with no variable set, each line should take as long as with OPENBLAS_NUM_THREADS=1.

The two run in processes of their own, in turn; the ratio is that of the least times. `--all` also times every other
benchmark whole, which takes an hour.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from common import report

from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, kernels, losses, replay

RUNS, REPEATS = 3, 2


def stream(T):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(T, 10))
    return X, (np.abs(X[:, 0]) * 2).astype(int).clip(0, 4).tolist()


def loop(learner, T):
    for x, y in zip(*stream(T), strict=True):
        learner.predict_one(x)
        learner.learn_one(x, y)


LOSS = losses.ZeroOne(5)
WORK = {
    "OSKAAR, 800 rounds one by one": lambda: loop(OSKAAR(LOSS), 800),
    "OSKAAR, replay of 2000 rounds": lambda: replay(OSKAAR(LOSS), *stream(2000)),
    "OSKAAR with a budget of 128, 1000 rounds one by one": lambda: loop(OSKAAR(LOSS, budget=128), 1000),
    "Ensemble, 150 rounds one by one": lambda: loop(Ensemble(LOSS), 150),
    "Ensemble, replay of 300 rounds": lambda: replay(Ensemble(LOSS), *stream(300)),
    "SALAMI with a budget of 128, replay of 1000 rounds": lambda: replay(
        SALAMI(LOSS, kernels.Gaussian(3.0) + 1.0, budget=128), *stream(1000)
    ),
    "BatchILE, fit and predict 800": lambda: BatchILE(LOSS).fit(*stream(800)).predict(stream(800)[0]),
    "decoding F1(100), 500 rows": lambda: losses.F1(100).decode_many(
        np.random.default_rng(0).normal(size=(500, 100**2 + 1))
    ),
    "decoding Jaccard(10), 2000 rows": lambda: losses.Jaccard(10).decode_many(
        np.random.default_rng(0).normal(size=(2000, 2**10))
    ),
}


def seconds(command, threads):
    """What the command prints, or the time that it takes, with one thread or with NumPy's default."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= dict.fromkeys(names, "1") if threads else {}
    start = time.perf_counter()
    found = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    taken = time.perf_counter() - start
    return [float(line) for line in found.stdout.split()] if command[0] == __file__ else [taken]


def compared(command, repeats):
    """The least times of both, over runs in turn."""
    runs = [[seconds(command, one) for one in (True, False)] for _ in range(repeats)]
    return np.min([one for one, _ in runs], axis=0), np.min([default for _, default in runs], axis=0)


def inside():
    """Print the least time of each kind of work."""
    for work in WORK.values():
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        print(min(times))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--inside", action="store_true", help="used by the benchmark itself")
    arguments.add_argument("--all", action="store_true", help="every other benchmark too, whole")
    options = arguments.parse_args()
    if options.inside:
        inside()
        return
    one, default = compared([__file__, "--inside"], RUNS)
    for name, ratio in zip(WORK, default / one, strict=True):
        report(f"{name}: default threads / one", float(ratio), 1.1)
    if options.all:
        folder = os.path.dirname(os.path.abspath(__file__))
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and name not in ("common.py", "threads.py"):
                (single,), (several,) = compared([os.path.join(folder, name)], 1)
                report(f"{name} ({single:.0f} s): default threads / one", several / single, 1.1)


if __name__ == "__main__":
    main()
