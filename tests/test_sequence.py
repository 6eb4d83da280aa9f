"""Sequences of any length: Viterbi and the marginals against enumeration, and what is learned of transitions."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oskaar import OSKAAR, SALAMI, Ensemble, checks, features, from_bytes, kernels, losses, replay
from oskaar.losses import markov

BIO = ["O", "B-x", "I-x", "B-y", "I-y"]
BIOES = ["I-x", "O", "E-x", "B-x", "S-x"]


@st.composite
def chains(draw, forbidden=True):
    """Signed scores (n, k), pair (k, k), start and end (k,), with -inf here and there."""
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = draw(st.booleans())  # ties
    numbers = [rng.integers(-2, 3, size=s) * 1.0 if whole else rng.normal(size=s) for s in ((n, k), (k, k), k, k)]
    if forbidden:
        for part in numbers[1:]:
            part[rng.random(part.shape) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = -np.inf
    return numbers


@given(chains(), st.sampled_from([1, 20, 2**17]))
def test_best_path_is_the_best_of_all(chain, room):
    """For any sign, and however few sums are kept at a time; an error where nothing is allowed."""
    scores, pair, start, end = chain
    values = {path: naive.path_score(path, *chain) for path in naive.all_paths(*scores.shape)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markov, "_ROOM", room)
        if max(values.values()) == -np.inf:
            with pytest.raises(ValueError, match=f"allow no sequence of length {len(scores)}"):
                markov.best_path(scores, pair, start, end)
            return
        path = markov.best_path(scores, pair, start, end)
    assert values[tuple(path.tolist())] == pytest.approx(max(values.values()), abs=1e-9)


@given(chains(), st.integers(0, 100))
def test_equal_paths_do_not_depend_on_rounding(chain, seed):
    scores, pair, start, end = chain
    noise = 1e-15 * np.random.default_rng(seed).normal(size=scores.shape)
    if max(naive.path_score(path, *chain) for path in naive.all_paths(*scores.shape)) > -np.inf:
        path = markov.best_path(scores, pair, start, end)
        assert markov.best_path(scores + noise * np.abs(scores).max(), pair, start, end).tolist() == path.tolist()


@given(chains())
def test_marginals_are_those_of_all_sequences(chain):
    factors, pair, start, end = (np.exp(part) for part in chain)
    masks = pair > 0, start > 0, end > 0
    allowed = [p for p in naive.all_paths(*factors.shape) if naive.path_score(p, *chain) > -np.inf]
    assert markov.reachable(len(factors), *masks) == bool(allowed)
    if allowed:
        expected = naive.sequence_marginals(factors, pair, start, end)
        np.testing.assert_allclose(markov.marginals(factors, pair, start, end), expected, atol=1e-12)


def test_marginals_of_long_sequences(rng):
    """2000 places do not underflow: far from its ends a chain without evidence is as it is in the middle."""
    pair = rng.random((3, 3))
    P = markov.marginals(np.full((2000, 3), 1e-6), pair, np.ones(3), np.ones(3))
    np.testing.assert_allclose(P[1000], P[1001], atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1)


@st.composite
def sequence_losses(draw):
    """Sequences with and without a matrix, whose length 1 to 4 is mostly possible."""
    k = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["none", "square", "ends", "learned"]))
    if kind == "none":
        return losses.Sequence(k)
    if kind == "learned":
        return losses.Sequence(k, "learned")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = (rng.random((k + (kind == "ends"),) * 2) < 0.7).astype(int)
    matrix[0, 0] = 1
    if kind == "ends":
        matrix[0, -1] = matrix[-1, 0] = 1
    return losses.Sequence("abc"[:k], matrix)


@settings(max_examples=20)
@given(sequence_losses())
def test_contract(loss):
    """Embedding, decoder for weights of any sign, optimum and c_delta, on rounds of one to four rows."""
    lengths = {len(z) for z in loss.outputs()}
    assert lengths == {1, 2, 3, 4}
    checks.check_loss(loss)


def test_lengths_that_are_not_possible():
    loss = losses.Sequence("ab", [[0, 1, 0], [1, 0, 1], [1, 0, 0]])  # ab, abab, ...
    checks.check_loss(loss)
    assert {len(z) for z in loss.outputs()} == {2, 4}
    assert loss.decode(np.zeros((4, 2))) == ("a", "b", "a", "b")
    with pytest.raises(ValueError, match="no sequence of length 3"):
        loss.check("aba")
    with pytest.raises(ValueError, match="no sequence of length 3"):
        loss.decode(np.zeros((3, 2)))


@pytest.mark.parametrize(("tags", "closing"), [(BIO, False), (BIOES, True), (["B-x", "I-x"], False)])
def test_tags(tags, closing):
    """A sequence is allowed if and only if its spans are well formed."""
    matrix = losses.bio_transitions(tags)
    for n in (1, 2, 3, 4):
        for path in naive.all_paths(n, len(tags)):
            steps = [matrix[a, b] for a, b in zip([-1, *path], [*path, -1])]
            assert all(steps) == naive.spans_are_well_formed([tags[i] for i in path], closing)
    loss = losses.Sequence(tags, matrix)
    g = np.zeros((3, len(tags)))
    g[:, tags.index("I-x")] = 1.0
    assert loss.decode(g) == ("B-x", "I-x", "E-x" if closing else "I-x")


def test_labels_need_not_be_allowed():
    loss = losses.Sequence(BIO, losses.bio_transitions(BIO))
    assert loss.check(["I-x", "O"]) == ("I-x", "O")
    assert loss.optimum(("I-x", "O")) == 0.5
    learner = OSKAAR(loss, kernels.Linear() + 1.0, lam=0.01)
    learner.learn_one([[1.0], [0.0]], ["I-x", "O"])
    assert learner.regret == learner.total_loss - 0.5


# ------------------------------------------------------------------ learned transitions


@pytest.mark.parametrize("longest", [1, 20, 400])
def test_counts(longest, rng):
    """They are those of the labels, however many and however long; a space never changes."""
    labels = [tuple(rng.integers(3, size=rng.integers(1, longest + 1)).tolist()) for _ in range(300 // longest + 20)]
    spaces = [losses.Sequence(3, "learned").space()]
    for y in labels:
        spaces.append(spaces[-1].extended(y))
    for t, space in enumerate(spaces):
        np.testing.assert_array_equal(space.counts(), naive.transition_counts(labels[:t], 3))


WEIGHTS = [1.0, 0.75, 0.5, 0.25, 0.0]
WAYS = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0]])  # of three symbols


def one_hots_of(g, k):
    """The estimates of one-hot codes, free of KAAR's shrinkage; None where nothing is known."""
    return [v[:k] / np.sqrt(0.99 / (1 - 1 / k)) / (v[k] / 0.1) + 1 / k if v[k] > 1e-12 else None for v in g]


