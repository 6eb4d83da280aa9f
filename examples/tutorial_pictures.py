"""The pictures of the first page and of the tutorials, from data that ships inside River and vega_datasets.

Writes docs/weather.svg, docs/tutorials/*.svg and docs/choosing.svg: about a minute on one core. No setting but those
that a picture names is other than the default.
"""

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from river import datasets
from vega_datasets import local_data

from oskaar import OSKAAR, SALAMI, Ensemble, MostFrequent, RepeatLast, kernels, losses, replay, streams

DOCS = Path(__file__).parents[1] / "docs"
BLUE, ORANGE, GREY, GREEN = "#0072B2", "#D55E00", "#999999", "#009E73"
matplotlib.rcParams.update({"svg.hashsalt": "oskaar", "svg.fonttype": "none", "font.family": "sans-serif"})


def save(figure, name):
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / name, metadata={"Date": None})
    plt.close(figure)
    print(f"wrote docs/{name}", flush=True)


def days():
    table = local_data.seattle_weather()
    X = streams.standardised(table[["precipitation", "temp_max", "temp_min", "wind"]].to_numpy(dtype=float))
    return table["date"].to_numpy(), X, table["weather"].tolist()


def smooth(losses, width):
    """The mean of the last `width` losses, or of as many as there are."""
    total = np.concatenate([[0.0], np.cumsum(losses)])
    end = np.arange(1, len(total))
    start = np.maximum(end - width, 0)
    return (total[end] - total[start]) / (end - start)


def genes(rounds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = list(datasets.Yeast().take(rounds))
    X = streams.standardised(np.array([list(x.values()) for x, _ in rows]))
    return X, [frozenset(i for i, on in enumerate(y.values()) if on) for _, y in rows]


def weather():
    """The first page: what the sky was called, what was answered, and how often that was wrong."""
    dates, X, labels = days()
    loss = losses.ZeroOne(["drizzle", "fog", "rain", "snow", "sun"])
    names = ["rain", "drizzle", "snow", "fog", "sun"]  # from wet to dry
    learners = {"Ensemble": Ensemble(loss), "OSKAAR": OSKAAR(loss), "repeat the last": RepeatLast(loss)}
    learners["majority"] = MostFrequent(loss)
    runs = {name: replay(learner, X, labels) for name, learner in learners.items()}
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(8, 4.6), layout="constrained", sharex=True, height_ratios=[1, 1.6]
    )
    colors = ListedColormap(["#0072B2", "#56B4E9", "#CC79A7", "#BBBBBB", "#F0C000"])
    rows = [labels, runs["Ensemble"].predictions, runs["OSKAAR"].predictions]
    image = np.array([[names.index(label) for label in row] for row in rows])
    span = (dates[0], dates[-1])
    top.pcolormesh(dates, [2, 1, 0], image, cmap=colors, vmin=-0.5, vmax=4.5, rasterized=True)
    for line in (0.5, 1.5):
        top.axhline(line, color="white", lw=3)
    top.set_yticks([2, 1, 0], labels=["truth", "Ensemble", "OSKAAR"])
    top.tick_params(length=0)
    for i, name in enumerate(names):
        top.plot([], [], "s", color=colors(i), label=name)
    top.legend(ncols=5, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), handletextpad=0.1)
    styles = {
        "Ensemble": (BLUE, 2.2),
        "OSKAAR": (ORANGE, 1.6),
        "repeat the last": (GREY, 1.0),
        "majority": ("0.8", 1.0),
    }
    for name, (color, width) in styles.items():
        wrong = runs[name].losses
        bottom.plot(dates, smooth(wrong, 120), color=color, lw=width, label=f"{name}: {wrong.mean():.2f} overall")
        print(f"  {name}: {wrong.mean():.4f}")
    for change in learners["Ensemble"].change_points():
        bottom.axvline(dates[change.round - 1], color=BLUE, lw=0.8, ls=":")
    bottom.set(xlim=span, ylim=(0, 1.0), ylabel="wrong, last 120 days")
    bottom.legend(frameon=False, ncols=4, loc="upper right", fontsize="small")
    figure.suptitle("What each day's weather was called, and what was answered before the label came", fontsize=11)
    save(figure, "weather.svg")


