"""Streams that never end: constant time and memory a round, and what a budget costs in accuracy.

Goals: rounds do not slow down, the slowest of 1000 takes at most 5 times their median, memory is flat, a million
rounds in a replay at 15000 rounds a second, one at a time within 3 times River's linear multi-output learner with a
lower loss and within 1.5 times its linear one-vs-rest, SALAMI within 25 times OSKAAR.
The real streams do not ship with the project: name the folder that holds them, or put it at ../shared/data.
"""

import os
import resource
import time

import numpy as np
from common import arguments_with_folder, report
from drift import pollution
from manifolds import STATIONS, degrees, wind
from multilabel import STREAMS
from scipy.sparse import csr_array, random_array

from oskaar import OSKAAR, SALAMI, Ensemble, MostFrequent, RepeatLast, features, kernels, losses, replay, streams
from oskaar.solvers.kaar_features import FeatureSolver
from oskaar.threads import one_thread

D, P, WIDTH = 128, 10, 8
KERNEL = kernels.Gaussian(3.0) + 1.0


def resident():
    """The memory of this process now, in MiB (its peak where the system does not tell)."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def classes(rounds, seed=0):
    """Ten classes of points in eight dimensions, with noise."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(rounds, WIDTH)), np.random.default_rng(7).normal(size=(WIDTH, P))
    return X, np.argmax(np.sin(X @ W / 2) + 0.3 * rng.normal(size=(rounds, P)), axis=1).tolist()


def timed(function, *arguments, clock=time.perf_counter):
    start = clock()
    function(*arguments)
    return clock() - start


def loop(learner, X, ys):
    for x, y in zip(X, ys, strict=True):
        learner.predict_one(x)
        learner.learn_one(x, y)


def feed(learner, rounds, seed=0, piece=100_000):
    """Learn so many rounds in pieces, so that the stream itself takes no memory."""
    for start in range(0, rounds, piece):
        learner.partial_fit(*classes(min(piece, rounds - start), seed + 1 + start))


def ageing():
    """Do rounds slow down? Windows are timed in turn on copies at both ages, to be fair on a busy machine."""
    import copy

    X, ys = classes(10_000)
    young = OSKAAR(losses.ZeroOne(P), KERNEL, budget=D)
    feed(young, 10_000)
    old = copy.deepcopy(young)
    feed(old, 80_000, seed=5)
    ratios = []
    for i in range(0, 10_000, 1000):
        part = X[i : i + 1000], ys[i : i + 1000]
        ratios.append(timed(loop, old, *part) / timed(loop, young, *part))
    report("time of rounds 90000-100000 over rounds 10000-20000", float(np.median(ratios)), 1.1)


def million(rounds):
    learner = OSKAAR(losses.ZeroOne(P), KERNEL, budget=D)
    feed(learner, 10_000)
    before, held = resident(), learner.cost().bytes
    X, ys = classes(100_000)
    seconds = sum(timed(learner.partial_fit, X, ys) for _ in range(0, rounds, 100_000))
    print(f"     {learner.rounds} rounds, {learner.cost()!r}")
    report(f"replay of {rounds} rounds, thousands of rounds a second", rounds / seconds / 1000, 15, at_least=True)
    report(f"bytes held after {learner.rounds} rounds over those after 10000", learner.cost().bytes / held, 1.05)
    print(
        f"     resident: {before:.0f} MiB after 10000 rounds, {resident():.0f} MiB after {learner.rounds} with data"
    )
    each = timed(lambda: loop(learner, X[:3000], ys[:3000])) / 3000
    print(
        f"     one at a time: {1e6 * each:.0f} us a round, {each * rounds / seconds:.1f} times a round of the replay"
    )


