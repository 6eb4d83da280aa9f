"""The dependence on V_0, V_G and delta, and Algorithm 3 against T. Writes docs/theory-variation.svg."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLACK, BLUE, GREEN, ORANGE, PINK, RED, bound, curve, finish, progress, risk, run, save

from oskaar import OSKAAR, SALAMI, losses, replay, streams, theory


def algorithm_3(stream, lam):
    """Shifted SALAMI as the theorem has it: no projection, eta of a bound on |g|, taken to be that on |g*|."""
    norm = float(stream.norms.max())
    return SALAMI(stream.loss, stream.kernel, lam, eta="theory", shifted=True, project=False, bound=norm)


def all_risks(learners, stream, found, s, i):
    for name, learner in learners.items():
        found.setdefault(name, {})[s, i] = risk(stream, run(learner, stream).predictions)


def table(found, seeds, count):
    return {
        name: np.array([[cells[s, i] for i in range(count)] for s in range(seeds)]) for name, cells in found.items()
    }


def abrupt(axes, T=800, changes=(0, 1, 3, 7, 15), seeds=5):
    """V_0 = 1, ..., 16 at one length, lam = sqrt(T / V_0)."""
    progress(f"the dependence on V_0, T = {T}")
    loss, found, bounds = losses.ZeroOne(4), {}, np.zeros((seeds, len(changes)))
    for i, count in enumerate(changes):
        for s in range(seeds):
            stream = streams.drifting(loss, T, sites=15, changes=count, seed=s)
            lam, kernel = theory.abrupt_lam(T, stream.V_0), stream.kernel
            learners = {
                "SALAMI, eta = 1/8": SALAMI(loss, kernel, lam, eta=1 / 8),
                "Algorithm 3": algorithm_3(stream, lam),
                "OSKAAR": OSKAAR(loss, kernel, lam),
            }
            all_risks(learners, stream, found, s, i)
            norm = float(stream.norms.max())
            bounds[s, i] = theory.salami_abrupt_bound(T, loss.c_delta, kernel.kappa, stream.V_0, norm)
    V_0 = [1 + count for count in changes]
    colors = zip(table(found, seeds, len(changes)).items(), (BLUE, GREEN, RED), "o^s", strict=True)
    for (name, values), color, marker in colors:
        curve(axes, V_0, values, name, color, marker, variable="V_0")
    bound(axes, V_0, bounds.mean(axis=0), "Theorem 3", variable="V_0")
    finish(axes, V_0, f"abrupt changes, T = {T} (paper: 0.25)", "cumulative excess risk", "$V_0$")


def drift(axes, T=800, drifts=(0.5, 1.0, 2.0, 4.0), seeds=5):
    """V_G grows with the number of laws passed through; lam of V_G, and lam = T^(1/3), which does not know it."""
    progress(f"the dependence on V_G, T = {T}")
    loss, found = losses.ZeroOne(4), {}
    bounds, V_G = np.zeros((seeds, len(drifts))), np.zeros((seeds, len(drifts)))
    for i, amount in enumerate(drifts):
        for s in range(seeds):
            stream = streams.drifting(loss, T, sites=15, drift=amount, seed=s)
            kernel, norm = stream.kernel, float(stream.norms.max())
            lam = theory.drift_lam(T, theory.drift_pieces(T, stream.V_G, kernel.kappa))
            learners = {
                "SALAMI, lam of $V_G$": SALAMI(loss, kernel, lam, eta=1 / 8),
                "SALAMI, lam = $T^{1/3}$": SALAMI(loss, kernel, theory.unknown_drift_lam(T), eta=1 / 8),
                "OSKAAR, lam of $V_G$": OSKAAR(loss, kernel, lam),
            }
            all_risks(learners, stream, found, s, i)
            V_G[s, i] = stream.V_G
            bounds[s, i] = theory.salami_drift_bound(T, loss.c_delta, kernel.kappa, stream.V_G, norm)
    lengths = V_G.mean(axis=0).round(1).tolist()
    colors = zip(table(found, seeds, len(drifts)).items(), (BLUE, ORANGE, RED), "ovs", strict=True)
    for (name, values), color, marker in colors:
        curve(axes, lengths, values, name, color, marker, variable="V_G")
    bound(axes, lengths, bounds.mean(axis=0), "Theorem 3", variable="V_G")
    finish(axes, lengths, f"drift, T = {T} (paper: 0.17)", "cumulative excess risk", "mean $V_G$")


def confidence(axes, T=250, seeds=400):
    """Quantiles of what shifted OSKAAR's bounds hold for: sum_t |g_t - E phi_t|^2, on a noisy i.i.d. stream."""
    progress(f"the dependence on delta, T = {T}, {seeds} seeds")
    loss, lam = losses.Ordinal(5), theory.stationary_lam(T)
    S, regrets, proved, assumed = np.zeros((4, seeds))
    for s in range(seeds):
        stream = streams.drifting(loss, T, labels=5, seed=s)
        learner, norm = OSKAAR(loss, stream.kernel, lam, shifted=True), float(stream.norms[0])
        G, Phi = replay(learner, stream.x, stream.y).estimates, loss.embed_many(stream.y)
        S[s] = ((G - stream.means) ** 2).sum()
        regrets[s] = ((G - Phi) ** 2).sum() - ((stream.means / 2 + G / 2 - Phi) ** 2).sum()
        B = np.sqrt(((2 * Phi - G) ** 2).sum(axis=1).max())
        d_eff, kappa = learner.effective_dimension(), stream.kernel.kappa
        proved[s] = theory.shifted_kaar_regret(T, kappa, lam, d_eff, norm, B)
        assumed[s] = theory.shifted_kaar_regret(T, kappa, lam, d_eff, norm, theory.target_bound(kappa, norm))
    deltas = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01])
    gamma = theory.gamma(stream.kernel.kappa, norm)
    lines = {
        "measured quantile": (BLUE, [np.quantile(S, 1 - d) for d in deltas]),
        "2 R + 4 log(1/delta), true R": (GREEN, [theory.feature_risk_bound(regrets.mean(), d) for d in deltas]),
        "the same, R bounded, B observed": (ORANGE, [theory.feature_risk_bound(proved.mean(), d) for d in deltas]),
        "paper, sup|g| = |g*|": (BLACK, [2 * assumed.mean() + 2 * gamma * np.log(1 / d) for d in deltas]),
    }
    for name, (color, values) in lines.items():
        axes.plot(1 / deltas, values, color=color, marker="o", ls="-" if color == BLUE else "--", label=name)
        progress(f"    {name}: {np.round(values, 2).tolist()} at delta {deltas.tolist()}")
    for d in deltas:
        broken = np.mean(2 * regrets + 4 * np.log(1 / d) < S)
        progress(f"    delta = {d:g}: the bound with the true R is passed in {broken:.4f} of seeds")
    finish(axes, 1 / deltas, f"shifted OSKAAR, noisy i.i.d., T = {T}", "sum of $|g_t - E\\varphi_t|^2$", "1 / delta")