def sorted_words(rng, rounds=8, k=3):
    """Rows and labels of words whose symbols rise."""
    xs = [rng.normal(size=(rng.integers(1, 5), 2)) for _ in range(rounds)]
    return xs, [tuple(np.sort(rng.integers(k, size=len(x))).tolist()) for x in xs]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.1, 1.0]))
def test_answers_are_those_of_the_decoder_that_paid_least(seed, whole, bound, lam):
    """One by one and in chunks: the chain of the labels before a round, at the weight that was best before it."""
    rounds, labels = sorted_words(np.random.default_rng(seed))
    k, matrix = 3, WAYS if bound else None
    codes = np.array([np.append((np.eye(k)[s] - 1 / k) * np.sqrt(0.99 / (1 - 1 / k)), 0.1) for s in range(k)])
    twin = lambda x, y: naive.gaussian(x, y) + 1  # noqa: E731
    estimates = naive.oskaar(twin, rounds, [codes[list(y)] for y in labels], lam)
    loss = losses.Sequence(k, "learned", whole=whole, allowed=matrix)
    learner, history, expected = OSKAAR(loss, kernels.Gaussian() + 1.0, lam=lam), [], []
    for t, (x, y, g) in enumerate(zip(rounds, labels, estimates, strict=True)):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
        one_hots = one_hots_of(g, k)
        answers = [naive.decoded_sequence(one_hots, labels[:t], k, w, whole, matrix) for w in WEIGHTS]
        expected.append(answers[naive.leader(history)])
        assert learner.predict_one(x) == learner.predict_many([x])[0] == expected[-1]
        history.append([np.mean(np.array(z) != y) for z in answers])
        learner.learn_one(x, y)
        np.testing.assert_allclose(learner._paid, np.sum(history, axis=0), atol=1e-8)
    chunks = OSKAAR(loss, kernels.Gaussian() + 1.0, lam=lam)
    assert replay(chunks, rounds, labels).predictions == expected
    np.testing.assert_allclose(chunks._paid, learner._paid, atol=1e-12)
    assert learner.regret_bound() == np.inf  # nothing is claimed


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans())
def test_learned_transitions_with_allowed_answers(seed, whole):
    """Of the allowed sequences, the one with the least expected loss under Bayes' rule, or the most probable."""
    rng = np.random.default_rng(seed)
    k, n = 3, int(rng.integers(1, 5))
    matrix = (rng.random((k + 1, k + 1)) < 0.6).astype(int)
    matrix[0, 0] = matrix[0, k] = matrix[k, 0] = 1
    loss = losses.Sequence(k, "learned", whole=whole, allowed=matrix)
    space, labels = loss.space(), [tuple(rng.integers(k, size=4).tolist()) for _ in range(20)]
    for y in labels:
        space = space.extended(y)
    G = np.hstack([rng.choice([0.1, 0.5]) * rng.normal(size=(n, k)), rng.uniform(0.05, 0.1, size=(n, 1))])
    one_hots = one_hots_of(G, k)
    factors, chain = naive.learned_factors(one_hots, labels, k), naive.learned_chain(labels, k)
    logs = np.log(factors), *(np.log(part) for part in chain)
    P = naive.sequence_marginals(factors, *chain)
    values = {
        z: naive.path_score(z, *logs) if whole else sum(P[i, s] for i, s in enumerate(z))
        for z in naive.all_paths(n, k)
        if all(matrix[a, b] for a, b in zip([-1, *z], [*z, -1]))
    }
    z = space.decode_round(G)
    assert z in values
    assert values[z] == pytest.approx(max(values.values()), abs=1e-9)
    assert loss.optimum(z) == 0 == loss(z, z)


