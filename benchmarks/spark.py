"""Spark on this machine: keyed streams against a plain loop, one model over many rows against scikit-learn's.

    python benchmarks/spark.py [--rows 10000000] [--keys 200] [--cores 2]

All ratios are within one run. Times are wall clock, without what Spark needs to start its workers: each job runs once
on a few rows before it is timed. The state of a key and the bytes that are reduced do not depend on the machine.
"""

import argparse
import time
from functools import partial

import numpy as np
import pandas as pd

from oskaar import OSKAAR, features, kernels, losses
from oskaar import spark as ospark
from oskaar.spark.columns import Columns
from oskaar.spark.keys import KeyedStream

print = partial(print, flush=True)
NAMES = [f"x{j}" for j in range(10)]
FOURIER = features.RandomFourier(kernels.Gaussian(3.0) + 1.0, 256, width=len(NAMES))


def timed(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


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
    took, fitted = timed(lambda: ospark.fit(made(session, rows, 2 * cores), learner, x=NAMES, y="y"))
    X, y = rows_of([10**6, 0], 20_000)
    loss = -fitted.score(X, y)
    print(f"fit of {fitted.rounds} rows, D = 256, local[{cores}]: {took:.1f} s, {1e6 * took / rows:.2f} us a row")
    print(f"    loss {loss:.4f}; bytes reduced: {len(fitted.to_bytes())} for each of {2 * cores} partitions")
    return took, loss


def peers(rows, took):
    """scikit-learn on the same features, in one process, rows made and mapped in the time that is taken."""
    from sklearn.linear_model import RidgeClassifier, SGDClassifier

    X_test, y_test = rows_of([10**6, 0], 20_000)
    Z_test = FOURIER(X_test)
    sgd = SGDClassifier(loss="log_loss", average=True)

    def stream():
        for part in range(rows // 50_000):
            X, y = rows_of([0, part], 50_000)
            sgd.partial_fit(FOURIER(X), y, classes=[0, 1])

    seconds, _ = timed(stream)
    wrong = 1 - sgd.score(Z_test, y_test)
    print(f"SGDClassifier: {seconds:.1f} s, ratio {seconds / took:.2f} of Spark's time; loss {wrong:.4f}")
    some = min(rows, 200_000)
    X, y = rows_of([0, 0], some)
    seconds, ridge = timed(lambda: RidgeClassifier(alpha=1.0, solver="cholesky").fit(FOURIER(X), y))
    wrong = 1 - ridge.score(Z_test, y_test)
    print(
        f"RidgeClassifier, {some} rows, held in memory: {seconds:.1f} s, {1e6 * seconds / some:.2f} us a row; "
        f"loss {wrong:.4f}"
    )


def keyed(session, keys, rows, cores):
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
        stream = KeyedStream(learner, Columns(tuple(NAMES), "y"), ("key",), "at")
        return [stream.step(stream.fresh(), part, (key,))[1] for key, part in frame.groupby("key")]

    spark()
    (took, total), (plain, expected), (chunks, states) = timed(spark), timed(loop), timed(steps)
    assert total == expected, (total, expected)
    n = keys * rows
    print(
        f"keyed, {keys} keys of {rows} rows, local[{cores}]: {n / took:.0f} rows a second; "
        f"a plain loop {n / plain:.0f}"
    )
    print(f"    ratio {plain / took:.2f}; the same steps without Spark, one process: {n / chunks:.0f} rows a second")
    print(f"    overhead of Spark: {1e6 * (took - chunks / cores) / n:.1f} us a row")
    return states, learner


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
    given = options.parse_args()
    session = ospark.session(cores=given.cores)
    session.sparkContext.setLogLevel("ERROR")
    states, learner = keyed(session, given.keys, given.per_key, given.cores)
    sizes(states, learner)
    took, _ = model(session, given.rows, given.cores)
    session.stop()
    session = ospark.session(cores=1)
    session.sparkContext.setLogLevel("ERROR")
    alone, _ = model(session, given.rows, 1)
    print(f"from 1 to {given.cores} cores: {alone / took:.2f} times as fast")
    session.stop()
    peers(given.rows, took)


if __name__ == "__main__":
    main()