def against_length(axes, lengths=(125, 250, 500, 1000), seeds=5, delta=0.05):
    """Algorithm 3 against T on three abrupt changes, with the eta of the theorem and with a larger one."""
    progress("Algorithm 3")
    loss, found = losses.ZeroOne(4), {}
    printed, better = np.zeros((2, seeds, len(lengths)))
    for i, T in enumerate(lengths):
        for s in range(seeds):
            stream = streams.drifting(loss, T, sites=15, changes=3, seed=s)
            lam, kernel = theory.abrupt_lam(T, stream.V_0), stream.kernel
            learners = {
                "Algorithm 3, eta of sup|g| = |g*|": algorithm_3(stream, lam),
                "Algorithm 3, eta = 1/8": SALAMI(loss, kernel, lam, eta=1 / 8, shifted=True, project=False),
                "Algorithm 2, eta = 1/8": SALAMI(loss, kernel, lam, eta=1 / 8),
                "Algorithm 2, 4 lam, eta = 1/8": SALAMI(loss, kernel, 4 * lam, eta=1 / 8),
            }
            all_risks(learners, stream, found, s, i)
            norm, kappa, V_0 = float(stream.norms.max()), kernel.kappa, stream.V_0
            printed[s, i] = theory.shifted_salami_abrupt_bound(T, loss.c_delta, kappa, V_0, norm, norm, delta)
            eta, d_eff = theory.salami_eta(kappa, norm), theory.dimension_bound(T, kappa, 4 * lam)
            regret = theory.shifted_abrupt_regret(T, lam, V_0, kappa, eta, d_eff, V_0 * norm**2, norm)
            feature_risk = theory.feature_risk_bound(regret, delta)
            better[s, i] = theory.comparison_bound(T, loss.c_delta, feature_risk)
        progress(f"  T = {T}")
    colors = zip(table(found, seeds, len(lengths)).items(), (BLUE, ORANGE, GREEN, PINK), "ov^s", strict=True)
    for (name, values), color, marker in colors:
        curve(axes, lengths, values, name, color, marker)
    bound(axes, lengths, printed.mean(axis=0), "appendix E, $\\delta = 0.05$")
    bound(axes, lengths, better.mean(axis=0), "4 log(1/delta) for 2 gamma")
    finish(axes, lengths, "Algorithm 3, three abrupt changes (paper: 0.75)", "cumulative excess risk")


def main():
    figure, axes = plt.subplots(2, 2, figsize=(11.5, 9), layout="constrained")
    abrupt(axes[0, 0])
    drift(axes[0, 1])
    confidence(axes[1, 0])
    against_length(axes[1, 1])
    save(figure, "theory-variation")
