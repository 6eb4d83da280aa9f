"""SALAMI with every restart alive: against a compiled rank-one loop, and against the literal algorithm.

Run:  python salami.py [--large]. All sides have one BLAS thread.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

import numba
import numpy as np
from common import best_of, report
from replay import stream

from oskaar import OSKAAR, SALAMI, kernels, losses, replay
from oskaar.threads import one_thread

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import naive

LAM, CLASSES = 0.3, 7
KERNEL = kernels.Gaussian(3.0) + 1.0


@numba.njit(cache=False)
def rotate(K, Phi, lam, out):
    """Rank-one rotations of V, V^T V = (K + lam I)^-1, one row at a time; the mean of the experts into out."""
    T, p = Phi.shape
    V, C = np.zeros((T, T)), np.zeros((T, p))
    w, r, rC = np.zeros(T), np.zeros(T), np.zeros(p)
    G = np.zeros((T, p))
    for t in range(T):
        k, c = K[t], K[t, t] + lam
        r[:t] = 0.0
        for j in range(t):
            row = V[j]
            total = 0.0
            for i in range(j, t):
                total += row[i] * k[i]
            w[j] = total
            for i in range(j, t):
                r[i] += total * row[i]
        left = c
        rC[:] = 0.0
        rw = 0.0
        for j in range(t - 1, -1, -1):  # every expert, a suffix sum
            left -= w[j] * w[j]
            rw += w[j] * w[j]
            for i in range(p):
                rC[i] += w[j] * C[j, i]
                G[j, i] = lam / left * rC[i]
        for j in range(t):
            for i in range(p):
                out[t, i] += G[j, i] / (t + 1)
        scale = 1.0 / np.sqrt(left)
        for i in range(t):
            r[i] *= scale
        for i in range(p):
            rC[i] *= scale
        rw *= scale
        for j in range(t):  # rotate r into V, carrying C and w along
            row = V[j]
            h = np.sqrt(row[j] * row[j] + r[j] * r[j])
            co, si = row[j] / h, r[j] / h
            for i in range(j, t):
                a, b = row[i], r[i]
                row[i] = co * a + si * b
                r[i] = co * b - si * a
            for i in range(p):
                a, b = C[j, i], rC[i]
                C[j, i] = co * a + si * b
                rC[i] = co * b - si * a
            a = w[j]
            w[j] = co * a + si * rw
            rw = co * rw - si * a
        for j in range(t):
            V[j, t] = -w[j] / c
            for i in range(p):
                C[j, i] -= w[j] / c * Phi[t, i]
        V[t, t] = 1 / np.sqrt(c)
        for i in range(p):
            C[t, i] = Phi[t, i] / np.sqrt(c)


def salami(X, ys, lam=LAM, **settings):
    return replay(SALAMI(losses.ZeroOne(CLASSES), KERNEL, lam, **settings), X, ys, keep_estimates=False)


def against_loop(T=3000):
    X, ys = stream(T, p=CLASSES)
    Phi = losses.ZeroOne(CLASSES).embed_many(ys)
    rotate(np.eye(5), Phi[:5], LAM, np.zeros((5, CLASSES)))  # compile

    def loop():
        rotate(KERNEL(X, X), Phi, LAM, np.zeros((T, CLASSES)))

    ours, theirs = best_of(lambda: salami(X, ys), loop, repeats=2)
    print(
        f"     T = {T}, p = {CLASSES}: SALAMI replayed whole {ours:.2f} s, experts alone by rotations {theirs:.2f} s"
    )
    report("replay over a compiled rank-one loop", ours / theirs, 0.5)


def against_literal(T=300):
    X, ys = stream(T, p=CLASSES)
    loss = losses.ZeroOne(CLASSES)
    K, Phi = KERNEL(X, X), loss.embed_many(ys)
    start = time.perf_counter()
    literal, _, _ = naive.salami([K], Phi, list(range(1, T + 1)), [LAM], 0.5, project=True)
    slow = time.perf_counter() - start
    (fast,) = best_of(lambda: salami(X, ys), repeats=3)
    ours = replay(SALAMI(loss, KERNEL, LAM, eta=0.5), X, ys).estimates
    print(
        f"     T = {T}: {fast:.3f} s, literal Algorithm 2 {slow:.1f} s, difference {np.abs(ours - literal).max():.1e}"
    )
    report("literal Algorithm 2 over SALAMI at T = 300", slow / fast, 200, at_least=True)


def growth():
    times = {T: best_of(lambda T=T: salami(*stream(T, p=CLASSES)), repeats=2)[0] for T in (1000, 2000, 4000)}
    for T in (2000, 4000):
        exponent = np.log2(times[T] / times[T // 2]) - 1
        report(f"growth exponent of a round from T = {T // 2} to {T}", exponent, 2.0)
    X, ys = stream(2000, p=CLASSES)
    one, five = best_of(lambda: salami(X, ys), lambda: salami(X, ys, lam=(0.03, 0.1, 0.3, 1.0, 3.0)), repeats=2)
    report("a grid of 5 lams over one lam", five / one, 5.5)


def online(t=2000, more=96):
    X, ys = stream(t + more, p=CLASSES)
    learners = [make(losses.ZeroOne(CLASSES), KERNEL, LAM) for make in (SALAMI, OSKAAR)]
    times = np.zeros((2, more))
    for learner, seconds in zip(learners, times, strict=True):
        learner.partial_fit(X[:t], ys[:t])
        for i, (x, y) in enumerate(zip(X[t:], ys[t:], strict=True)):
            start = time.perf_counter()
            learner.predict_one(x)
            learner.learn_one(x, y)
            seconds[i] = time.perf_counter() - start
    mean, worst = 1e3 * times.mean(axis=1), 1e3 * times.max(axis=1)
    print(
        f"     one round online at t = {t}: SALAMI {mean[0]:.1f} ms (worst {worst[0]:.0f}), OSKAAR {mean[1]:.1f} ms"
    )


def geometric(T=2000):
    """Geometric restarts beside all, both without a budget, in time of the process: replayed, and one at a time."""
    X, ys = stream(T + 96, p=CLASSES)
    seconds = np.zeros((2, 2))
    for i, restarts in enumerate(("geometric", "all")):
        learner = SALAMI(losses.ZeroOne(CLASSES), KERNEL, restarts=restarts)
        start = time.process_time()
        learner.partial_fit(X[:T], ys[:T])
        middle = time.process_time()
        for x, y in zip(X[T:], ys[T:], strict=True):
            learner.predict_one(x)
            learner.learn_one(x, y)
        seconds[i] = middle - start, time.process_time() - middle
    for how, ratio in zip(("replay", "one at a time"), seconds[0] / seconds[1], strict=True):
        report(f"{how} at T = {T}, geometric restarts over all", ratio, 1)


def large(T=10000):
    X, ys = stream(T, p=CLASSES)
    learner = SALAMI(losses.ZeroOne(CLASSES), KERNEL, LAM)
    start = time.perf_counter()
    replay(learner, X, ys, keep_estimates=False)
    print(f"     T = {T}: {time.perf_counter() - start:.0f} s")
    report(f"peak memory in GB at T = {T}", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2.5)
    solver = learner._experts.solvers[0]
    solver.factor.append(*solver.products.close())
    solver.factor.finish()
    z = np.random.default_rng(1).normal(size=(T, 3))
    M = KERNEL(X, X)
    M.flat[:: T + 1] += LAM
    error = _relative(_inverse_times(solver, M @ z), z)
    half = T // 2  # a restart in the middle has its own factor in V
    late = _inverse_times(solver, np.vstack([np.zeros((half, 3)), z[half:]]), half)[half:]
    error = max(error, _relative(late, np.linalg.solve(M[half:, half:], z[half:])))
    print(f"     after T = {T} rounds the factor is within {error:.1e} of a fresh solve")
    report("its relative error, in units of 1e-6", error / 1e-6, 1.0)


def _relative(mine, fresh):
    return np.linalg.norm(mine - fresh) / np.linalg.norm(fresh)


def _inverse_times(solver, Z, first=0):
    """V^T diag(q) V Z, by panels; with `first`, for the suffix that starts there."""
    W = solver.factor.times(Z).T * solver.products.q[: solver.rows, None]
    W[:first] = 0
    return np.vstack([P.T @ W[:hi] for P, _, hi in solver.factor._columns(0, solver.rows)])


@one_thread
def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--large", action="store_true", help="also T = 10000: minutes")
    chosen = arguments.parse_args()
    against_literal()
    against_loop()
    growth()
    online()
    geometric()
    if chosen.large:
        large()


if __name__ == "__main__":
    main()
