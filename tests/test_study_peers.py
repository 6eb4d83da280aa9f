"""Peers of the study: on every kind that they name they answer what the loss takes, and learn."""

import doctest
import importlib
import sys
from functools import partial
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.sparse import csr_array

from oskaar import losses
from study.peers import PEERS, polytopes, refitting, river_heads, rows, targets
from study.peers.fenchel_young import POLYTOPES, FenchelYoung
from study.peers.polytopes import Permutahedron
from study.peers.targets import target_of
from study.protocol import Stream

MODULES = {"scikit-learn": "sklearn", "python-crfsuite": "pycrfsuite"}
HEAVY = {"CapyMOA", "RandomForest", "ExtraTrees", "HistGradientBoosting", "River ARF"}
"""Peers whose tests are slow: a JVM, forests."""
KINDS = ["subset", "sparse subset", "class", "ordinal", "ranking", "angle", "angles", "sphere", "simplex", "vector"]
KINDS += ["documents", "sequence", "sparse sequence", "tree"]
REFITTED, FEW = (
    {"KernelRidge", "LightGBM", "Linear", "SVM", "Neighbours"},
    {"class", "subset", "sparse subset", "vector", "sequence"},
)
"""Peers that are tested on a few kinds by default: fitting takes its time."""
LABELS = {"class": "b", "subset": frozenset({1}), "sequence": ("y",) * 4}
SLOW_STARTS = ("River linear", "River chain", "River RBF + linear", "Fenchel-Young OGD", "River iSOUP")
"""Peers whose first answers are those of small steps, or random."""
TREES = losses.DependencyTree()


def sets_above_0(X):
    return [frozenset(np.flatnonzero(x > 0).tolist()) for x in X]


def wide(X):
    """A csr array with 64-bit indices, as readers of large files make them; not every package takes those."""
    rows = csr_array(X)
    return csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape=rows.shape)


def easy(name, rounds=60, seed=0):
    """A stream that linear models learn from few rounds. Some labels that the losses list never come."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, 3))
    blocks = [rng.normal(size=(9 if name == "tree" else 4, 3)) for _ in range(rounds)]
    symbols = [tuple("xyz"[i] for i in np.argmax(b, axis=1)) for b in blocks]
    parts = {
        "subset": lambda: (X, sets_above_0(X), losses.F1(4)),
        "sparse subset": lambda: (wide(np.where(X > 0, X, 0.0)), sets_above_0(X), losses.F1(4)),
        "class": lambda: (X, ["abc"[int(np.argmax(x))] for x in X], losses.ZeroOne("abcd")),
        "ordinal": lambda: (X, [int(np.clip(np.rint(x.sum() + 2), 0, 4)) for x in X], losses.Ordinal(6)),
        "ranking": lambda: (X, [tuple(np.argsort(-x).tolist()) for x in X], losses.Kendall(3)),
        "angle": lambda: (X, [float(np.arctan2(x[1], x[0])) for x in X], losses.Circular()),
        "angles": lambda: (X, [np.arctan2(x[1:], x[0]) for x in X], losses.Angles(2)),
        "sphere": lambda: (X, [x / np.linalg.norm(x) for x in X], losses.Sphere(3)),
        "simplex": lambda: (X, [np.exp(x) / np.exp(x).sum() for x in X], losses.SimplexL2(3)),
        "vector": lambda: (X, [np.clip(2 * x[:2], -5, 5) for x in X], losses.Squared(2, low=-5, high=5)),
        "documents": lambda: (
            blocks,
            [tuple(np.clip(np.rint(b[:, 0] + 0.5), 0, 2).tolist()) for b in blocks],
            losses.Documents(),
        ),
        "sequence": lambda: (blocks, symbols, losses.Sequence("xyz-")),
        "sparse sequence": lambda: ([wide(b) for b in blocks], symbols, losses.Sequence("xyz-")),
        "tree": lambda: (blocks, [TREES.decode(b[:, :1]) for b in blocks], TREES),
    }
    kind = name.split()[-1].removesuffix("s") if name in ("angles", "sparse subset", "sparse sequence") else name
    xs, ys, loss = parts[name]()
    return Stream(name, kind, xs, ys, loss)


def cases():
    for peer in PEERS:
        for name in KINDS:
            stream = easy(name, rounds=1)
            if stream.kind in peer.kinds and peer.fits(stream):
                slow = peer.name in HEAVY or (peer.name in REFITTED and name not in FEW)
                marks = [pytest.mark.slow] if slow else []
                yield pytest.param(peer, name, id=f"{peer.name}: {name}", marks=marks)


CASES = list(cases())


def made(peer, stream, setting, seed=0):
    try:
        return peer.make(stream, setting, seed)
    except ImportError as problem:
        pytest.skip(f"{peer.package} is not here: {problem}")


def accepted(stream, z, y):
    if stream.kind == "documents":
        return sorted(z) == list(range(len(y)))
    stream.loss.check(z)
    return stream.kind not in ("sequence", "tree") or len(z) == len(y)


def same(a, b):
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


def answers_of(model, stream, ask_twice=False):
    answers = []
    for t, y in enumerate(stream.ys):
        x = stream.x(t)
        answers.append(model.predict_one(x))
        if ask_twice:
            assert same(answers[-1], model.predict_one(x))
        model.learn_one(x, y)
    return answers


def majority(stream):
    """The loss of the most frequent label; of the best constant in hindsight for numbers, symbol by symbol for
    sequences, and of the loss's first answer where rounds have nothing in common."""
    loss, ys = stream.loss, stream.ys
    if stream.kind in ("class", "subset", "ordinal", "ranking"):
        zs = [max(ys, key=ys.count)] * len(ys)
    elif loss.parts:
        g = np.concatenate([loss.embed(y) for y in ys]).mean(axis=0) if stream.kind == "sequence" else 0.0
        zs = [loss.decode(np.zeros_like(loss.embed(y)) + g) for y in ys]
    else:
        zs = [loss.decode(loss.embed_many([loss.check(y) for y in ys]).mean(axis=0))] * len(ys)
    return mean_loss(stream, zs)


