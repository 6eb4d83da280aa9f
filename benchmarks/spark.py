"""Spark on this machine: keyed streams against a plain loop, one model over many rows against scikit-learn's.

    python benchmarks/spark.py [--part keyed model] [--rows 10000000] [--keys 200] [--cores 2]

All ratios are within one run. Times are wall clock, without what Spark needs to start its workers: each job runs once
before it is timed, and keyed jobs, as the loops beside them, are the fastest of three runs. Beside them stand
processor times, Java's and those of all workers included, which other work on the machine changes less. The state
of a key and the bytes reduced do not depend on the machine.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from oskaar import OSKAAR, features, kernels, losses
from oskaar import spark as ospark
from oskaar.spark.columns import Columns
from oskaar.spark.keys import KeyedStream

print = partial(print, flush=True)
NAMES = [f"x{j}" for j in range(10)]
FOURIER = features.RandomFourier(kernels.Gaussian(3.0) + 1.0, 256, width=len(NAMES))


TICKS = os.sysconf("SC_CLK_TCK")


def processor():
    """Seconds of processor time of this process and of all that it has started."""
    children, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        fields = text.rsplit(")", 1)[1].split()
        pid = int(text.split()[0])
        children.setdefault(int(fields[1]), []).append(pid)
        used[pid] = sum(map(int, fields[11:15]))  # its own, and that of children that have ended
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += children.get(pid, [])
    return total / TICKS


class Timed:
    """What some work returned, and the seconds that it took on the clock and of processors."""

    def __init__(self, work):
        start, used = time.perf_counter(), processor()
        self.found = work()
        self.wall, self.cpu = time.perf_counter() - start, processor() - used

    def __str__(self):
        return f"{self.wall:.1f} s, {self.cpu:.1f} s of processors"


def best(work, times):
    """The fastest of some runs: the one that other work and Java's compiler disturbed least."""
    return min((Timed(work) for _ in range(times)), key=lambda took: took.wall)


