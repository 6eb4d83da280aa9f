"""What the experiments share: colours, fitted exponents, runs."""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from oskaar import OSKAAR, replay

DOCS = Path(__file__).parents[2] / "docs"
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK = (  # Okabe and Ito
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
matplotlib.rcParams.update(
    {"svg.hashsalt": "oskaar", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
)
STARTED = time.perf_counter()


def progress(text):
    print(f"[{time.perf_counter() - STARTED:5.0f} s] {text}", flush=True)


def standard_error(values):
    """Of the mean over the first axis, the seeds."""
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def exponent(lengths, values, draws=400):
    """(slope, its standard error) of log mean on log T, for values (seeds, lengths); seeds are resampled.

    Resampling n seeds spreads a mean by its deviation with n in the denominator: n / (n - 1) puts that right.
    """
    rng, values = np.random.default_rng(0), np.maximum(np.asarray(values, dtype=float), 1e-9)
    scale = np.sqrt(len(values) / (len(values) - 1))
    slopes = [
        np.polyfit(np.log(lengths), np.log(values[rng.integers(len(values), size=len(values))].mean(axis=0)), 1)[0]
        for _ in range(draws)
    ]
    slope = np.polyfit(np.log(lengths), np.log(values.mean(axis=0)), 1)[0]
    return float(slope), float(scale * np.std(slopes, ddof=1))


def curve(axes, lengths, values, name, color, marker="o", style="-", variable="T"):
    """Mean and standard error of (seeds, lengths), with its exponent in the legend."""
    values = np.asarray(values, dtype=float)
    slope, error = exponent(lengths, values)
    spread = standard_error(values)
    label = f"{name}: ${variable}^{{{slope:.2f} \\pm {error:.2f}}}$"
    axes.errorbar(lengths, values.mean(axis=0), spread, color=color, marker=marker, ls=style, capsize=3, label=label)
    progress(
        f"    {name}: {values.mean(axis=0).round(4).tolist()} +- {spread.round(4).tolist()} at {list(lengths)}, "
        f"exponent {slope:.3f} +- {error:.3f}"
    )
    return slope, error


def bound(axes, lengths, values, name, variable="T"):
    """A bound, with its own exponent over the same lengths."""
    slope = np.polyfit(np.log(lengths), np.log(values), 1)[0]
    axes.plot(lengths, values, color=BLACK, ls="--", label=f"{name}: ${variable}^{{{slope:.2f}}}$")
    progress(f"    {name}: {np.round(values, 2).tolist()}, exponent {slope:.3f}")


def finish(axes, lengths, title, ylabel, xlabel="length T of the stream"):
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
    axes.set_xticks(lengths, labels=[f"{length:g}" for length in lengths])
    axes.xaxis.minorticks_off()
    axes.set_ylim(top=axes.get_ylim()[1] * 8)  # room for the legend
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def save(figure, name):
    target = DOCS / f"{name}.svg"
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
    progress(f"wrote {target.name}")


def risk(stream, answers):
    """The sum of E[Delta(z_t, y_t) - Delta(f*_t(x_t), y_t) | x_t]: what the theorems in expectation bound."""
    return float(stream.excess(answers).sum())


def run(learner, stream):
    return replay(learner, stream.x, stream.y, keep_estimates=False)


def restarted(stream, lam, starts):
    """The answers of OSKAAR restarted at given rounds, counted from 1: an oracle."""
    answers, ends = [], [*starts[1:], len(stream.y) + 1]
    for lo, hi in zip(starts, ends, strict=True):
        learner = OSKAAR(stream.loss, stream.kernel, lam)
        answers += replay(
            learner, stream.x[lo - 1 : hi - 1], stream.y[lo - 1 : hi - 1], keep_estimates=False
        ).predictions
    return answers