def test_learned_transitions_with_allowed_answers_in_a_stream(rng):
    """Answers obey the matrix from the first round on; those of each decoder are those without it where allowed."""
    tags = ["O", "B-x", "I-x"]
    ways = losses.bio_transitions(tags)
    free, bound = losses.Sequence(tags, "learned"), losses.Sequence(tags, "learned", allowed=ways)
    checks.check_loss(bound)
    rounds = [rng.normal(size=(n, 2)) for n in rng.integers(1, 7, size=40)]
    labels = [[tags[int(v[0] > 0) + int(v[0] > 0 and i > 0)] for i, v in enumerate(x)] for x in rounds]
    result = replay(OSKAAR(bound, kernels.Gaussian() + 1.0, lam=0.1), rounds, labels)
    assert all(naive.spans_are_well_formed(z, closing=False) for z in result.predictions)
    spaces, changed = [free.space(), bound.space()], 0
    for G, y in zip(result.estimates, labels, strict=True):
        for [z], [other] in zip(*(space.decode_each(G, [len(G)]) for space in spaces), strict=True):
            assert naive.spans_are_well_formed(other, closing=False)
            assert z == other or not naive.spans_are_well_formed(z, closing=False)
            changed += z != other
        spaces = [space.extended(y) for space in spaces]
    assert changed