def rows_of(seed, n):
    """Ten numbers, and a class that is no linear function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(NAMES)))
    noise = rng.normal(size=n)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * noise > 0).astype(int)


def made(session, rows, partitions):
    """A frame whose rows are made where they are used."""
    each = rows // partitions

    def make(frames):
        for frame in frames:
            for seed in frame["id"]:
                for part in range(-(-each // 50_000)):
                    X, y = rows_of([int(seed), part], min(50_000, each - 50_000 * part))
                    yield pd.DataFrame(X, columns=NAMES).assign(y=y)

    schema = ", ".join(f"{name} double" for name in NAMES) + ", y bigint"
    return session.range(0, partitions, 1, partitions).mapInPandas(make, schema)


def model(session, rows, cores):
    learner = OSKAAR(losses.ZeroOne(2), features=FOURIER, lam=1.0)
    ospark.fit(made(session, 2000, cores), learner, x=NAMES, y="y")
    took = Timed(lambda: ospark.fit(made(session, rows, 2 * cores), learner, x=NAMES, y="y"))
    fitted, (X, y) = took.found, rows_of([10**6, 0], 20_000)
    print(f"fit of {fitted.rounds} rows, D = 256, local[{cores}]: {took}")
    print(f"    {1e6 * took.wall / rows:.2f} us a row, {1e6 * took.cpu / rows:.2f} of processors")
    size = len(fitted.to_bytes())
    print(f"    loss {-fitted.score(X, y):.4f}; bytes reduced: {size} for each of {2 * cores} partitions")
    return took


def peers(rows, ridge_rows, took):
    """scikit-learn on the same features, in one process, rows made and mapped in the time that is taken."""
    from sklearn.linear_model import RidgeClassifier, SGDClassifier

    X_test, y_test = rows_of([10**6, 0], 20_000)
    Z_test = FOURIER(X_test)
    sgd = SGDClassifier(loss="log_loss", average=True)

    def stream(rows, work):
        for part in range(-(-rows // 50_000)):
            X, y = rows_of([0, part], min(50_000, rows - 50_000 * part))
            work(X, y)

    alone = OSKAAR(losses.ZeroOne(2), features=FOURIER, lam=1.0)
    seconds = Timed(lambda: stream(rows, lambda X, y: alone.learn_batch(X, y.tolist())))
    print(f"learn_batch, one process: {seconds}, ratio {_ratio(seconds, took)}")
    print(f"    loss {-alone.score(X_test, y_test):.4f}")
    seconds = Timed(lambda: stream(rows, lambda X, y: sgd.partial_fit(FOURIER(X), y, classes=[0, 1])))
    wrong = 1 - sgd.score(Z_test, y_test)
    print(f"SGDClassifier, one pass: {seconds}, ratio {_ratio(seconds, took)}\n    loss {wrong:.4f}")
    Z, labels = np.empty((ridge_rows, Z_test.shape[1])), []

    def ridge():
        def hold(X, y):
            Z[len(labels) : len(labels) + len(y)] = FOURIER(X)
            labels.extend(y)

        stream(ridge_rows, hold)
        return RidgeClassifier(alpha=1.0, solver="cholesky", copy_X=False).fit(Z, labels)

    seconds = Timed(ridge)
    wrong = 1 - seconds.found.score(Z_test, y_test)
    print(f"RidgeClassifier, {ridge_rows} rows, {Z.nbytes / 2**30:.1f} GiB held in memory: {seconds}")
    share = rows / ridge_rows
    print(
        f"    ratio a row {share * seconds.wall / took.wall:.2f}, {share * seconds.cpu / took.cpu:.2f} of processors"
    )
    print(f"    loss {wrong:.4f}")


def _ratio(one, other):
    return f"{one.wall / other.wall:.2f} of Spark's time, {one.cpu / other.cpu:.2f} of its processors'"


def keyed(session, keys, rows, cores, times):
    """One learner for each key: Spark against a plain loop of predict_one and learn_one."""
    X, y = rows_of([7, 7], keys * rows)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, key=np.arange(len(y)) % keys, at=np.arange(len(y)))
    learner = OSKAAR(losses.ZeroOne(2), features=features.LinearMap(len(NAMES)), lam=1.0)
    df = session.createDataFrame(frame).repartition(2 * cores, "key").cache()
    df.count()

    def spark():
        return ospark.keyed(df, learner, key="key", x=NAMES, y="y", time="at").agg({"loss": "sum"}).collect()[0][0]

    def loop():
        total, learners = 0.0, {}
        for key, x, label in zip(frame.key, X, y.tolist(), strict=True):
            if key not in learners:
                learners[key] = learner.like_new()
            one = learners[key]
            total += one.predict_one(x) != label
            one.learn_one(x, label)
        return total

    def steps():
        stream = KeyedStream(learner, Columns(tuple(NAMES), "y"), ("key",), "at", type="bigint")
        return [stream.step(stream.fresh(), part, (key,))[1] for key, part in frame.groupby("key")]

    spark()
    took, plain, chunks = best(spark, times), best(loop, times), best(steps, times)
    assert took.found == plain.found, (took.found, plain.found)
    n = keys * rows
    print(
        f"keyed, {keys} keys of {rows} rows, local[{cores}]: {n / took.wall:.0f} rows a second; "
        f"a plain loop {n / plain.wall:.0f}; ratio {plain.wall / took.wall:.2f}, "
        f"{plain.cpu / took.cpu:.2f} of processor time"
    )
    print(f"    {took}; a plain loop {plain}; the same steps without Spark, one process: {chunks}")
    print(
        f"    overhead of Spark: {1e6 * (took.wall - chunks.wall / cores) / n:.1f} us a row, "
        f"{1e6 * (took.cpu - chunks.cpu) / n:.1f} of processors"
    )
    return chunks.found, learner


def sizes(states, learner):
    stream = KeyedStream(learner, Columns(tuple(NAMES), "y"), ("key",), "at")
    size = int(np.mean([len(state.to_bytes(stream.settings)) for state in states[:50]]))
    print(f"state of a key, LinearMap of 10 columns: {size} bytes, {2**30 // size} keys in a GiB")
    for budget in (16, 64):
        one = OSKAAR(losses.ZeroOne(2), kernels.Gaussian(3.0) + 1.0, budget=budget)
        X, y = rows_of([9, 9], 400)
        size = len(one.partial_fit(X, y).to_bytes())
        print(f"    budget={budget}: {size} bytes, {2**30 // size} keys")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--keys", type=int, default=200)
    options.add_argument("--per-key", type=int, default=200)
    options.add_argument("--cores", type=int, default=2)
    options.add_argument("--ridge-rows", type=int, default=1_000_000, help="2 kB each are held in memory, twice")
    options.add_argument("--repeats", type=int, default=3, help="of keyed jobs, of which the fastest counts")
    options.add_argument("--part", nargs="*", choices=["keyed", "model"], default=["keyed", "model"])
    given = options.parse_args()
    session = ospark.session(cores=given.cores)
    session.sparkContext.setLogLevel("ERROR")
    if "keyed" in given.part:
        states, learner = keyed(session, given.keys, given.per_key, given.cores, given.repeats)
        keyed(session, 10 * given.keys, max(1, given.per_key // 2), given.cores, given.repeats)
        keyed(session, given.keys, 5 * given.per_key, given.cores, given.repeats)
        sizes(states, learner)
    if "model" not in given.part:
        return
    took = model(session, given.rows, given.cores)
    session.stop()
    session = ospark.session(cores=1)
    session.sparkContext.setLogLevel("ERROR")
    alone = model(session, given.rows, 1)
    print(
        f"from 1 to {given.cores} cores: {alone.wall / took.wall:.2f} times as fast, "
        f"with {took.cpu / alone.cpu:.2f} of the processor time"
    )
    session.stop()
    peers(given.rows, min(given.rows, given.ridge_rows), took)


if __name__ == "__main__":
    main()
