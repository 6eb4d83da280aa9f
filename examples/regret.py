"""Regret on streams with abrupt changes: SALAMI's grows like a power below 1, OSKAAR's like the stream.

Writes docs/regret.svg. The labels are the sign of a function in the kernel's own space; the function is redrawn
at three rounds, a quarter of the stream apart, for streams of growing length.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from oskaar import OSKAAR, SALAMI, kernels, losses, replay

LENGTHS, SEEDS, LAWS = (250, 500, 1000, 2000, 4000), 4, 4
LAMS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
KERNEL, LOSS = kernels.Gaussian(0.5) + 1.0, losses.ZeroOne(2)
matplotlib.rcParams["svg.hashsalt"] = "oskaar"  # the same file from the same numbers
COLORS = {"SALAMI": "#0072B2", "OSKAAR": "#D55E00"}


def stream(T, seed):
    rng = np.random.default_rng(seed)
    X, centres = rng.uniform(-1, 1, size=(T, 2)), rng.uniform(-1, 1, size=(30, 2))
    K = kernels.Gaussian(0.5)(X, centres)
    law = np.arange(T) * LAWS // T
    values = np.take_along_axis(K @ rng.normal(size=(30, LAWS)), law[:, None], axis=1)[:, 0]
    return X, (values > 0).astype(int).tolist()


def salami(X, ys):
    return replay(SALAMI(LOSS, KERNEL), X, ys).regret


def oskaar(X, ys):
    """The best lam in hindsight, for each stream."""
    runs = [replay(OSKAAR(LOSS, KERNEL, lam=lam), X, ys).regret for lam in LAMS]
    return min(runs, key=lambda regret: regret[-1])


def main():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, run in {"SALAMI, kernel given": salami, "OSKAAR, best lam in hindsight": oskaar}.items():
        color = COLORS[name[:6]]
        regret = {T: np.array([run(*stream(T, seed)) for seed in range(SEEDS)]) for T in LENGTHS}
        rounds, longest = np.arange(0, LENGTHS[-1], 20), regret[LENGTHS[-1]][:, ::20]
        left.plot(rounds, longest.mean(axis=0), color=color, label=name)
        left.fill_between(rounds, longest.min(axis=0), longest.max(axis=0), color=color, alpha=0.15, lw=0)
        final = np.array([regret[T][:, -1] for T in LENGTHS])
        mean, spread = final.mean(axis=1), final.std(axis=1, ddof=1)
        exponent = np.polyfit(np.log(LENGTHS[1:]), np.log(mean[1:]), 1)[0]
        print(f"{name}: regret {mean.round(1).tolist()} at T = {list(LENGTHS)}, about T^{exponent:.2f}", flush=True)
        right.errorbar(
            LENGTHS, mean, spread, color=color, marker="o", capsize=3, label=f"about $T^{{{exponent:.2f}}}$"
        )
    for change in range(1, LAWS):
        left.axvline(change * LENGTHS[-1] / LAWS, color="0.6", lw=0.8, ls=":")
    left.set(xlabel="round", ylabel="regret", title=f"T = {LENGTHS[-1]}, changes dotted, {SEEDS} seeds")
    right.set(xlabel="length T of the stream", ylabel="regret at T", title="three changes, whatever T")
    right.set(xscale="log", yscale="log")
    right.set_xticks(LENGTHS, labels=map(str, LENGTHS))
    right.xaxis.minorticks_off()
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    target = Path(__file__).parents[1] / "docs" / "regret.svg"
    figure.savefig(target, metadata={"Date": None})
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
