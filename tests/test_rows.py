"""Rows in any container, with texts, times, categories and gaps: read by a schema that is learned online."""

import dataclasses
import datetime as dt
import pickle
from collections import namedtuple

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

import oskaar
from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, kernels, losses, replay
from oskaar.schema import Schema
from oskaar.schema.cells import plain
from oskaar.schema.columns import BUCKETS
from oskaar.schema.kinds import column_of
from oskaar.schema.tables import of_mappings

LOSS = losses.ZeroOne("ab")
START = dt.datetime(2024, 1, 1)
WORDS = ["refund", "money", "card", "broken", "late", "parcel", "hello", "thanks", "invoice"]


def mixed_rows(n, seed=0):
    """Dict rows of every kind, and labels that depend on several columns."""
    rng = np.random.default_rng(seed)
    rows, ys = [], []
    for i in range(n):
        channel, amount = ["web", "shop", "phone"][rng.integers(3)], float(rng.normal())
        text = " ".join(rng.choice(WORDS, size=4))
        row = {"amount": amount, "channel": channel, "subject": text, "paid": bool(rng.integers(2))}
        row |= {
            "created": START + dt.timedelta(hours=7 * i),
            "id": f"no-{i}",
            "tags": list(rng.choice(WORDS, size=2)),
        }
        if rng.random() < 0.2:
            row["amount"] = None
        rows.append(row)
        ys.append("ab"[int((amount > 0) ^ (channel == "web"))] if rng.random() < 0.9 else "a")
    return rows, ys


ROWS, YS = mixed_rows(40)
ABSENT = "absent"
MAKE = {
    "oskaar": lambda **how: OSKAAR(LOSS, **how),
    "budget": lambda **how: OSKAAR(LOSS, budget=6, **how),
    "salami": lambda **how: SALAMI(LOSS, **how),
    "ensemble": lambda **how: Ensemble(LOSS, **how),
}
makes = pytest.mark.parametrize("make", MAKE)


# ------------------------------------------------------------------ the same numbers in any container


@dataclasses.dataclass
class Point:
    a: float
    b: float


Pair = namedtuple("Pair", "a b")
CONTAINERS = {
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: [tuple(x) for x in X.tolist()],
    "dicts": lambda X: [{"a": a, "b": b} for a, b in X.tolist()],
    "dicts in another order": lambda X: [
        {"a": a, "b": b} if i % 2 == 0 else {"b": b, "a": a} for i, (a, b) in enumerate(X)
    ],
    "named tuples": lambda X: [Pair(*x) for x in X.tolist()],
    "dataclasses": lambda X: [Point(*x) for x in X.tolist()],
    "Series": lambda X: [row for _, row in pd.DataFrame(X, columns=["a", "b"]).iterrows()],
    "a frame": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "a nullable frame": lambda X: pd.DataFrame(X, columns=["a", "b"]).convert_dtypes(),
    "texts": lambda X: [{"a": repr(a), "b": repr(b)} for a, b in X.tolist()],
}


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(CONTAINERS)), st.sampled_from(list(MAKE)))
def test_the_same_numbers_in_any_container(seed, container, make):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 2)) * [1.0, 1000.0] + [0.0, 5.0]
    ys = ["ab"[int(x > 0)] for x in X[:, 0]]
    rows = CONTAINERS[container](X)
    wanted = replay(MAKE[make](), X, ys).estimates
    np.testing.assert_allclose(replay(MAKE[make](), rows, ys).estimates, wanted, atol=1e-10, rtol=0)
    learner = MAKE[make]()
    for x, y in zip(rows.itertuples(index=False) if hasattr(rows, "itertuples") else rows, ys):
        learner.learn_one(x, y)
    np.testing.assert_allclose(learner.estimate(X[3].tolist()), MAKE[make]().fit(X, ys).estimate(X[3]), atol=1e-10)