def test_transitions_help(rng):
    """Noisy sights of 0, 1, 2, 0, 1, 2, ...: what comes next is known after a while."""
    labels = [tuple((int(s) + i) % 3 for i in range(6)) for s in rng.integers(3, size=150)]
    rounds = [np.eye(3)[list(y)] + rng.normal(size=(6, 3)) for y in labels]
    plain, chain, whole = (
        OSKAAR(losses.Sequence(3, how, whole=w), kernels.Gaussian(1.7) + 1.0, lam=0.3).fit(rounds[:100], labels[:100])
        for how, w in ((None, False), ("learned", False), ("learned", True))
    )
    assert plain.score(rounds[100:], labels[100:]) < -0.25
    assert chain.score(rounds[100:], labels[100:]) > -0.15
    assert whole.score(rounds[100:], labels[100:]) > -0.15


def neighbouring(rng, rounds, beside):
    """Noisy sights of a chain of 4 symbols; with those of the places before and after it in each row, or without."""
    pair, labels, xs = rng.dirichlet(np.full(4, 0.3), size=4), [], []
    for _ in range(rounds):
        y = [int(rng.integers(4))]
        while len(y) < 6:
            y.append(int(rng.choice(4, p=pair[y[-1]])))
        x = np.pad(np.eye(4)[y] + (0.3 if beside else 0.7) * rng.normal(size=(6, 4)), [(1, 1), (0, 0)])
        labels.append(tuple(y))
        xs.append(np.hstack([x[:-2], x[1:-1], x[2:]]) if beside else x[1:-1])
    return xs, labels


@pytest.mark.parametrize("make", [lambda loss: OSKAAR(loss, lam=0.3), SALAMI, Ensemble])
def test_the_choice_is_close_to_the_best_decoder(make, rng):
    """What is paid is at most that of each decoder alone and a little more."""
    for beside in (False, True):
        xs, ys = neighbouring(rng, 40, beside)
        learner = make(losses.Sequence(4, "learned"))
        paid = replay(learner, xs, ys).losses.sum()
        assert learner._paid.shape == (5,)
        assert paid == pytest.approx(learner.total_loss)
        assert paid <= learner._paid.min() + 1.5


@pytest.mark.parametrize(("make", "rounds"), [(lambda loss: OSKAAR(loss, lam=0.3), 20), (Ensemble, 10)])
def test_no_choice_depends_on_its_own_label_or_a_later_one(make, rounds, rng):
    """Answers up to round t stay what they were when labels from t on change; small sums change leaders early."""
    xs, ys = neighbouring(rng, rounds, beside=False)
    answers = replay(make(losses.Sequence(4, "learned")), xs, ys).predictions
    for t, change in itertools.product(range(1, rounds, 2), (1, 2, 3)):
        changed = [*ys[:t], *(tuple((s + change) % 4 for s in y) for y in ys[t:])]
        assert replay(make(losses.Sequence(4, "learned")), xs, changed).predictions[: t + 1] == answers[: t + 1]


def test_which_decoder_leads(rng):
    """The chain where rows are independent given their symbols; hardly any of it where the labels are no chain."""
    xs, ys = neighbouring(rng, 120, beside=False)
    learner = OSKAAR(losses.Sequence(4, "learned"), lam=0.3).partial_fit(xs, ys)
    assert WEIGHTS[int(learner._paid.argmin())] >= 0.5
    pairs = [np.sort(rng.integers(2, size=2)) for _ in range(300)]  # 00, 01, 11, and a row that holds both symbols
    rows = [np.tile(np.eye(2)[y].ravel(), (2, 1)) * [[1], [-1]] for y in pairs]
    rows = [x + 0.8 * rng.normal(size=x.shape) for x in rows]
    learner = OSKAAR(losses.Sequence(2, "learned"), lam=0.3).partial_fit(rows, pairs)
    assert WEIGHTS[int(learner._paid.argmin())] <= 0.5