def beside_river(rounds=6000):
    """Ten targets, each a bounded function of eight inputs; River's chain of linear regressions."""
    from river import linear_model, multioutput, preprocessing

    rng = np.random.default_rng(3)
    X, W = rng.normal(size=(rounds, WIDTH)), rng.normal(size=(WIDTH, P))
    Y = np.clip(np.tanh(X @ W / 3) + 0.1 * rng.normal(size=(rounds, P)), -2, 2)
    ours = OSKAAR(losses.Squared(P, -2.0, 2.0), features=features.RandomFourier(KERNEL, D, 0), lam=1.0)
    chain = multioutput.RegressorChain(linear_model.LinearRegression())
    theirs = preprocessing.StandardScaler() | chain
    errors, times = [0.0, 0.0], [0.0, 0.0]
    for x, y in zip(X, Y, strict=True):
        row, target = dict(enumerate(x.tolist())), dict(enumerate(y.tolist()))
        start = time.perf_counter()
        z = ours.predict_one(x)
        ours.learn_one(x, y)
        middle = time.perf_counter()
        predicted = theirs.predict_one(row)
        theirs.learn_one(row, target)
        times[0] += middle - start
        times[1] += time.perf_counter() - middle
        errors[0] += float(np.mean((z - y) ** 2))
        errors[1] += float(np.mean([(predicted.get(j, 0.0) - target[j]) ** 2 for j in range(P)]))
    print(
        f"     a round of OSKAAR {1e6 * times[0] / rounds:.0f} us, of River's chain {1e6 * times[1] / rounds:.0f} us"
    )
    report("one at a time over River's chain of linear regressions", times[0] / times[1], 3)
    report("mean squared error over River's", errors[0] / errors[1], 1)


def stalls(rounds=1200, repeats=9):
    """The slowest round of a FeatureSolver over the median: of each round the least time of several runs counts."""
    solve = one_thread(lambda solver, Z, Phi: solver.update(solver.forecast(Z), Phi))
    for dim in (64, 128, 256, 512):
        rng = np.random.default_rng(dim)
        Z, Phi = rng.normal(size=(rounds, 1, dim)) / np.sqrt(dim), rng.normal(size=(rounds, 1, P))
        runs = np.empty((repeats, rounds))
        for run in runs:
            solver = FeatureSolver(1.0)
            run[:] = [timed(solve, solver, z, phi, clock=time.thread_time) for z, phi in zip(Z, Phi, strict=True)]
        least = runs.min(axis=0)[200:]
        median = float(np.median(least))
        report(f"slowest round over the median ({1e6 * median:.0f} us), D = {dim}", float(least.max()) / median, 5)


def beside_one_vs_rest(rounds=4800, block=48):
    """Five classes, eight features, in turn in small blocks; the lower quartile: blocks not disturbed.

    River's rows are dicts that are there already, ours are arrays. The solver alone is printed too: what is left of a
    round is features, checks and accounts.
    """
    from river import linear_model, multiclass

    rng = np.random.default_rng(1)
    X = rng.normal(size=(rounds, WIDTH))
    noise = 0.3 * rng.normal(size=(rounds, 5))
    ys = np.argmax(np.sin(X @ rng.normal(size=(WIDTH, 5)) / 2) + noise, axis=1).tolist()
    rows = [dict(enumerate(x.tolist())) for x in X]
    ours, theirs = (
        OSKAAR(losses.ZeroOne(5), KERNEL, budget=D),
        multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    )
    ours.partial_fit(X, ys)
    loop(theirs, rows[:500], ys[:500])
    times = np.array(
        [
            [
                timed(loop, ours, X[lo : lo + block], ys[lo : lo + block], clock=time.thread_time),
                timed(loop, theirs, rows[lo : lo + block], ys[lo : lo + block], clock=time.thread_time),
            ]
            for lo in range(0, rounds, block)
        ]
    )
    mine, others = np.percentile(times / block, 25, axis=0)
    print(f"     a round of OSKAAR {1e6 * mine:.0f} us, of River's one-vs-rest {1e6 * others:.0f} us")
    report(f"one at a time over River's linear one-vs-rest, D = {D}", mine / others, 1.5)
    Z, Phi = rng.normal(size=(1000, 1, D)) / np.sqrt(D), np.eye(5)[ys[:1000]][:, None]
    solver = FeatureSolver(1.0)
    step = one_thread(lambda lo: [solver.update(solver.forecast(Z[i]), Phi[i]) for i in range(lo, lo + block)])
    alone = np.percentile([timed(step, lo, clock=time.thread_time) / block for lo in range(0, 960, block)], 25)
    print(f"     the solver alone: {alone / others:.2f}")


