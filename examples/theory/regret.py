"""Regret against T with fitted exponents, beside the bound, where g* is known. Writes docs/theory-regret.svg."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, ORANGE, RED, bound, curve, finish, progress, restarted, risk, run, save

from oskaar import OSKAAR, SALAMI, kernels, losses, streams, theory


def stationary(axes, lengths, seeds):
    """phi_t = g*(x_t) at 200 sites, lam = sqrt(T) / |g*|: Theorem 1 on the regret against min_z Delta(z, y_t)."""
    progress("stationary, realisable")
    loss = losses.SubsetHamming(5)
    regrets, bounds = np.zeros((2, seeds, len(lengths)))
    for s in range(seeds):
        for i, T in enumerate(lengths):
            stream = streams.drifting(loss, T, kernel=kernels.Matern(1.0, nu=0.5), sites=200, labels=6, seed=s)
            learner = OSKAAR(loss, stream.kernel, lam=theory.realisable_lam(T, stream.norms[0]))
            run(learner, stream)
            regrets[s, i], surrogate = learner.regret, learner.certificate().surrogate_bound
            bounds[s, i] = theory.comparison_bound(T, loss.c_delta, surrogate)
    curve(axes, lengths, regrets, "OSKAAR", BLUE)
    bound(axes, lengths, bounds.mean(axis=0), "Theorem 1")
    finish(axes, lengths, "realisable, 200 sites (paper: 0.75)", "regret")


def noisy(axes, lengths, seeds):
    """E[phi | x] = g*(x), i.i.d., lam = sqrt(T): the corollary, on the risk above that of the Bayes answer."""
    progress("noisy, i.i.d.")
    loss = losses.Ordinal(5)
    risks = np.zeros((seeds, len(lengths)))
    bounds = np.zeros_like(risks)
    for i, T in enumerate(lengths):
        for s in range(seeds):
            stream = streams.drifting(loss, T, labels=5, seed=s)
            learner = OSKAAR(loss, stream.kernel, lam=theory.stationary_lam(T))
            risks[s, i] = risk(stream, run(learner, stream).predictions)
            kappa, norm = stream.kernel.kappa, stream.norms[0]
            bounds[s, i] = theory.expected_oskaar_corollary(T, loss.c_delta, kappa, norm)
    curve(axes, lengths, risks, "OSKAAR", BLUE)
    bound(axes, lengths, bounds.mean(axis=0), "corollary")
    finish(axes, lengths, "noisy i.i.d. (paper: 0.75)", "cumulative excess risk")


def abrupt(axes, lengths, seeds):
    """Three abrupt changes, labels certain in between, lam = sqrt(T / V_0)."""

    def settled(T, stream, kappa, norm):
        bound = theory.salami_abrupt_bound(T, stream.loss.c_delta, kappa, stream.V_0, norm)
        return theory.abrupt_lam(T, stream.V_0), [1, *stream.changes], bound

    moving(axes, lengths, seeds, "three abrupt changes", 0.75, "true restarts", settled, changes=3)


def drift(axes, lengths, seeds):
    """A walk from one law through two others: V_G is the same for all lengths. lam and m as prescribed."""

    def settled(T, stream, kappa, norm):
        m = theory.drift_pieces(T, stream.V_G, kappa)
        bound = theory.salami_drift_bound(T, stream.loss.c_delta, kappa, stream.V_G, norm)
        return theory.drift_lam(T, m), theory.pieces(stream.steps.tolist(), m), bound

    moving(axes, lengths, seeds, "continuous drift", 0.83, "m restarts", settled, drift=2.0)


def moving(axes, lengths, seeds, title, paper, told, settled, **moves):
    """SALAMI, OSKAAR, and OSKAAR that is told when to restart; settled: lam, these rounds, and the bound."""
    progress(title)
    loss = losses.ZeroOne(4)
    found = {name: np.zeros((seeds, len(lengths))) for name in ("SALAMI", "OSKAAR", f"OSKAAR, {told}")}
    bounds = np.zeros((seeds, len(lengths)))
    for i, T in enumerate(lengths):
        for s in range(seeds):
            stream = streams.drifting(loss, T, sites=15, seed=s, **moves)
            lam, starts, bounds[s, i] = settled(T, stream, stream.kernel.kappa, stream.norms.max())
            found["SALAMI"][s, i] = risk(stream, run(SALAMI(loss, stream.kernel, lam, eta=1 / 8), stream).predictions)
            found["OSKAAR"][s, i] = risk(stream, run(OSKAAR(loss, stream.kernel, lam), stream).predictions)
            found[f"OSKAAR, {told}"][s, i] = risk(stream, restarted(stream, lam, starts))
        progress(f"  T = {T}")
    for (name, values), color, marker in zip(found.items(), (BLUE, RED, GREEN), "os^", strict=True):
        curve(axes, lengths, values, name, color, marker)
    bound(axes, lengths, bounds.mean(axis=0), "Theorem 3")
    finish(axes, lengths, f"{title} (paper: {paper})", "cumulative excess risk")


def adversarial(axes, lengths, seeds):
    """Every label is the one that the learner did not answer: the regret is T, and so is any bound."""
    progress("adversarial labels")
    loss = losses.ZeroOne(2)
    for name, color, marker in (("OSKAAR", RED, "s"), ("SALAMI", BLUE, "o")):
        regrets, bounds = np.zeros((2, seeds, len(lengths)))
        for s in range(seeds):
            X = np.random.default_rng(s).uniform(-1, 1, size=(lengths[-1], 2))
            kernel = kernels.Gaussian(0.5) + 1.0
            learner = OSKAAR(loss, kernel, 1.0) if name == "OSKAAR" else SALAMI(loss, kernel, 1.0, eta=1 / 8)
            for t, x in enumerate(X, start=1):
                learner.learn_one(x, 1 - learner.predict_one(x))
                if t in lengths:
                    i = lengths.index(t)
                    regrets[s, i], bounds[s, i] = learner.regret, learner.certificate().bound
        curve(axes, lengths, regrets, name, color, marker)
        curve(axes, lengths, bounds, f"certificate of {name}", ORANGE if name == "OSKAAR" else "0.4", marker, "--")
    finish(axes, lengths, "labels against the learner (1)", "regret")


def budgeted(axes, lengths, seeds):
    """The same noisy stream with at most so many inputs kept, at the lam of the exact learner."""
    progress("budgets")
    loss = losses.Ordinal(5)
    found = {name: np.zeros((seeds, len(lengths))) for name in ("all inputs", "budget 40", "budget 20", "budget 10")}
    for i, T in enumerate(lengths):
        for s in range(seeds):
            stream = streams.drifting(loss, T, labels=5, seed=s)
            for name, values in found.items():
                budget = None if name == "all inputs" else int(name.split()[1])
                learner = OSKAAR(loss, stream.kernel, theory.stationary_lam(T), budget=budget)
                values[s, i] = risk(stream, run(learner, stream).predictions)
        progress(f"  T = {T}")
    for (name, values), color, marker in zip(found.items(), (RED, BLUE, GREEN, ORANGE), "so^v", strict=True):
        curve(axes, lengths, values, name, color, marker)
    finish(axes, lengths, "OSKAAR with a budget, noisy i.i.d.", "cumulative excess risk")


def main(long=(125, 250, 500, 1000, 2000, 4000), short=(125, 250, 500, 1000, 2000), seeds=5):
    figure, axes = plt.subplots(2, 3, figsize=(14.5, 8.4), layout="constrained")
    stationary(axes[0, 0], long, seeds)
    noisy(axes[0, 1], long, 3 * seeds)
    adversarial(axes[0, 2], (64, 128, 256, 512), 3)
    abrupt(axes[1, 0], short, seeds)
    drift(axes[1, 1], short, seeds)
    budgeted(axes[1, 2], long, seeds)
    save(figure, "theory-regret")