def drift():
    dates, X, labels = days()
    loss = losses.ZeroOne(["drizzle", "fog", "rain", "snow", "sun"])
    ensemble = Ensemble(loss)
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for learner, color in ((ensemble, BLUE), (OSKAAR(loss), ORANGE), (RepeatLast(loss), GREY)):
        wrong = replay(learner, X, labels).losses
        axes.plot(dates, smooth(wrong, 90), color=color, label=type(learner).__name__)
    for change in ensemble.change_points():
        axes.axvline(dates[change.round - 1], color=BLUE, lw=0.8, ls=":")
    axes.set(ylabel="wrong, last 90 days", ylim=(0, 0.9), title="dotted: changes that were found")
    axes.legend(frameon=False, ncols=3)
    save(figure, "tutorials/drift.svg")


def tags():
    X, ys = genes(1000)
    loss = losses.F1(14)
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for learner, color in ((OSKAAR(loss), ORANGE), (MostFrequent(loss), "0.6"), (RepeatLast(loss), "0.8")):
        score = 1 - replay(learner, X, ys).losses
        axes.plot(np.cumsum(score) / np.arange(1, 1001), color=color, label=type(learner).__name__)
    axes.set(xlabel="genes seen", ylabel="F1 so far", ylim=(0.3, 0.75), xlim=(0, 1000))
    axes.legend(frameon=False, ncols=3, loc="lower right")
    save(figure, "tutorials/tags.svg")


def endless():
    rows = list(datasets.Shuttle())
    X = streams.standardised(np.array([list(x.values()) for x, _ in rows], dtype=float))
    ys = [int(y) for _, y in rows]
    learner = OSKAAR(losses.ZeroOne([0, 1]), budget=32)
    ends, held, wrong = [*range(1000, len(ys), 1000), len(ys)], [], []
    for start, end in zip([0, *ends], ends, strict=False):
        wrong.append(replay(learner, X[start:end], ys[start:end], keep_estimates=False).losses)
        held.append(learner.cost().bytes / 1024)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    left.plot(ends, 100 * np.cumsum([w.sum() for w in wrong]) / ends, color=ORANGE, label="OSKAAR, budget 32")
    for name, baseline, color in (("MostFrequent", MostFrequent, "0.6"), ("RepeatLast", RepeatLast, "0.8")):
        mean = replay(baseline(learner.loss), X, ys).mean_loss
        left.axhline(100 * mean, color=color, label=name)
    left.set(xlabel="round", ylabel="wrong so far, percent", ylim=(0, 15))
    left.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.66))
    right.plot(ends, held, color=ORANGE, label="budget 32, measured")
    right.plot(ends, np.array(ends, dtype=float) ** 2 * 4 / 1024, color=GREY, ls="--", label="all rows: 4 t^2 bytes")
    right.set(xlabel="round", ylabel="memory held, KiB", yscale="log")
    right.legend(frameon=False, loc="center right")
    save(figure, "tutorials/endless.svg")


def rankings():
    jobs = local_data.us_employment()
    industries = [
        *("mining_and_logging", "construction", "manufacturing", "wholesale_trade", "retail_trade", "utilities"),
        *("transportation_and_warehousing", "information", "financial_activities", "government", "other_services"),
        *("professional_and_business_services", "education_and_health_services", "leisure_and_hospitality"),
    ]
    growth = np.diff(np.log(jobs[industries].to_numpy(dtype=float)), axis=0)
    X, orders = streams.standardised(growth[:-1]), [tuple(np.argsort(-g, kind="stable").tolist()) for g in growth[1:]]
    loss, months = losses.Kendall(14), np.asarray(jobs["month"], dtype="datetime64[D]")[2:]
    learners = {
        "Ensemble": (Ensemble(loss), BLUE),
        "repeat the last": (RepeatLast(loss), GREY),
        "the long-run order": (OSKAAR(loss, kernels.Constant(1.0)), "0.8"),
    }
    figure, axes = plt.subplots(figsize=(7.5, 3), layout="constrained")
    for name, (learner, color) in learners.items():
        axes.plot(months, smooth(replay(learner, X, orders).losses, 12), color=color, label=name)
    axes.set(ylabel="pairs in the wrong order,\nlast 12 months", ylim=(0.1, 0.6))
    axes.legend(frameon=False, ncols=3, loc="lower right")
    save(figure, "tutorials/rankings.svg")


