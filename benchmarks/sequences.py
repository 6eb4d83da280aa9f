"""Sequences: decoders, replays of blocks, and handwritten words (OCR letters, trained on one fold, tested on nine).

Kernel and lam were chosen inside fold 1 by cross-validation over its words (three parts, letter accuracy with and
without transitions): Gaussian with an intercept, lengthscales 2.5, 3, 4 and lams 0.03 to 1, eight pairs in all. The
rule that joins transitions and estimates was chosen there too, among: sequence or marginals; estimates as they are or
freed of KAAR's shrinkage; clipped or projected on the simplex, smoothed by fixed amounts or by one of each symbol;
counts smoothed by 1, 1/2, 1/10 or by symbol shares; and, beside them, fixed weights on the logarithms of the chain.
With --all, every one of the 6877 words is answered before it is learned, in file order and in constant memory: the
same kernel and lam on Nystrom features. Two budgets were tried: 1000 letters, 0.7535 without and 0.8520 with learned
transitions; 3000 (--budget 3000), 0.8106 and 0.8971. Most frequent letter 0.0962, repeat the last 0.0544.
"""

import time

import numpy as np
from common import arguments_with_folder, best_of, report
from scipy.linalg import cholesky

from oskaar import OSKAAR, BatchILE, kernels, losses, replay
from oskaar.losses.markov import best_path, marginals

KERNEL, LAM = kernels.Gaussian(3.0) + 1.0, 0.1
BUDGET = 1000


def read_words(folder):
    """[(pixels (n, 128), letters, fold)], in file order."""
    with np.load(folder / "sequence" / "ocr_letters.npz") as file:
        pixels, letters = np.unpackbits(file["pixels_packed"], axis=1).astype(float), file["labels"]
        lengths, folds = file["lengths"], file["folds"]
    ends = np.cumsum(lengths)
    parts = [slice(end - n, end) for end, n in zip(ends, lengths, strict=True)]
    return [(pixels[part], tuple(letters[part].tolist()), int(f)) for part, f in zip(parts, folds, strict=True)]


def accuracy(answers, labels):
    """The share of letters that are right."""
    return np.mean([a == b for z, y in zip(answers, labels, strict=True) for a, b in zip(z, y, strict=True)])


def decoders(rng):
    """20 places, 10 symbols."""
    scores, pair = rng.normal(size=(20, 10)), np.where(rng.random((10, 10)) < 0.7, 0.0, -np.inf)
    ends, positive = np.zeros(10), np.exp(scores)
    path, sums = best_of(
        lambda: [best_path(scores, pair, ends, ends) for _ in range(20)],
        lambda: [marginals(positive, np.exp(pair), np.exp(ends), np.exp(ends)) for _ in range(20)],
        repeats=50,
    )
    report("Viterbi, 20 places, 10 symbols: microseconds", 1e6 / 20 * path, 150)
    print(f"     marginals, 20 places, 10 symbols: {1e6 / 20 * sums:.0f} microseconds")


def blocks(rng):
    """A block of 20 rows is one solve with 20 right-hand sides."""
    X, y = rng.normal(size=(3020, 8)), rng.integers(5, size=3000).tolist()
    learner = OSKAAR(losses.Sequence(5), lam=0.3).fit([X[:3000]], [y])
    block, rows = X[3000:], [X[i : i + 1] for i in range(3000, 3020)]
    together, apart = best_of(lambda: learner.estimate(block), lambda: [learner.estimate(row) for row in rows])
    report("a block of 20 rows over 20 rows alone, 3000 rows seen", together / apart, 0.5)


def batch_factor(X):
    """What a batch fit cannot do without."""
    K = KERNEL(X, X)
    K[np.diag_indices_from(K)] += LAM
    return cholesky(K, lower=True, overwrite_a=True, check_finite=False)


def replays(train):
    """The words of one fold: predict then learn, over kernel, Cholesky and decoding."""
    xs, ys = [x for x, _, _ in train], [y for _, y, _ in train]
    X = np.vstack(xs)
    for transitions in (None, "learned"):
        loss = losses.Sequence(26, transitions)
        result = replay(OSKAAR(loss, KERNEL, LAM), xs, ys)
        spaces = [loss.space()]
        for y in ys:
            spaces.append(spaces[-1].extended(y))
        G = result.estimates
        whole, floor, decoding = best_of(
            lambda: replay(OSKAAR(loss, KERNEL, LAM), xs, ys, keep_estimates=False),  # noqa: B023
            lambda: batch_factor(X),
            lambda: [space.decode_round(g) for space, g in zip(spaces, G, strict=False)],  # noqa: B023
            repeats=3,
        )
        name = f"replay of {len(X)} letters, transitions={transitions}"
        print(f"     {name}: {whole:.2f} s; kernel and Cholesky {floor:.2f} s, decoding {decoding:.2f} s")
        report(f"{name}, over kernel, Cholesky and decoding", whole / (floor + decoding), 2)