def mean_loss(stream, zs, start=20):
    return np.mean([stream.loss(z, y) for z, y in zip(zs[start:], stream.ys[start:])])


@pytest.mark.parametrize(("peer", "name"), CASES)
def test_answers_are_accepted_and_repeatable(peer, name):
    """None first, then answers that the loss takes; asking changes nothing, and a seed gives one run."""
    stream = easy(name)
    answers = answers_of(made(peer, stream, peer.settings[0]), stream, ask_twice=True)
    assert answers[0] is None
    assert all(accepted(stream, z, y) for z, y in zip(answers[1:], stream.ys[1:]))
    short = stream.first(25)
    again = answers_of(made(peer, stream, peer.settings[0]), short)
    assert all(same(a, b) for a, b in zip(answers, again))


@pytest.mark.slow
@pytest.mark.parametrize(("peer", "name"), CASES)
def test_a_setting_beats_the_majority(peer, name):
    """The first that does is enough: defaults are often made for longer streams."""
    stream = easy(name)
    goal = majority(stream)
    assert any(mean_loss(stream, answers_of(made(peer, stream, s), stream)) < goal for s in peer.settings)


@pytest.mark.slow
@pytest.mark.parametrize(("peer", "name"), CASES)
def test_every_setting_has_answers(peer, name):
    stream = easy(name, rounds=13)
    for setting in peer.settings[1:]:
        answers = answers_of(made(peer, stream, setting), stream)
        assert all(accepted(stream, z, y) for z, y in zip(answers[1:], stream.ys[1:]))


@pytest.mark.parametrize(("peer", "name"), [case for case in CASES if case.values[1] in LABELS])
def test_one_label_only(peer, name):
    """Where one label is all there ever was, it is the answer."""
    stream = easy(name, rounds=12)
    y = LABELS[name]
    model = made(peer, stream, peer.settings[0])
    for t in range(12):
        model.learn_one(stream.x(t), y)
    if peer.name not in SLOW_STARTS or (name == "class" and peer.name in ("River linear", "River chain")):
        assert model.predict_one(stream.x(0)) == y
    assert accepted(stream, model.predict_one(stream.x(0)), y)


