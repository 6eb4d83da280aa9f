"""What the threads of BLAS cost: with no variable set, each line should take as long as with OPENBLAS_NUM_THREADS=1.

Two processes, one with the variable and one without, do each kind of work in turn, again and again. The ratios are
medians over the turns: of the time of all threads together (CPU), which other programs do not change much, and of the
time on the wall.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from common import report

from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, from_bytes, kernels, losses, replay

TURNS = 9
VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def stream(T):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(T, 10))
    return X, (np.abs(X[:, 0]) * 2).astype(int).clip(0, 4).tolist()


def loop(learner, T):
    for x, y in zip(*stream(T), strict=True):
        learner.predict_one(x)
        learner.learn_one(x, y)


def structures(loss, draw, T):
    rng = np.random.default_rng(0)
    replay(OSKAAR(loss, kernels.Gaussian(3.0)), rng.normal(size=(T, 10)), [draw(rng) for _ in range(T)])


def scores(rows, columns):
    return np.random.default_rng(0).normal(size=(rows, columns))


LOSS = losses.ZeroOne(5)
WORK = {
    "OSKAAR, 400 rounds one by one": lambda: loop(OSKAAR(LOSS), 400),
    "OSKAAR, replay of 2000 rounds": lambda: replay(OSKAAR(LOSS), *stream(2000)),
    "OSKAAR with a budget of 128, 400 rounds one by one": lambda: loop(OSKAAR(LOSS, budget=128), 400),
    "Ensemble, 60 rounds one by one": lambda: loop(Ensemble(LOSS), 60),
    "Ensemble, replay of 200 rounds": lambda: replay(Ensemble(LOSS), *stream(200)),
    "SALAMI with a budget of 128, replay of 500 rounds": lambda: replay(
        SALAMI(LOSS, kernels.Gaussian(3.0) + 1.0, budget=128), *stream(500)
    ),
    "BatchILE, fit and predict 800": lambda: BatchILE(LOSS).fit(*stream(800)).predict(stream(800)[0]),
    "rankings of 6, replay of 300 rounds": lambda: structures(
        losses.Kendall(6), lambda rng: tuple(rng.permutation(6).tolist()), 300
    ),
    "sequences of 8, replay of 300 rounds": lambda: structures(
        losses.SequenceHamming(8, 4), lambda rng: tuple(rng.integers(4, size=8).tolist()), 300
    ),
    "decoding F1(100), 200 rows": lambda: losses.F1(100).decode_many(scores(200, 100**2 + 1)),
    "decoding Jaccard(10), 500 rows": lambda: losses.Jaccard(10).decode_many(scores(500, 2**10)),
    "a file of OSKAAR after 500 rounds, there and back": lambda: from_bytes(
        OSKAAR(LOSS).partial_fit(*stream(500)).to_bytes()
    ),
}


class Worker:
    """A process that does what it is told, with one thread or with NumPy's default."""

    def __init__(self, one):
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment |= dict.fromkeys(VARIABLES, "1") if one else {}
        command = [sys.executable, __file__, "--inside"]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, name):
        """Of all threads, and on the wall."""
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{name}: the process ended with {self.process.wait()}; its error is above.")
        return [float(number) for number in line.split()]


def inside():
    for name in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        WORK[name.rstrip("\n")]()
        print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


def ratios(name, workers, turns):
    """Of the default to one thread: the median, of CPU time and of time on the wall."""
    for worker in workers:
        worker.seconds(name)  # imports and first calls
    times = []
    for turn in range(turns):
        pair = {worker: worker.seconds(name) for worker in workers[:: 1 - 2 * (turn % 2)]}
        times.append([pair[worker] for worker in workers])
    one, default = np.moveaxis(np.array(times), 1, 0)
    return np.median(default / one, axis=0)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--inside", action="store_true", help="used by the benchmark itself")
    arguments.add_argument("--turns", type=int, default=TURNS)
    options = arguments.parse_args()
    if options.inside:
        inside()
        return
    workers = [Worker(True), Worker(False)]
    for name in WORK:
        cpu, wall = ratios(name, workers, options.turns)
        report(f"{name}: default threads / one, CPU ({wall:.2f} on the wall)", float(cpu), 1.1)
    for worker in workers:
        worker.process.stdin.close()


if __name__ == "__main__":
    main()
