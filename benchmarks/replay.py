"""A replay of T honest rounds against the limit: the kernel matrix and one scipy Cholesky of that size."""

import argparse
import resource
import time

import numpy as np
from common import best_of, report
from scipy.linalg import cholesky

from oskaar import OSKAAR, kernels, losses, replay


def stream(T, d=10, p=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    return X, np.argmax(np.sin(X @ rng.normal(size=(d, p))), axis=1).tolist()


def limit(X, lam=1.0):
    K = kernels.Gaussian(2.0)(X, X)
    K[np.diag_indices_from(K)] += lam
    cholesky(K, lower=True, overwrite_a=True, check_finite=False)


def run(X, ys, **options):
    return replay(OSKAAR(losses.ZeroOne(10), kernels.Gaussian(2.0), lam=1.0, **options), X, ys)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--large", action="store_true", help="also T = 20000, which takes minutes and 2.5 GB")
    large = arguments.parse_args().large
    times = {}
    for T in (1000, 2000, 4000, 8000):
        X, ys = stream(T)
        ours, bound, shifted = best_of(
            lambda: run(X, ys),  # noqa: B023
            lambda: limit(X),  # noqa: B023
            lambda: run(X, ys, shifted=True),  # noqa: B023
            repeats=5 if T <= 4000 else 2,
        )
        times[T] = ours
        print(f"     T = {T}: replay {ours:.2f} s, kernel + Cholesky {bound:.2f} s, shifted replay {shifted:.2f} s")
        if T == 4000:
            report("replay over kernel + Cholesky, T = 4000, d = 10, p = 10", ours / bound, 1.3)
    growth = np.log2(times[8000] / times[4000])
    report("growth exponent of the whole replay from T = 4000 to 8000", growth, 3.2)
    if large:
        X, ys = stream(20000)
        start = time.perf_counter()
        result = run(X, ys)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"     T = 20000: {seconds:.0f} s, mean loss {result.mean_loss:.3f}")
        report("peak memory in GB at T = 20000", peak, 8.0)


if __name__ == "__main__":
    main()