@pytest.mark.parametrize("nothing", [None, float("nan"), np.nan, pd.NA, pd.NaT, "", " ", np.ma.masked, ABSENT])
def test_what_is_missing(nothing):
    """All of these are the same, and NaN in an array too."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    ys = ["ab"[int(x > 0)] for x in X[:, 0]]
    gone = np.random.default_rng(1).random(12) < 0.4
    rows = [
        {"a": a} if g and nothing is ABSENT else {"a": a, "b": nothing if g else b}
        for (a, b), g in zip(X.tolist(), gone)
    ]
    X[gone, 1] = np.nan
    wanted = replay(OSKAAR(LOSS), X, ys)
    np.testing.assert_allclose(replay(OSKAAR(LOSS), rows, ys).estimates, wanted.estimates, atol=1e-10)
    assert np.isfinite(wanted.estimates).all()


def test_a_missing_number_is_the_mean_and_a_flag():
    table = of_mappings([{"a": 1.0}, {"a": None}, {"a": 4.0}])
    assert Schema().read(table).encode(table).tolist() == [[1.0, 0.0], [2.5, 1.0], [4.0, 0.0]]


# ------------------------------------------------------------------ kinds, against the long way


def test_rows_as_numbers_the_long_way():
    rows, _ = mixed_rows(30)
    table = of_mappings(rows)
    schema = Schema({"subject": "left out", "tags": "left out"}).read(table)
    kinds = {"amount": "number", "channel": "category", "paid": "number", "created": "time"}
    np.testing.assert_allclose(schema.encode(table), naive.encoded_rows(rows, kinds), atol=1e-12)
    assert schema.features == 1 + 1 + 1 + 3  # all in January
    made = Schema({name: "left out" for name in rows[0] if name != "subject"}).read(table).encode(table)
    texts = [row["subject"] for row in rows]
    for i, text in enumerate(texts):
        wanted = np.zeros(BUCKETS)
        for bucket, weight in naive.hashed_words("subject", text, texts).items():
            wanted[bucket] = weight
        np.testing.assert_allclose(made[[i], :].toarray()[0], wanted, atol=1e-12)


def test_of_many_texts_some_tell_how_common_a_word_is():
    texts = [None, *(f"the word{i} {'odd' if i % 2 else 'even'}{i % 3}" for i in range(3000))]
    column = column_of("a", texts, "text")
    assert column.texts == len(texts[1::3]) == max(column.seen.values())
    for i in range(2):
        row = dict(sorted(column.entries([texts[i + 1]], False)[0].items()))
        expected = naive.hashed_words("a", texts[i + 1], texts[1::3])
        assert row == pytest.approx(dict(sorted(expected.items())), abs=1e-12)


def test_the_schema_is_shown():
    rows, ys = mixed_rows(80)
    assert repr(Ensemble(LOSS).fit(rows, ys).schema).split("; ") == [
        f"amount: number, {sum(row['amount'] is None for row in rows[:64])} missing",
        "channel: category, 3 values",
        "subject: text, hashed words",
        "paid: boolean",
        "created: time (hour, weekday, trend)",
        "id: left out, 64 different values in 64 rows",
        "tags: tokens, hashed",
    ]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1.0, "n/a", 3.0], "number, 1 missing"),
        (["1", "2.5", "-3e2"], "number"),
        (["007", "008"], "category, 2 values"),
        ([True, False, None], "boolean, 1 missing"),
        (["2024-01-01", "2024-02-01T10:00"], "time (hour, weekday, month, trend)"),
        (["red", "blue"] * 3, "category, 2 values"),
        ([f"u{i}" for i in range(20)], "left out, 20 different values in 20 rows"),
        ([f"u{i // 2}" for i in range(200)], "category, 100 values, hashed"),
        (["a b c d", "e f g"], "text, hashed words"),
        ([None, None], "left out, no values"),
        ([np.array(1.0), np.array(2)], "number"),
        ([np.array("2024-01-01", "datetime64[D]")], "time (trend)"),
        (["x"] * 150 + ["y"] * 2 + ["z"] * 2, "category, 3 values, 2 rare ones as one"),
    ],
)
def test_kinds(cells, kind):
    assert column_of("c", [plain("c", cell) for cell in cells]).describe() == kind


def test_categories_are_one_apart_and_unseen_ones_nothing():
    column = column_of("c", ["x", "y", "z"])
    E = column.dense(["x", "y", "new"], refuse=False)
    assert np.linalg.norm(E[0] - E[1]) == pytest.approx(1.0)
    assert E[2].tolist() == [0.0, 0.0, 0.0]


def test_dirty_cells():
    rows = [{"a": float(i)} for i in range(12)] + [{"a": "n/a"}]
    ys = "ab" * 6 + "a"
    assert repr(OSKAAR(LOSS).fit(rows, ys).schema) == "a: number"  # read at 8 rows
    strict = OSKAAR(LOSS, schema=Schema(dirty="refuse")).fit(rows[:12], ys[:12])
    before = pickle.dumps(strict)
    with pytest.raises(ValueError, match="column 'a' must be a number, got 'n/a'"):
        strict.learn_one(rows[12], "a")
    assert pickle.dumps(strict) == before


def test_a_schema_that_is_given():
    rows = [{"zip": 1000.0 + i % 3, "n": "5"} for i in range(10)]
    learner = Ensemble(LOSS, schema={"zip": "category"}).fit(rows, "ab" * 5)
    assert repr(learner.schema) == "zip: category, 3 values; n: number"
    assert learner.get_params()["schema"] == {"zip": "category"}
    assert repr(type(learner)(**learner.get_params(deep=False)).schema) == "no rows yet; zip: category"
    for bad, message in (({"a": "float"}, "column 'a' must be one of number"), ([1], "must be a dict of kinds")):
        with pytest.raises((ValueError, TypeError), match=message):
            Ensemble(LOSS, schema=bad)
    with pytest.raises(ValueError, match="schema= is for the default kernels"):
        OSKAAR(LOSS, kernels.Linear(), schema={"a": "number"})


# ------------------------------------------------------------------ learning


@pytest.mark.parametrize("make", few(MAKE, 3))
def test_however_it_is_run(make):
    """Loops, replays, many at once, saved and resumed in between; columns are read anew on the way."""
    a, b, c = (MAKE[make]() for _ in range(3))
    estimates = []
    for t, (x, y) in enumerate(zip(ROWS, YS)):
        estimates.append(a.estimate(x))
        state = pickle.dumps(a) if t % 4 == 0 else None
        z = a.predict_one(x)
        assert state is None or pickle.dumps(a) == state
        a.learn_one(x, y)
        assert z in "ab"
        if t in (1, 5, 21):
            a = oskaar.from_bytes(a.to_bytes())
    np.testing.assert_allclose(replay(b, ROWS, YS).estimates, estimates, atol=1e-9)
    c.learn_many(ROWS, YS)
    assert a.surrogate_loss == c.surrogate_loss
    for x in ROWS[::7]:
        np.testing.assert_array_equal(a.estimate(x), c.estimate(x))
    assert a.predict(ROWS) == [a.predict_one(x) for x in ROWS]


@makes
def test_nothing_looks_ahead(make):
    """Rows whose columns turn out to be something else do not change the rounds before them."""
    rows = [{"a": float(i % 3), "b": float(i)} for i in range(9)]
    rows += [{"a": "red", "b": f"text of row {i}", "c": i} for i in range(21)]
    ys = ["ab"[i % 2] for i in range(30)]
    whole = replay(MAKE[make](), rows, ys)
    for n in (3, 9, 10, 17):
        np.testing.assert_array_equal(replay(MAKE[make](), rows[:n], ys[:n]).losses, whole.losses[:n])
        np.testing.assert_allclose(replay(MAKE[make](), rows[:n], ys[:n]).estimates, whole.estimates[:n], atol=1e-9)


def test_a_column_is_read_anew():
    rows = [{"a": 1.0}] * 3 + [{"a": "red" if i % 2 else "blue"} for i in range(29)]
    learner = OSKAAR(LOSS)
    for x, y in zip(rows[:6], "aaabab"):
        learner.learn_one(x, y)
    assert repr(learner.schema) == "a: number, 1 missing"  # 4 rows were read
    learner.learn_many(rows[6:], ["ab"[i % 2] for i in range(26)])
    assert repr(learner.schema) == "a: category, 3 values"
    assert (learner.predict_one({"a": "red"}), learner.predict_one({"a": "blue"})) == ("a", "b")


def test_bags_of_words_are_compared_by_cosine():
    rng = np.random.default_rng(0)
    rows = [{f"w{j}": float(rng.integers(1, 4)) for j in rng.choice(60, size=6, replace=False)} for _ in range(40)]
    ys = ["ab"[int("w1" in row or "w2" in row)] for row in rows]
    silent, given_ = SALAMI(LOSS), SALAMI(LOSS, kernels.Cosine() + 1.0)
    np.testing.assert_allclose(
        replay(silent, rows, ys).estimates[4:], replay(given_, rows, ys).estimates[4:], atol=0.2
    )
    assert silent.schema.bag
    for x in rows[:5]:
        np.testing.assert_allclose(silent.estimate(x), given_.estimate(x), atol=1e-9)


def test_experts_for_each_kind():
    learner = Ensemble(LOSS).fit(ROWS, YS)
    names = list(learner.expert_weights())
    for kind in ("smooth", "linear", "rough", "numbers", "text"):
        assert any(name.startswith(f"ridge, {kind}, lam ") for name in names)
    assert not any("numbers" in name for name in Ensemble(LOSS).fit([[0.0]] * 5, "ababa").expert_weights())


# ------------------------------------------------------------------ names


FRAME = pd.DataFrame(ROWS)


def frames():
    yield FRAME
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    yield polars.DataFrame(ROWS)
    yield arrow.Table.from_pylist(ROWS)


def test_frames_of_every_package():
    wanted = replay(OSKAAR(LOSS), ROWS, YS).estimates
    for frame in frames():
        np.testing.assert_allclose(replay(OSKAAR(LOSS), frame, YS).estimates, wanted, atol=1e-10)
        np.testing.assert_allclose(
            [OSKAAR(LOSS).partial_fit(frame, YS).estimate(ROWS[0])], [OSKAAR(LOSS).fit(ROWS, YS).estimate(ROWS[0])]
        )


@pytest.mark.parametrize("kernel", [None, kernels.Gaussian() + 1.0])
@pytest.mark.parametrize("kind", [OSKAAR, SALAMI, BatchILE, Ensemble])
def test_names_are_respected(kind, kernel):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "b", "c"])
    ys = ["ab"[int(v > 0)] for v in frame["a"]]
    model = kind(LOSS, kernel).fit(frame, ys)
    assert model.predict(frame[["c", "a", "b"]]) == model.predict(frame) == model.predict(frame.to_numpy())
    for bad, message in ((frame[["a", "b"]], "'c' missing"), (frame.assign(d=1.0), "'d' must not be there")):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
        if kind is not BatchILE:
            before = pickle.dumps(model)
            with pytest.raises(ValueError, match=message):
                model.partial_fit(bad, ys)
            with pytest.raises(ValueError, match=message):
                replay(model, bad, ys)
            assert pickle.dumps(model) == before
            model.partial_fit(frame[["c", "a", "b"]], ys)


def test_rows_without_names_after_rows_with_names():
    learner = OSKAAR(LOSS).fit([{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}], "ab")
    assert np.array_equal(learner.estimate([1.0, 2.0]), learner.estimate({"b": 2.0, "a": 1.0}))
    with pytest.raises(TypeError, match="must be a row with names"):
        learner.learn_one([1.0, 2.0, 3.0], "a")


def test_rows_in_lists_with_cells_of_every_kind():
    """Lists and tuples without names, also with lists in them; also after rows with names."""
    rows = [[1.0 * i, "red" if i % 2 else "blue", ["a", "b"], dt.date(2024, 1, 1 + i), None] for i in range(20)]
    named = [dict(zip("abcde", row)) for row in rows]
    for given_ in (rows, [tuple(row) for row in rows]):
        learner = OSKAAR(LOSS).fit(given_, "ab" * 10)
        assert repr(learner.schema).startswith("0: number; 1: category, 2 values; 2: tokens, hashed; 3: time (")
        one = OSKAAR(LOSS)
        for x, y in zip(given_, "ab" * 10):
            one.learn_one(x, y)
        np.testing.assert_allclose(one.estimate(given_[3]), learner.estimate(given_[3]), atol=1e-10)
    by_name = OSKAAR(LOSS).fit(named, "ab" * 10)
    np.testing.assert_array_equal(by_name.estimate(rows[3]), by_name.estimate(named[3]))


def test_a_frame_of_one_row_is_a_row():
    learner = Ensemble(LOSS).fit(ROWS, YS)
    for frame in frames():
        one = frame.slice(3, 1) if hasattr(frame, "slice") else frame[3:4]
        np.testing.assert_array_equal(learner.estimate(one), learner.estimate(ROWS[3]))
        ticket, _ = learner.ask(one)
        learner.forget(ticket)
        with pytest.raises(ValueError, match="x must be one row, got a frame of 40: many go to predict"):
            learner.learn_one(frame, "a")
    numbers = pd.DataFrame({"b": [1.0, 2.0], "a": [3.0, 4.0]})
    given_ = OSKAAR(LOSS, kernels.Gaussian() + 1.0).fit(numbers, "ab")
    np.testing.assert_array_equal(given_.estimate(numbers[["a", "b"]][:1]), given_.estimate([1.0, 3.0]))


def test_labels_of_every_package():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    wanted = replay(OSKAAR(LOSS), ROWS, YS).losses
    kinds = [pd.Series(YS), pd.Series(YS).astype("category"), polars.Series(YS), arrow.array(YS)]
    for labels in (*kinds, arrow.chunked_array([YS])):
        np.testing.assert_array_equal(replay(OSKAAR(LOSS), ROWS, labels).losses, wanted)


def test_sparse_rows_have_no_schema():
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(30, 20, 0.2, format="csr", random_state=0)
    learner = Ensemble(LOSS).fit(X, "ab" * 15)
    assert learner.schema is None
    again = oskaar.from_bytes(learner.to_bytes())
    assert again.partial_fit(X, "ab" * 15).predict(X) == learner.partial_fit(X, "ab" * 15).predict(X)


@pytest.mark.parametrize("make", [OSKAAR, Ensemble, BatchILE])
def test_notebooks_show_the_schema(make):
    assert "channel: category, 3 values" in make(LOSS).fit(ROWS, YS)._repr_html_()


@pytest.mark.parametrize(
    ("xs", "message"),
    [
        ([1.0, 2.0], r"A row of one number is \[x\]"),
        (["a text", "another"], r"one of a text \{'text': x\}"),
        ({"a": [1.0, 2.0]}, "got dict: a frame, or a list of rows"),
    ],
)
def test_what_is_no_table(xs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Ensemble(LOSS).fit(xs, "ab")


def test_tickets_keep_rows_as_they_came():
    late, now = OSKAAR(LOSS), OSKAAR(LOSS)
    ticket, _ = late.ask(dict(ROWS[0]))
    for each in (late, now):
        each.learn_many(ROWS[1:9], YS[1:9])
    late = oskaar.from_bytes(late.to_bytes())
    late.tell(ticket, YS[0])
    now.learn_one(ROWS[0], YS[0])
    np.testing.assert_array_equal(late.estimate(ROWS[3]), now.estimate(ROWS[3]))


# ------------------------------------------------------------------ bad input

BAD = {
    "infinite": ({"amount": float("inf")}, "got inf in column 'amount'"),
    "an unhashable": ({"channel": {"a": 1}}, "column 'channel' must have numbers"),
    "a list of numbers": ({"tags": [1, 2]}, "column 'tags' must have numbers"),
    "bytes": ({"channel": b"web"}, "column 'channel' must have numbers"),
    "a complex number": ({"amount": 1j}, "column 'amount' must have numbers"),
    "a huge number": ({"amount": 10**400}, "column 'amount' must have numbers"),
    "a long text": ({"subject": "word " * 2_000_000}, "column 'subject' must have texts of at most"),
    "a time out of range": (
        {"created": np.datetime64("20000-01-01")},
        "column 'created' must have times in the years",
    ),
    "a name that is not itself": ({float("nan"): 1.0}, "name of a column must be a text or a number"),
    "a name that is an object": ({b"amount": 1.0}, "name of a column must be a text or a number"),
    "too many columns": ({f"c{i}": [f"t{i}"] for i in range(10_001)}, "at most|numbers and texts"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("make", ["oskaar", "ensemble"])
def test_refused_rows(make, name):
    bad, message = BAD[name]
    learner = MAKE[make]()
    learner.learn_many(ROWS[:3], YS[:3])
    before = pickle.dumps(learner)
    for call in (
        lambda: learner.learn_one({**ROWS[3], **bad}, "a"),
        lambda: learner.predict_one({**ROWS[3], **bad}),
        lambda: learner.partial_fit([{**ROWS[3], **bad}], ["a"]),
    ):
        if name == "too many columns" and call is not None and "predict" in call.__code__.co_names[0]:
            continue
        try:
            with pytest.raises((ValueError, TypeError), match=message):
                call()
        except pytest.fail.Exception:
            assert name == "too many columns"  # a row by itself is read by the columns that are known
    assert pickle.dumps(learner) == before or name == "too many columns"


def test_a_row_of_another_stream():
    rows = [{"a": float(i), "b": float(-i)} for i in range(800)]
    learner = OSKAAR(LOSS, budget=4).fit(rows, "ab" * 400)
    assert learner.schema.settled
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match="some of the columns 'a', 'b', got 'x'"):
        learner.learn_one({"x": 1.0}, "a")
    assert pickle.dumps(learner) == before
    np.testing.assert_array_equal(learner.estimate({"a": 3.0, "b": -3.0, "new": 1.0}), learner.estimate(rows[3]))
    assert learner.predict_one({"a": 3.0}) in "ab"


def test_ten_to_the_fifth_columns():
    wide = {f"c{i}": 1.0 for i in range(100_000)}
    learner = OSKAAR(LOSS)
    learner.learn_one(wide, "a")
    assert learner.schema.bag
    with pytest.raises(ValueError, match="'c10000' is one more"):
        OSKAAR(LOSS, schema={"c0": "number"}).learn_one(wide, "a")