def restarts(rounds):
    """In time of the process: long and short calls suffer alike on a busy machine."""
    learners = {
        "OSKAAR": OSKAAR(losses.ZeroOne(P), KERNEL, budget=D),
        "SALAMI, one lam": SALAMI(losses.ZeroOne(P), KERNEL, lam=1.0, budget=D),
        "SALAMI, two lams": SALAMI(losses.ZeroOne(P), KERNEL, budget=D),
    }
    for learner in learners.values():
        feed(learner, rounds, piece=10_000)
    X, ys = classes(4800)
    blocks = {name: [] for name in learners}
    turns = {name: [] for name in learners}
    for lo in range(0, 4800, 960):  # in turn, so that a busy machine hits all alike
        for name, learner in learners.items():
            blocks[name].append(
                timed(learner.partial_fit, X[lo : lo + 960], ys[lo : lo + 960], clock=time.process_time) / 960
            )
    for lo in range(0, 480, 96):
        for name, learner in learners.items():
            turns[name].append(timed(loop, learner, X[lo : lo + 96], ys[lo : lo + 96], clock=time.process_time) / 96)
    for how, seen in (("replay", blocks), ("one at a time", turns)):
        base = float(np.median(seen["OSKAAR"]))
        for name in list(learners)[1:]:
            ratio = float(np.median(seen[name])) / base
            report(f"{how} at {rounds} rounds, {name}, over OSKAAR ({1e6 * base:.0f} us)", ratio, 25)


def ensemble_stalls(rounds=1700, window=1000):
    """The slowest of any 1000 consecutive rounds over their median, of untuned learners; the best of 3 runs."""
    X, ys = classes(rounds)
    rng = np.random.default_rng(0)
    sparse = csr_array(random_array((rounds, 1000), density=0.02, rng=rng))
    bags, words = [sparse[[i]] for i in range(rounds)], [f"word{i}" for i in range(300)]
    mixed = [{"a": x[0], "b": x[1], "text": " ".join(rng.choice(words, 8))} for x in X.tolist()]
    chains = [rng.normal(size=(int(rng.integers(3, 9)), WIDTH)) for _ in range(rounds)]
    tags = [["ab"[int(value > 0)] for value in x[:, 0]] for x in chains]
    loss, letters = losses.ZeroOne(P), losses.Sequence("ab")
    for name, make, rows, labels in (
        ("Ensemble", lambda: Ensemble(loss), X, ys),
        ("Ensemble(budget=256)", lambda: Ensemble(loss, budget=256), X, ys),
        ("Ensemble, a kernel given", lambda: Ensemble(loss, KERNEL), X, ys),
        ("Ensemble, sparse rows", lambda: Ensemble(loss), bags, ys),
        ("Ensemble, numbers and text", lambda: Ensemble(loss), mixed, ys),
        ("Ensemble, sequences", lambda: Ensemble(letters), chains, tags),
        ("SALAMI", lambda: SALAMI(loss), X, ys),
        ("SALAMI, a kernel given", lambda: SALAMI(loss, KERNEL), X, ys),
        ("SALAMI(budget=128)", lambda: SALAMI(loss, budget=D), X, ys),
        ("OSKAAR", lambda: OSKAAR(loss), X, ys),
        ("OSKAAR, a kernel given", lambda: OSKAAR(loss, KERNEL), X, ys),
        ("OSKAAR(budget=128)", lambda: OSKAAR(loss, budget=D), X, ys),
    ):
        runs = []
        for _ in range(3):
            learner, taken = make(), []
            for x, y in zip(rows, labels, strict=True):
                taken.append(timed(loop, learner, [x], [y], clock=time.process_time))
            runs.append(taken)
        times = np.min(runs, axis=0)
        worst = max(
            times[t : t + window].max() / np.median(times[t : t + window]) for t in range(rounds - window + 1)
        )
        report(f"{name}, the slowest of 1000 rounds over their median, {rounds} rounds", worst, 5)