def one_fold(train, test):
    """Trained on one fold, tested on the others."""
    xs, ys, new, truth = ([w[i] for w in words] for words in (train, test) for i in (0, 1))
    letters, flat = [s for y in ys for s in y], [s for y in truth for s in y]
    print(f"     the most frequent letter: {np.mean(np.array(flat) == max(set(letters), key=letters.count)):.4f}")
    print(f"     repeat the last letter: {np.mean(np.array(flat[1:]) == flat[:-1]):.4f}")
    for how, whole in ((None, False), ("learned", False), ("learned", True)):
        loss = losses.Sequence(26, how, whole=whole)
        learners = [BatchILE(loss, KERNEL, LAM / len(letters))]  # the same estimate, not hedged
        learners += [OSKAAR(loss, KERNEL, LAM)] if how and not whole else []  # a solve for each of 47000 letters
        for learner in learners:
            start = time.perf_counter()
            answers = learner.fit(xs, ys).predict(new)
            words = np.mean([z == y for z, y in zip(answers, truth, strict=True)])
            name = f"{type(learner).__name__}, transitions={how}{', whole sequences' if whole else ''}"
            print(
                f"     {name}: letters {accuracy(answers, truth):.4f}, whole words {words:.4f}, "
                f"{time.perf_counter() - start:.1f} s",
                flush=True,
            )
        if how and not whole:
            report("OCR, trained on fold 1, tested on nine: letter accuracy", accuracy(answers, truth), 0.87, True)


def blind(words):
    """The baselines that do not look: the most frequent letter so far, and the last one again."""
    flat, seen, right = [s for _, y, _ in words for s in y], np.zeros(26), 0
    for _, y, _ in words:
        right += sum(s == seen.argmax() for s in y)
        np.add.at(seen, list(y), 1)
    print(
        f"     prequential, {len(words)} words, {len(flat)} letters: most frequent letter {right / len(flat):.4f}, "
        f"repeat the last letter {np.mean(np.array(flat[1:]) == flat[:-1]):.4f}",
        flush=True,
    )


def prequential(words, budget=None):
    """Every word is answered before it is learned, in file order."""
    xs, ys = [x for x, _, _ in words], [y for _, y, _ in words]
    late, answers = len(ys) // 2, {}
    for how in (None, "learned"):
        start = time.process_time()
        learner = OSKAAR(losses.Sequence(26, how), KERNEL, LAM, budget=budget)
        answers[how] = replay(learner, xs, ys, keep_estimates=False).predictions
        kind = "all letters kept" if budget is None else f"budget {budget}"
        print(
            f"     prequential, {kind}, transitions={how}: letters {accuracy(answers[how], ys):.4f}, second half "
            f"{accuracy(answers[how][late:], ys[late:]):.4f}, {time.process_time() - start:.0f} s of CPU",
            flush=True,
        )
    return answers


def agreement(words, budget):
    """A budget with room for every letter answers as the learner that keeps them all."""
    exact, features = (prequential(words, size) for size in (None, budget))
    for how in exact:
        print(f"     transitions={how}: the two agree on {accuracy(features[how], exact[how]):.4f} of the letters")


def main():
    parser = arguments_with_folder(__doc__)
    parser.add_argument("--folds", type=int, default=1, help="how many folds to run prequentially; 10 need 11 GB")
    parser.add_argument("--all", action="store_true", help="all words prequentially on a budget: some minutes")
    parser.add_argument("--budget", type=int, default=BUDGET, help="how many letters are kept for that")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    decoders(rng)
    blocks(rng)
    if not options.folder.is_dir():
        print("     the OCR words are not there: nothing more to run")
        return
    words = read_words(options.folder)
    train, test = [w for w in words if w[2] == 1], [w for w in words if w[2] != 1]
    replays(train)
    one_fold(train, test)
    some = [w for w in words if 1 <= w[2] <= options.folds or (options.folds >= 10)]
    blind(some)
    prequential(some)
    if options.all:
        agreement(train[:200], budget=2000)
        prequential(train, options.budget)
        blind(words)
        prequential(words, options.budget)


if __name__ == "__main__":
    main()
