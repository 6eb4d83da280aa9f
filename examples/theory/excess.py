"""The excess risk of f_bar_T, the online-to-batch average, against BatchILE. Writes docs/theory-excess.svg."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, ORANGE, RED, bound, curve, finish, progress, run, save, standard_error

from oskaar import OSKAAR, BatchILE, losses, streams, theory


def main(lengths=(125, 250, 500, 1000, 2000), seeds=8, fresh=300):
    progress("excess risk on i.i.d. data")
    loss = losses.Ordinal(5)
    names = (
        "$\\bar f_T$, as printed",
        "$\\bar f_T$, hedged at x",
        "BatchILE, $4 \\lambda / T$",
        "BatchILE, $\\lambda / T$",
    )
    found = {name: np.zeros((seeds, len(lengths))) for name in names}
    bounds = np.zeros((seeds, len(lengths)))
    for i, T in enumerate(lengths):
        lam = theory.stationary_lam(T)
        for s in range(seeds):
            stream = streams.drifting(loss, T, labels=5, seed=s)
            X = np.random.default_rng(1000 + s).uniform(-1, 1, size=(fresh, 2))
            laws = stream.law(T, X)
            learner = OSKAAR(loss, stream.kernel, lam, shifted=True)
            run(learner, stream)
            batches = [BatchILE(loss, stream.kernel, c * lam / T).fit(stream.x, stream.y) for c in (4, 1)]
            answers = (
                [learner.predict_average(x) for x in X],
                [learner.predict_average(x, hedged=True) for x in X],
                *(batch.predict(X) for batch in batches),  # shifted KAAR regularises by 4 lam
            )
            for name, z in zip(names, answers, strict=True):
                found[name][s, i] = stream.excess(z, laws).mean()
            kappa, norm = stream.kernel.kappa, float(stream.norms[0])
            bounds[s, i] = theory.excess_risk_bound(T, loss.c_delta, kappa, norm, sup_norm=norm, delta=0.05)
        progress(f"  T = {T}")
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    for (name, values), color, marker in zip(found.items(), (BLUE, RED, GREEN, ORANGE), "os^v", strict=True):
        curve(axes, lengths, values, name, color, marker)
    for batch in names[2:]:
        gap = found[names[1]][:, -1] - found[batch][:, -1]  # on the same streams
        progress(f"    hedged less {batch} at T = {lengths[-1]}: {gap.mean():.5f} +- {standard_error(gap):.5f}")
    bound(axes, lengths, bounds.mean(axis=0), "theorem, $\\delta = 0.05$")
    finish(axes, lengths, "noisy i.i.d., $\\lambda = \\sqrt{T}$ (paper: -0.25)", "excess risk")
    save(figure, "theory-excess")