def ensemble_beside_forest(first=500, last=1500):
    """predict_one and learn_one of the untuned learner over River's forest, on the same rows."""
    from river import forest

    rng = np.random.default_rng(0)
    X = rng.normal(size=(last, 8))
    ys = [int(np.argmax(x[:5] + 0.3 * rng.normal(size=5))) for x in X]
    rows = [{f"f{j}": float(v) for j, v in enumerate(x)} for x in X]
    for budget in (None, 256):
        learner, trees = Ensemble(losses.ZeroOne(5), budget=budget), forest.ARFClassifier(seed=0)
        loop(learner, X[:first], ys[:first])
        loop(trees, rows[:first], ys[:first])
        ours = theirs = 0.0
        for t in range(first, last):
            ours += timed(loop, learner, X[t : t + 1], ys[t : t + 1], clock=time.process_time)
            theirs += timed(loop, trees, rows[t : t + 1], ys[t : t + 1], clock=time.process_time)
        how = f"Ensemble(budget={budget}) over River's ARFClassifier, rounds {first} to {last}"
        report(how, ours / theirs, 2)


def ensemble_beside_salami(rounds=1000):
    """The untuned learner over the paper's with the smooth kernel given: in turn, in replay, and what they hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rounds, 8))
    smooth = kernels.standardised_kernels(X[:512])[0]
    classes_ = [int(np.argmax(x[:5] + 0.3 * rng.normal(size=5))) for x in X]
    orders = [tuple(np.argsort(-x).tolist()) for x in X @ rng.normal(size=(8, 10)) + rng.normal(size=(rounds, 10))]
    for name, loss, ys, goal in (
        ("5 classes", losses.ZeroOne(5), classes_, 2),
        ("10 items", losses.Kendall(10), orders, 3),
    ):
        seconds = np.full((2, 2), np.inf)
        for _ in range(3):
            for i, make in enumerate((lambda loss=loss: Ensemble(loss), lambda loss=loss: SALAMI(loss, smooth))):
                for j, run in enumerate((loop, lambda learner, X, ys: learner.partial_fit(X, ys))):
                    learner = make()
                    seconds[i, j] = min(seconds[i, j], timed(run, learner, X, ys, clock=time.process_time))
        report(f"Ensemble over SALAMI, {name}, {rounds} rounds in turn", seconds[0, 0] / seconds[1, 0], goal)
        if goal == 2:
            held = [each.partial_fit(X, ys).cost().bytes for each in (Ensemble(loss), SALAMI(loss, smooth))]
            report(f"Ensemble over SALAMI, {name}, replay", seconds[0, 1] / seconds[1, 1], 1.6)
            report(f"Ensemble over SALAMI, {name}, memory", held[0] / held[1], 2)


def ensemble_for_ever(rounds, tenths=10, looks=20):
    """Time and memory of the untuned learner from one tenth of a long stream to the next.

    The memory held is larger while rows are folded into a factor, a few at a time: the most of 20 looks counts.
    """
    learner, seconds, most = Ensemble(losses.ZeroOne(P)), np.zeros(tenths), np.zeros(tenths)
    for i in range(tenths):
        for look in range(looks):
            X, ys = classes(rounds // tenths // looks, seed=looks * i + look)
            seconds[i] += timed(learner.partial_fit, X, ys, clock=time.process_time)
            most[i] = max(most[i], learner.cost().bytes)
        print(
            f"     Ensemble after {learner.rounds} rounds: {1e3 * seconds[i] * tenths / rounds:.2f} ms each, "
            f"{most[i] / 2**20:.1f} MiB held, {resident():.0f} MiB resident",
            flush=True,
        )
    report("Ensemble, time of the last tenth over that of the third", seconds[-1] / seconds[2], 1.2)
    report("Ensemble, memory in the last tenth over that in the third", most[-1] / most[2], 1.05)


def budgets(folder):
    """Example-F1 against budget; the kernels and lams are those of multilabel.py."""
    wanted = {"Yeast": (300, 0.01), "SLASHDOT-F": (1000, 0.02), "20NG-F": (1000, 0.02)}
    table = {}
    for file, n_labels, kernel, lam, _, name in STREAMS:
        X, ys = streams.read_arff(folder / "multilabel" / file, n_labels)
        loss = losses.F1(abs(n_labels))
        exact = 1 - replay(OSKAAR(loss, kernel, lam=lam), X, ys, keep_estimates=False).mean_loss
        last, most = (1 - replay(rival(loss), X, ys).mean_loss for rival in (RepeatLast, MostFrequent))
        found = {}
        for budget in (30, 100, 300, 1000):
            learner = OSKAAR(loss, kernel, lam=lam, budget=budget)
            seconds = timed(learner.partial_fit, X, ys)
            found[budget] = 1 - learner.total_loss / learner.rounds
            print(f"     {name}, budget {budget}: {found[budget]:.4f} in {seconds:.1f} s, {learner.cost()!r}")
        print(f"     {name}: exact {exact:.4f}, repeat-last {last:.3f}, most frequent {most:.3f}")
        budget, goal = wanted[name]
        report(f"{name}: exact minus budget {budget}", exact - found[budget], goal)
        table[name] = (exact, found)
    return table


def plot(table, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for (name, (exact, found)), colour, mark in zip(
        table.items(), ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True
    ):
        axes.semilogx(list(found), list(found.values()), color=colour, marker=mark, label=name)
        axes.axhline(exact, color=colour, linestyle=":", linewidth=1)
    axes.set_xlabel("budget: inputs kept")
    axes.set_ylabel("example-F1 (dotted: all inputs)")
    axes.legend()
    figure.savefig(path)
    print(f"     wrote {path}")


def whole_streams(folder):
    X, ys = pollution(folder, hours=10**9)
    loss = losses.Ordinal(6)
    rivals = [replay(rival(loss), X, ys).mean_loss for rival in (RepeatLast, MostFrequent)]
    for learner in (OSKAAR(loss, budget=256), Ensemble(loss, budget=128)):
        seconds = timed(learner.partial_fit, X, ys)
        print(
            f"     PM2.5, {len(ys)} hours in {seconds:.0f} s: {learner!r}: {learner.total_loss / len(ys):.3f}, "
            f"repeat-last {rivals[0]:.3f}, majority {rivals[1]:.3f}; {learner.cost()!r}"
        )
    path = folder / "circular" / "synop_8stations_2015_2019.csv.gz"
    for make, name in ((OSKAAR, "OSKAAR"), (Ensemble, "Ensemble")):
        errors, last, rounds, start = [], [], 0, time.perf_counter()
        for station in STATIONS:
            X, now, ys = wind(path, station, 10**9)
            learner = make(losses.Circular(), budget=128)
            turned = np.round(np.degrees(ys - now)) * np.pi / 180
            predicted = replay(learner, X, turned, keep_estimates=False).predictions
            errors.append(degrees(now + predicted, ys) * len(ys))
            last.append(degrees(now, ys) * len(ys))
            rounds += len(ys)
        print(
            f"     wind, {rounds} rounds at 8 stations in {time.perf_counter() - start:.0f} s, {name}: mean error "
            f"{sum(errors) / rounds:.2f} degrees, persistence {sum(last) / rounds:.2f}"
        )


def main():
    arguments = arguments_with_folder(__doc__)
    arguments.add_argument("--rounds", type=int, default=1_000_000)
    arguments.add_argument("--restarts-at", type=int, default=20_000, help="100000 takes minutes")
    arguments.add_argument("--ensemble-rounds", type=int, default=20_000, help="1000000 takes most of an hour")
    arguments.add_argument("--only", choices=["speed", "ensemble", "budgets", "streams"])
    arguments.add_argument("--plot", help="write accuracy against budget to this file")
    given = arguments.parse_args()
    if given.only in (None, "speed"):
        ageing()
        million(given.rounds)
        stalls()
        beside_river()
        beside_one_vs_rest()
        restarts(given.restarts_at)
    if given.only in (None, "ensemble"):
        ensemble_stalls()
        ensemble_beside_forest()
        ensemble_beside_salami()
        ensemble_for_ever(given.ensemble_rounds)
    if not given.folder.is_dir():
        print(f"     no streams in {given.folder}: nothing more to measure")
        return
    if given.only in (None, "budgets"):
        table = budgets(given.folder)
        if given.plot:
            plot(table, given.plot)
    if given.only in (None, "streams"):
        whole_streams(given.folder)


if __name__ == "__main__":
    main()
