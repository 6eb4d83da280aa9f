"""Learned transitions: each weight of the chain alone, and the one that is chosen online, by the task's own loss.

Words of handwritten letters (500 of one fold, shuffled) and universal POS tags (the first 400 sentences of EWT's
development file). Each has rows of its own place only, and rows that contain those of the places before and after it.
Every round is answered before it is learned; the loss is the mean share of wrong places.
"""

import zlib

import numpy as np
from common import arguments_with_folder, report
from scipy.sparse import csr_array, hstack, vstack
from sequences import read_words

from oskaar import OSKAAR, Ensemble, losses, replay
from oskaar.losses.markov import WEIGHTS
from oskaar.streams import read_conllu

WIDTH = 2**14


def beside(x):
    """Rows with those before and after them, 0 at the ends."""
    if isinstance(x, np.ndarray):
        wide = np.pad(x, [(1, 1), (0, 0)])
        return np.hstack([wide[:-2], x, wide[2:]])
    zero = csr_array((1, x.shape[1]))
    wide = vstack([zero, x, zero]).tocsr()
    return csr_array(hstack([wide[:-2], x, wide[2:]]))


def letters(folder):
    words = [w for w in read_words(folder) if w[2] == 1]
    chosen = np.random.default_rng(0).permutation(len(words))[:500]
    return [words[i][0] for i in chosen], [words[i][1] for i in chosen], 26


def token(form):
    """The columns of a word: itself, its endings, how it begins, and what it is made of."""
    low = form.lower()
    names = [f"word {low}", *(f"end {low[-n:]}" for n in (1, 2, 3)), f"first {form[0]}"]
    names += [f"capital {form[0].isupper()}", f"digits {form.isdigit()}", f"letters {form.isalpha()}"]
    return sorted({zlib.crc32(name.encode()) % WIDTH for name in names})


def tags(folder):
    sentences = read_conllu(folder / "tree" / "en_ewt-ud-dev.conllu.gz")[:400]
    xs = []
    for sentence in sentences:
        columns = [token(form) for form in sentence.forms]
        places = np.repeat(np.arange(len(columns)), [len(c) for c in columns]), np.concatenate(columns)
        xs.append(csr_array((np.ones(len(places[0])), places), shape=(len(columns), WIDTH)))
    ys = [sentence.pos for sentence in sentences]
    return xs, ys, sorted({tag for y in ys for tag in y})


def alone(loss, estimates, ys):
    """The mean loss of each decoder by itself."""
    space, paid = loss.space(), np.zeros(len(WEIGHTS))
    for G, y in zip(estimates, ys, strict=True):
        paid += [loss(z, y) for [z] in space.decode_each(G, [len(G)])]
        space = space.extended(y)
    return paid / len(ys)


def main():
    folder = arguments_with_folder(__doc__).parse_args().folder
    if not folder.is_dir():
        print("     the words and sentences are not there: nothing to run")
        return
    for name, (xs, ys, alphabet) in {"letters": letters(folder), "tags": tags(folder)}.items():
        for rows in ("alone", "with neighbours"):
            for make in (lambda loss: OSKAAR(loss, lam=0.3), Ensemble):
                loss = losses.Sequence(alphabet, "learned")
                learner = make(loss)
                result = replay(learner, xs if rows == "alone" else [beside(x) for x in xs], ys)
                paid, chosen = alone(loss, result.estimates, ys), result.losses.mean()
                what = f"{name}, rows {rows}, {type(learner).__name__}"
                each = ", ".join(f"{w:g}: {loss:.4f}" for w, loss in zip(WEIGHTS, paid, strict=True))
                print(f"     {what}: chosen {chosen:.4f}; weights of the chain {each}", flush=True)
                report(f"{what}: over the better of chain and row by row", chosen / min(paid[0], paid[-1]), 1.01)


if __name__ == "__main__":
    main()