class Months(losses.Loss):
    """Months between two months, round the year: docs/tutorials/own-loss.md."""

    SIGNS = np.where((np.arange(12)[:, None] - np.arange(6)) % 12 < 6, 1.0, -1.0)
    p, c_delta = 6, 3.0

    def loss(self, z, y):
        return float(np.sum(self.SIGNS[z] != self.SIGNS[y]))

    def embed(self, y):
        return self.SIGNS[y] / np.sqrt(6)

    def decode(self, g):
        return int(np.argmax(self.SIGNS @ g))


def own_loss():
    table = local_data.seattle_weather().sample(frac=1.0, random_state=0)
    X = streams.standardised(table[["precipitation", "temp_max", "temp_min", "wind"]].to_numpy(dtype=float))
    months = (table["date"].dt.month - 1).tolist()
    figure, panels = plt.subplots(1, 3, figsize=(8, 3.8), layout="constrained", sharey=True)
    titles = {"Months, round the year": Months(), "Ordinal, December is last": losses.Ordinal(12)}
    titles["ZeroOne, all alike"] = losses.ZeroOne(range(12))
    for axes, (title, loss) in zip(panels, titles.items(), strict=True):
        answers = replay(OSKAAR(loss), X, months).predictions
        table = np.zeros((12, 12))
        np.add.at(table, (months, answers), 1)
        off = np.mean([Months()(z, y) for z, y in zip(answers, months, strict=True)])
        axes.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=0.6)
        axes.set(title=f"{title}:\n{off:.2f} months off", xlabel="answered")
        axes.set_xticks(range(12), labels="JFMAMJJASOND")
        axes.set_yticks(range(12), labels="JFMAMJJASOND")
    panels[0].set(ylabel="true month")
    save(figure, "tutorials/own-loss.svg")


def choosing():
    """Mean loss against lam, lengthscale, eta and budget on two streams."""
    _, Xw, weather_labels = days()
    Xg, gene_tags = genes(1000)
    streams_ = {
        "weather (changes)": (losses.ZeroOne(["drizzle", "fog", "rain", "snow", "sun"]), Xw, weather_labels, BLUE),
        "genes (does not)": (losses.F1(14), Xg, gene_tags, GREEN),
    }
    figure, panels = plt.subplots(1, 4, figsize=(11, 3), layout="constrained", sharey=True)
    lams, scales = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
    etas, budgets = (0.125, 0.25, 0.5, 1.0, 2.0), (16, 32, 64, 128, 256)
    for name, (loss, X, ys, color) in streams_.items():
        d = X.shape[1] ** 0.5

        def run(learner, X=X, ys=ys):
            return replay(learner, X, ys, keep_estimates=False).mean_loss

        curves = [
            (lams, [run(OSKAAR(loss, lam=lam)) for lam in lams]),
            (scales, [run(OSKAAR(loss, kernels.Gaussian(s * d) + 1.0)) for s in scales]),
            (budgets, [run(OSKAAR(loss, budget=b)) for b in budgets]),
            (etas, [run(SALAMI(loss, eta=eta)) for eta in etas]),
        ]
        print(f"  {name}: repeat the last {run(RepeatLast(loss)):.3f}, majority {run(MostFrequent(loss)):.3f}")
        for axes, (xs, values) in zip(panels, curves, strict=True):
            axes.plot(xs, values, color=color, marker="o", ms=4, label=name)
            print(f"  {name}: {dict(zip(xs, np.round(values, 3).tolist(), strict=True))}", flush=True)
    titles = ("lam", "lengthscale / sqrt(d)", "budget", "eta (SALAMI)")
    ticks = ((0.01, 0.1, 1, 10), scales, budgets, etas)
    for axes, title, marks in zip(panels, titles, ticks, strict=True):
        axes.set(title=title, xscale="log")
        axes.minorticks_off()
        axes.set_xticks(marks, labels=[f"{mark:g}" for mark in marks])
    panels[0].set(ylabel="mean loss")
    panels[0].legend(frameon=False)
    save(figure, "choosing.svg")


if __name__ == "__main__":
    pictures = (weather, drift, tags, rankings, own_loss, endless, choosing)
    for picture in pictures:
        if len(sys.argv) == 1 or picture.__name__ in sys.argv[1:]:
            picture()