def test_a_round_that_is_refused_leaves_the_account(rng):
    xs, ys = neighbouring(rng, 10, beside=False)
    learner = OSKAAR(losses.Sequence(4, "learned")).partial_fit(xs, ys)
    ticket, _ = learner.ask(xs[0])
    before = learner.to_bytes()
    for refused in (
        lambda: learner.learn_one(xs[0], ys[0][:3]),
        lambda: learner.tell(ticket, ys[0][:3]),
        lambda: learner.partial_fit(xs, [*ys[:-1], "no"]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            refused()
        assert learner.to_bytes() == before


def test_a_late_label_teaches_what_it_would_now(rng):
    """Decoders are judged when the label comes, by the estimate of then: the state is that of `learn_one`."""
    xs, ys = neighbouring(rng, 20, beside=True)
    late, now = (OSKAAR(losses.Sequence(4, "learned")).partial_fit(xs[:5], ys[:5]) for _ in range(2))
    ticket, z = late.ask(xs[5])
    late.partial_fit(xs[6:], ys[6:])
    now.partial_fit(xs[6:], ys[6:])
    late.tell(ticket, ys[5])
    now.learn_one(xs[5], ys[5])
    np.testing.assert_array_equal(late._paid, now._paid)
    assert late.predict_many(xs) == now.predict_many(xs)
    assert late.total_loss - now.total_loss == pytest.approx(late.loss(z, ys[5]) - replayed_loss(now, xs, ys))


def replayed_loss(learner, xs, ys):
    """What the last round of `now` cost in the test above: rounds 0 to 4, 6 to 19, then 5."""
    again = learner.like_new().partial_fit(xs[:5] + xs[6:], ys[:5] + ys[6:])
    return learner.loss(again.predict_one(xs[5]), ys[5])


def test_the_account_is_saved_and_checked(rng):
    xs, ys = neighbouring(rng, 30, beside=True)
    for learner in (OSKAAR(losses.Sequence(4, "learned")), Ensemble(losses.Sequence(4, "learned"))):
        learner.partial_fit(xs[:20], ys[:20])
        other = from_bytes(learner.to_bytes())
        np.testing.assert_array_equal(other._paid, learner._paid)
        assert replay(other, xs[20:], ys[20:]).predictions == replay(learner, xs[20:], ys[20:]).predictions
        learner._paid = learner._paid[:4]
        with pytest.raises(ValueError, match="what each decoder paid"):
            from_bytes(learner.to_bytes())


def test_accounts_are_merged(rng):
    """They add up, and a part can be taken away; rounds that another learner answered count."""
    xs, ys = neighbouring(rng, 30, beside=False)
    new = lambda: OSKAAR(losses.Sequence(4, "learned"), features=features.LinearMap(4))  # noqa: E731
    one, two = new().partial_fit(xs[:20], ys[:20]), new().partial_fit(xs[20:], ys[20:])
    before, total = one._paid, one._paid + two._paid
    np.testing.assert_allclose(one.merge(two)._paid, total)
    np.testing.assert_allclose(one.subtract(two)._paid, before, atol=1e-12)
    judged = new().learn_batch(xs[20:], ys[20:], answered_by=one)
    spaces = [one.space.decoded_by(i) for i in range(5)]
    G = [one.estimate(x) for x in xs[20:]]
    costs = [sum(one.loss(s.decode_round(g), y) for g, y in zip(G, ys[20:], strict=True)) for s in spaces]
    np.testing.assert_allclose(judged._paid, costs)
    assert judged.total_loss == pytest.approx(costs[naive.leader([one._paid])])
    assert not one.subtract(new().partial_fit(xs[:20], ys[:20]))._paid.any()


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("abd", r"unknown symbol 'd'.*'abd' has 3"),
        (["a", "d"], "unknown symbol 'd'"),
        ((), "at least one symbol"),
        (3, "must be a tuple of symbols, got 3"),
        ({"a", "b"}, "must be a tuple"),
        (None, "must be a tuple"),
        (["a", None], "unknown symbol None"),
        (np.zeros((2, 2)), "unknown symbol"),
    ],
)
def test_labels_that_are_refused(y, message):
    for transitions in (None, "learned", np.ones((3, 3))):
        with pytest.raises(ValueError, match=message):
            losses.Sequence("abc", transitions).check(y)


