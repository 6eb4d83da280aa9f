"""What saving, loading and the guards cost, beside pickle and beside a round, in the same run."""

import pickle
import tempfile
import time
from pathlib import Path

import numpy as np

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, losses
from oskaar.guards import uninterrupted


def seconds(action, repeat=3):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def guards():
    def bare():
        for _ in range(10_000):
            with uninterrupted():
                pass

    once = seconds(bare) / 10_000
    X = np.random.default_rng(0).normal(size=(300, 5))
    for name, make in {
        "OSKAAR": lambda: OSKAAR(losses.ZeroOne(3)),
        "OSKAAR, budget 20": lambda: OSKAAR(losses.ZeroOne(3), budget=20),
        "Ensemble": lambda: Ensemble(losses.ZeroOne(3)),
    }.items():

        def learn(make=make):
            learner = make()
            for i, x in enumerate(X):
                learner.learn_one(x, i % 3)

        a_round = seconds(learn) / len(X)
        print(
            f"{name:20s} learn_one {1e6 * a_round:6.0f} us, ctrl-C guard {1e6 * once:.1f} us = {once / a_round:.1%}"
        )


def files(folder):
    X, ys = np.random.default_rng(0).normal(size=(2000, 8)), [i % 3 for i in range(2000)]
    for name, learner in {
        "OSKAAR, 2000 rows": OSKAAR(losses.ZeroOne(3)),
        "SALAMI, 1000 rows": SALAMI(losses.ZeroOne(3), lam=0.5),
        "OSKAAR, budget 200": OSKAAR(losses.ZeroOne(3), budget=200),
    }.items():
        n = 1000 if "1000" in name else 2000
        measured(name, learner.partial_fit(X[:n], ys[:n]), Path(folder) / "learner", Path(folder) / "pickle")


def measured(name, learner, path, other):
    save, load = seconds(lambda: learner.save(path)), seconds(lambda: oskaar.load(path))
    dump = seconds(lambda: other.write_bytes(pickle.dumps(learner)))
    read = seconds(lambda: pickle.loads(other.read_bytes()))
    size = path.stat().st_size
    print(
        f"{name:20s} {size / 2**20:6.1f} MiB ({size / other.stat().st_size:.2f} of pickle's), "
        f"save {1e3 * save:5.0f} ms ({save / dump:.1f}x), load {1e3 * load:5.0f} ms ({load / read:.1f}x), "
        f"memory after / before {oskaar.load(path).cost().bytes / learner.cost().bytes:.3f}"
    )


if __name__ == "__main__":
    guards()
    with tempfile.TemporaryDirectory() as folder:
        files(folder)
