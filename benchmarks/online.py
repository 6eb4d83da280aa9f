"""One round at a time: predict_one + learn_one against refitting, and against updating an inverse."""

import time

import numpy as np
from common import report
from replay import stream

from oskaar import OSKAAR, kernels, losses

ROUNDS = 2000


class InverseUpdate:
    """Online kernel ridge that keeps (K + lam I)^-1 and grows it by the block inverse formula, in NumPy."""

    def __init__(self, kernel, lam, p):
        self.kernel, self.lam = kernel, lam
        self.X, self.Phi, self.inverse = np.zeros((ROUNDS, 10)), np.zeros((ROUNDS, p)), np.zeros((0, 0))

    def predict(self, x):
        t = len(self.inverse)
        self.column = self.kernel(self.X[:t], x[None, :])[:, 0]
        self.weights = self.inverse @ self.column
        return self.weights @ self.Phi[:t]

    def learn(self, x, phi):
        t = len(self.inverse)
        s = self.lam + 1.0 - self.column @ self.weights
        grown = np.empty((t + 1, t + 1))
        grown[:t, :t] = self.inverse + np.outer(self.weights, self.weights) / s
        grown[t, :t] = grown[:t, t] = -self.weights / s
        grown[t, t] = 1 / s
        self.inverse = grown
        self.X[t], self.Phi[t] = x, phi


def main():
    from sklearn.kernel_ridge import KernelRidge

    X, ys = stream(ROUNDS)
    loss, kernel = losses.ZeroOne(10), kernels.Gaussian(2.0)
    Phi = loss.embed_many(ys)
    learner, rival = OSKAAR(loss, kernel, lam=1.0), InverseUpdate(kernel, 1.0, loss.p)
    ours, theirs, refit = np.zeros(ROUNDS), np.zeros(ROUNDS), {}
    for t, (x, y) in enumerate(zip(X, ys, strict=True)):
        start = time.perf_counter()
        learner.predict_one(x)
        learner.learn_one(x, y)
        ours[t] = time.perf_counter() - start
        start = time.perf_counter()
        loss.decode(rival.predict(x))
        rival.learn(x, Phi[t])
        theirs[t] = time.perf_counter() - start
        if t and t % 100 == 0:
            start = time.perf_counter()
            model = KernelRidge(alpha=1.0, kernel="rbf", gamma=1 / 8).fit(X[:t], Phi[:t])
            loss.decode(model.predict(x[None, :])[0])
            refit[t] = time.perf_counter() - start
    mean_refit = np.mean(list(refit.values()))
    print(
        f"     a round, mean over the first {ROUNDS}: oskaar {1e3 * ours.mean():.3f} ms, inverse update "
        f"{1e3 * theirs.mean():.3f} ms, KernelRidge refitted {1e3 * mean_refit:.1f} ms"
    )
    report("KernelRidge refitted each round over OSKAAR", mean_refit / ours.mean(), 50, at_least=True)
    report("NumPy inverse update over OSKAAR", theirs.mean() / ours.mean(), 4, at_least=True)
    for t in (250, 500, 1000, 1999):
        print(f"     t = {t}: {1e6 * np.median(ours[t - 50 : t]):.0f} us a round")
    late, early = np.median(ours[1900:]), np.median(ours[900:1000])
    report("growth exponent of a round from t = 1000 to 2000", np.log2(late / early), 2.0)


if __name__ == "__main__":
    main()
