"""The effect of lam and of a grid of them; geometric against all restarts. Writes docs/theory-settings.svg."""

import time

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, ORANGE, PINK, RED, curve, finish, progress, risk, run, save, standard_error

from oskaar import OSKAAR, SALAMI, losses, streams, theory


def regularisation(axes, T=600, seeds=4):
    progress("the effect of lam")
    loss, lams = losses.ZeroOne(4), np.geomspace(0.003, 300, 8)
    kinds = {"stationary": {"changes": 0}, "three changes": {"changes": 3}}
    for (name, how), color in zip(kinds.items(), (GREEN, RED), strict=True):
        made = [streams.drifting(loss, T, sites=15, noise=0.2, seed=s, **how) for s in range(seeds)]
        for kind, style, make in (
            ("OSKAAR", "--", lambda kernel, lam: OSKAAR(loss, kernel, lam)),
            ("SALAMI", "-", lambda kernel, lam: SALAMI(loss, kernel, lam, eta=1 / 8)),
        ):
            values = np.array([[risk(m, run(make(m.kernel, lam), m).predictions) for lam in lams] for m in made])
            spread, marker = standard_error(values), "s" if kind == "OSKAAR" else "o"
            look = {"color": color, "ls": style, "marker": marker, "capsize": 3}
            axes.errorbar(lams, values.mean(axis=0), spread, label=f"{kind}, {name}", **look)
            progress(f"    {kind}, {name}: {values.mean(axis=0).round(1).tolist()} at lam {lams.round(3).tolist()}")
        grid = [risk(m, run(SALAMI(loss, m.kernel, (0.03, 0.3, 3.0, 30.0), eta=1 / 8), m).predictions) for m in made]
        axes.axhline(np.mean(grid), color=color, lw=1, ls=":", label=f"SALAMI over a grid, {name}")
        progress(f"    SALAMI over (0.03, 0.3, 3, 30), {name}: {np.mean(grid):.1f} +- {standard_error(grid):.1f}")
        prescribed = theory.abrupt_lam(T, 1 + how["changes"])
        axes.axvline(prescribed, color=color, lw=0.8, alpha=0.5)
    axes.set(xscale="log", yscale="log", xlabel="lam (prescribed: vertical)", ylabel="cumulative excess risk")
    axes.set_title(f"T = {T}, 20% noise, {seeds} seeds")
    axes.set_ylim(top=axes.get_ylim()[1] * 20)  # room for the legend
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def restarts(axes, lengths=(125, 250, 500, 1000), seeds=5):
    progress("geometric against all restarts")
    loss = losses.ZeroOne(4)
    for (name, eta), color, marker in zip(
        ((("all"), 1 / 8), (("geometric"), 1 / 8), (("all"), 0.5), (("geometric"), 0.5)),
        (BLUE, ORANGE, PINK, GREEN), "os^v", strict=True,
    ):  # fmt: skip
        values, spent = np.zeros((seeds, len(lengths))), 0.0
        for s in range(seeds):
            for i, T in enumerate(lengths):
                stream = streams.drifting(loss, T, sites=15, changes=3, noise=0.1, seed=s)
                started = time.perf_counter()
                values[s, i] = risk(
                    stream, run(SALAMI(loss, stream.kernel, 1.0, eta, restarts=name), stream).predictions
                )
                spent += time.perf_counter() - started
        curve(axes, lengths, values, f"{name}, eta = {eta:g}", color, marker)
        progress(f"    {name}: {spent:.1f} s")
    finish(axes, lengths, "three changes, 10% noise, lam = 1", "cumulative excess risk")


def main():
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    regularisation(axes[0])
    restarts(axes[1])
    save(figure, "theory-settings")