def test_labels_that_are_taken():
    loss = losses.Sequence(3)
    assert loss.check(np.array([0, 2, 1])) == loss.check([0, 2, 1]) == (0, 2, 1)
    assert losses.Sequence("abc").check("cab") == ("c", "a", "b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Sequence("ab", np.zeros((3, 3))), "allow nothing"),
        (lambda: losses.Sequence("ab", [[1, 0, 0], [0, 1, 1], [1, 0, 0]]), "allow nothing"),
        (lambda: losses.Sequence("ab", np.ones((2, 3))), r"shape \(2, 2\), or \(3, 3\)"),
        (lambda: losses.Sequence("ab", [[0.5, 0.5], [1, 0]]), "must be 0 or 1"),
        (lambda: losses.Sequence("ab", [[np.nan, 1], [1, 0]]), "must be 0 or 1"),
        (lambda: losses.Sequence("ab", "fixed"), "None, 'learned' or a 0/1 matrix"),
        (lambda: losses.Sequence("ab", whole=True), "needs transitions='learned'"),
        (lambda: losses.Sequence("ab", "learned", allowed=np.zeros((3, 3))), "allow nothing"),
        (lambda: losses.Sequence("ab", allowed=np.ones((2, 2))), "goes with transitions='learned'"),
        (lambda: losses.Sequence([]), "at least one symbol"),
        (lambda: losses.Sequence("aa"), "listed once"),
        (lambda: losses.bio_transitions(["O", "X-y"]), "look like 'B-city'"),
        (lambda: losses.bio_transitions(["O", 3]), "look like 'B-city'"),
    ],
)
def test_losses_that_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_names():
    assert repr(losses.Sequence(2)) == "Sequence([0, 1], transitions=None)"
    assert "'learned', whole=True" in repr(losses.Sequence(2, "learned", whole=True))
    assert "a matrix" in repr(losses.Sequence(2, np.ones((2, 2))))
    assert "'learned', allowed=a matrix" in repr(losses.Sequence(2, "learned", allowed=np.ones((2, 2))))


@pytest.mark.realdata
def test_handwritten_words(data):
    """Words of one fold, letters of others: transitions help, and are learned from 220 words."""
    with np.load(data / "sequence/ocr_letters.npz") as file:
        pixels, letters, lengths = np.unpackbits(file["pixels_packed"], axis=1), file["labels"], file["lengths"]
        folds = file["folds"]
    ends = np.cumsum(lengths)
    spans = [slice(end - n, end) for end, n in zip(ends, lengths, strict=True)]
    words = [spans[i] for i in np.flatnonzero(folds == 1)[::2][:220]] + [spans[i] for i in np.flatnonzero(folds == 2)]
    xs, ys = [pixels[w].astype(float) for w in words], [letters[w].tolist() for w in words]
    scores = []
    for how in (None, "learned"):
        learner = OSKAAR(losses.Sequence(26, how), kernels.Gaussian(3.0) + 1.0, lam=0.1).fit(xs[:220], ys[:220])
        scores.append(1 + learner.score(xs[220:400], ys[220:400]))
    assert scores[0] > 0.6
    assert scores[1] > scores[0] + 0.04