class Sealed(list):
    """Labels that no one may look at."""

    def __iter__(self):
        raise AssertionError("make looked at the labels")

    def __getitem__(self, item):
        raise AssertionError("make looked at the labels")


@pytest.mark.parametrize(("peer", "name"), CASES)
def test_make_does_not_look_at_labels(peer, name):
    stream = easy(name, rounds=5)
    sealed = Stream(name, stream.kind, stream.xs, Sealed(stream.ys), stream.loss)
    for setting in peer.settings:
        made(peer, sealed, setting)


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.package != "numpy"], ids=lambda peer: peer.name)
def test_a_missing_package_is_an_import_error(peer, monkeypatch):
    name = next(name for name in KINDS if easy(name, 1).kind in peer.kinds and peer.fits(easy(name, 1)))
    root = MODULES.get(peer.package, peer.package)
    for module in [root, *(m for m in sys.modules if m.startswith(root + "."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError):
        peer.make(easy(name, 1), peer.settings[0], 0)


def test_names_differ_and_the_first_setting_is_the_default():
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert all(2 < len(peer.settings) <= 6 for peer in PEERS)


@pytest.mark.parametrize("module", [targets, rows, refitting, polytopes, river_heads], ids=lambda m: m.__name__)
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(module.__name__), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed


# Targets


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("as_classes", [False, True])
def test_targets_go_there_and_back(name, as_classes):
    stream = easy(name, rounds=20)
    target = target_of(stream, as_classes)
    for y in stream.ys:
        assert target.rows(y).shape[1] == target.p
        assert stream.loss(target.read(target.rows(y)), y) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("name", KINDS)
def test_scores_of_any_quality_have_an_answer(name, bad):
    stream = easy(name, rounds=1)
    V = target_of(stream).rows(stream.ys[0])
    V[0, 0] = bad
    assert accepted(stream, target_of(stream).read(V), stream.ys[0])


def test_subset_limits_hold():
    stream = Stream("limits", "subset", np.zeros((1, 2)), [{0}], losses.SubsetHamming(4, at_least=2, at_most=2))
    assert target_of(stream).read([0.1, 0.3, 0.2, 0.0]) == {1, 2}
    assert target_of(stream).read([0.9, 0.7, 0.8, 0.0]) == {0, 2}


def test_best_f1_is_the_best_of_all_sizes(rng):
    for v in rng.random((50, 5)) ** 3:
        chosen = targets.best_f1(v)
        value = {m: 2 * np.sort(v)[::-1][:m].sum() / (m + v.sum()) for m in range(1, 6)}
        value[0] = np.prod(1 - v)
        got = 2 * v[chosen].sum() / (len(chosen) + v.sum()) if chosen else value[0]
        assert got == pytest.approx(max(value.values()))


def test_the_simplex_projection_is_the_nearest_point(rng):
    for v in 2 * rng.normal(size=(50, 4)):
        z = targets.on_simplex(v)
        assert z.min() >= 0
        assert z.sum() == pytest.approx(1)
        assert all((v - z) @ (corner - z) <= 1e-9 for corner in np.eye(4))


# Rows and refitting


def test_the_scaler_is_the_mean_and_deviation_of_all_rows(rng):
    X, scaler = rng.normal(3.0, 2.0, size=(30, 4)), rows.Scaler(4)
    for block in np.split(X, [1, 4, 5, 20]):
        scaler.learn(block)
    np.testing.assert_allclose(scaler.scaled(X), (X - X.mean(axis=0)) / X.std(axis=0))


def test_csr_rows_get_narrow_indices():
    history = rows.History(most=10)
    history.append(rows.block_of(wide(np.eye(2))), np.eye(2))
    assert wide(np.eye(2)).indices.dtype == np.int64
    assert history.rows().indices.dtype == history.rows().indptr.dtype == np.int32
    np.testing.assert_array_equal(history.rows().toarray(), np.eye(2))


def test_history_keeps_the_last_rows():
    history = rows.History(most=5)
    for i in range(6):
        history.append(np.full((2, 1), i), np.full((2, 1), i))
    assert history.rows().ravel().tolist() == [4, 4, 5, 5]
    assert history.rounds == 6


def test_refits_come_every_25_rounds_and_then_every_100():
    class Counted(refitting.Refitted):
        fits = ()

        def fit(self, X, Y):
            self.fits = (*self.fits, len(Y))

        def scores(self, X):
            return np.zeros((len(X), 2))

    stream = easy("vector", rounds=1150)
    model = Counted(target_of(stream))
    answers_of(model, stream)
    assert model.fits == (1, *range(5, 25, 5), *range(25, 1000, 25), 1000, 1100)


def test_refitted_models_do_not_see_units():
    """Rows are standardised with what was seen: other units and zeros of the columns change no answer."""
    pytest.importorskip("sklearn")
    peer = next(peer for peer in PEERS if peer.name == "KernelRidge")
    stream = easy("vector", rounds=25)
    moved = Stream("moved", "vector", stream.xs * [1e3, 1.0, 1e-3] + 7.0, stream.ys, stream.loss)
    a, b = (answers_of(peer.make(s, {}, 0), s)[1:] for s in (stream, moved))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_lambdarank_is_told_the_queries(monkeypatch):
    ranker = pytest.importorskip("lightgbm").LGBMRanker
    groups, fit = [], ranker.fit
    monkeypatch.setattr(ranker, "fit", lambda self, X, y, group: groups.append(group) or fit(self, X, y, group=group))
    stream = easy("documents", rounds=21)
    answers_of(next(peer for peer in PEERS if peer.name == "LightGBM lambdarank").make(stream, {}, 0), stream)
    assert [4] * 5 in groups
    assert groups[-1] == [4] * 20


def test_the_crf_uses_every_column():
    """A place's symbol is its largest column: one column alone is wrong in about half of the places."""
    pytest.importorskip("pycrfsuite")
    stream = easy("sequence")
    answers = answers_of(next(peer for peer in PEERS if peer.name == "CRFsuite").make(stream, {}, 0), stream)
    assert mean_loss(stream, answers) < 0.1


# Fenchel-Young losses


def polytope_at(kind, rng):
    """A polytope, scores, shared parameters and a vertex."""
    stream = easy(kind, rounds=8, seed=3)
    polytope = POLYTOPES[kind](target_of(stream, as_classes=True))
    v = polytope.vertex(stream.ys[int(rng.integers(8))])
    return polytope, 1.5 * rng.normal(size=v.shape), rng.normal(size=polytope.shared.shape), v


def slopes(function, at, step=1e-6):
    """Central differences."""
    found = np.zeros_like(at)
    for i in np.ndindex(at.shape):
        shift = np.zeros_like(at)
        shift[i] = step
        found[i] = (function(at + shift) - function(at - shift)) / (2 * step)
    return found


def value_of_theta(polytope, shared, v, theta):
    return polytope.value(theta, shared, v)


def value_of_shared(polytope, theta, v, shared):
    return polytope.value(theta, shared, v)


@pytest.mark.parametrize("kind", list(POLYTOPES))
def test_gradients_are_those_of_the_loss(kind, rng):
    for _ in range(5):
        polytope, theta, shared, v = polytope_at(kind, rng)
        mu, counts = polytope.mean(theta, shared)
        np.testing.assert_allclose(mu - v, slopes(partial(value_of_theta, polytope, shared, v), theta), atol=1e-6)
        expected = slopes(partial(value_of_shared, polytope, theta, v), shared)
        np.testing.assert_allclose(counts - polytope.counts(v), expected, atol=1e-6)
        assert polytope.value(theta, shared, v) >= 0


@pytest.mark.parametrize("kind", [*POLYTOPES, "sparse subset", "sparse sequence"])
def test_gradients_in_the_weights(kind, rng):
    stream = easy(kind, rounds=3)
    model = FenchelYoung(stream, {}, 0)
    model.W[:], model.shared[:] = rng.normal(size=model.W.shape), rng.normal(size=model.shared.shape)
    block, v = rows.block_of(stream.x(1)), model.polytope.vertex(stream.ys[1])

    def value(W):
        dense = rows.dense_of(block)
        return model.polytope.value(np.hstack([dense, np.ones((len(dense), 1))]) @ W, model.shared, v)

    np.testing.assert_allclose(model.gradients(block, v)[0], slopes(value, model.W), atol=1e-6)


def test_chains_are_enumerated(rng):
    """Marginals of places and neighbours are those of all sequences with weights exp(score)."""
    polytope, theta, shared, _ = polytope_at("sequence", rng)
    total, mu, counts = 0.0, np.zeros_like(theta), np.zeros_like(shared)
    for places in product(range(theta.shape[1]), repeat=len(theta)):
        v = np.eye(theta.shape[1])[list(places)]
        moves = sum(shared[a, b] for a, b in pairwise(places))
        weight = np.exp(sum(theta[i, a] for i, a in enumerate(places)) + moves)
        total, mu, counts = total + weight, mu + weight * v, counts + weight * polytope.counts(v)
    found = polytope.mean(theta, shared)
    np.testing.assert_allclose(found[0], mu / total)
    np.testing.assert_allclose(found[1], counts / total)


def test_the_permutahedron_projection_is_the_nearest_point(rng):
    stream = Stream("four", "ranking", np.zeros((1, 2)), [(0, 1, 2, 3)], losses.Kendall(4))
    polytope = Permutahedron(target_of(stream))
    for scale in (0.3, 2.0, 20.0):
        theta = scale * rng.normal(size=(1, 4))
        mu, _ = polytope.mean(theta, polytope.shared)
        assert all(((theta - mu)[0] @ (np.array(v) - mu[0])) <= 1e-9 for v in permutations(range(4)))
        found = polytope.mixture(mu)
        assert all(weight >= 0 for weight, _, _ in found)
        assert sum(weight for weight, _, _ in found) == pytest.approx(1)
        np.testing.assert_allclose(sum(weight * point for weight, point, _ in found), mu[0], atol=1e-9)


@pytest.mark.parametrize("kind", list(POLYTOPES))
def test_samples_have_mean_mu(kind, rng):
    polytope, theta, shared, _ = polytope_at(kind, rng)
    theta = theta / 2
    mu, _ = polytope.mean(theta, shared)
    samples = [polytope.sample(theta, shared, mu, rng) for _ in range(1500)]
    spread = 3.0 if kind == "ranking" else 1.0
    np.testing.assert_allclose(np.mean(samples, axis=0), mu, atol=0.06 * spread)


def test_randomised_decoding_has_its_probability():
    """The nearest class with p = 1 - min(1, 2 D / nu), a class by mu otherwise: D = 2 (1 - mu_max), nu = 2."""
    stream = easy("class", rounds=2)
    model = FenchelYoung(stream, {}, 0)
    model.learn_one(stream.x(0), "a")
    model.W[:] = 0.0
    model.W[-1] = np.log([0.7, 0.2, 0.05, 0.05])
    answers = []
    for model.seed in range(1500):
        answers.append(model.predict_one(stream.x(1)))
    assert np.mean([z != "a" for z in answers]) == pytest.approx(0.6 * 0.3, abs=0.03)
    assert FenchelYoung(stream, {"randomised": False}, 0).predict_one(stream.x(1)) is None


def test_theory_steps_are_the_formula():
    stream = easy("sparse subset", rounds=2)
    model = FenchelYoung(stream, {}, 0)
    x, y = stream.x(0), stream.ys[0]
    model.learn_one(x, y)
    v = model.polytope.vertex(y)[0]
    row = np.append(rows.dense_of(x)[0], 1.0)
    expected = -(1 - np.log(2)) * 4 / (row @ row) * np.outer(row, 0.5 - v)
    np.testing.assert_allclose(model.W, expected)


def test_an_unknown_step_is_refused():
    with pytest.raises(ValueError, match="step must be"):
        FenchelYoung(easy("class", 1), {"step": "fast"}, 0)
