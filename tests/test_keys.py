"""The stream of one key, without Spark: rows in order, late labels, limits in time, bad rows, state."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from oskaar import OSKAAR, features, losses
from oskaar.spark.columns import ABSENT, Columns, allowed, answer_type, cell_of, plain, type_of
from oskaar.spark.keys import KeyedStream, KeyState

LEARNER = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"key": "k", "at": np.arange(n, dtype=float), "a": rng.normal(size=n), "b": rng.normal(size=n)}
    )
    frame["y"] = np.where(frame.a > 0, "up", "down")
    frame["id"] = np.arange(n)
    return frame


def stream(learner=LEARNER, **settings):
    return KeyedStream(learner, Columns(("a", "b"), "y"), ("key",), **{"time": "at", **settings})


def loop(learner, frame):
    learner = learner.like_new()
    found = []
    for row in frame.itertuples():
        z = learner.predict_one([row.a, row.b])
        learner.learn_one([row.a, row.b], row.y)
        found.append((z, float(z != row.y)))
    return found


@pytest.mark.parametrize("learner", [LEARNER, OSKAAR(losses.ZeroOne(), budget=8)])
@pytest.mark.parametrize("size", [7, 30])
def test_answers_do_not_depend_on_the_batches(learner, size):
    """Rows in pieces, with the state through bytes between them, are those of a plain loop."""
    frame, s, data = table(30), stream(learner), None
    parts = []
    for lo in range(0, 30, size):
        out, state = s.step(s.restored(data, "k"), frame[lo : lo + size].sample(frac=1, random_state=lo), ("k",))
        data = state.to_bytes(s.settings)
        parts.append(out)
    out = pd.concat(parts)
    assert out.error.isna().all()
    assert list(zip(out.answer, out.loss)) == loop(learner, frame)
    assert out["at"].tolist() == frame["at"].tolist()
    assert state.learner.rounds == 30


def test_labels_that_come_late():
    """Questions are answered at once; labels are learned when they come; the loss is that of the answer then."""
    frame, s = table(12), stream(id="id")
    asked = frame.assign(y=None)
    told = frame.assign(a=np.nan, b=np.nan, at=frame["at"] + 20)
    out, state = s.step(s.fresh(), asked, ("k",))
    assert out.loss.isna().all()
    assert set(state.open) == set(range(12))
    state = s.restored(state.to_bytes(s.settings), "k")
    out2, state = s.step(state, told.iloc[::-1], ("k",))
    assert out2.answer.tolist() == out.answer.tolist()
    assert out2.loss.tolist() == [float(z != y) for z, y in zip(out.answer, frame.y)]
    assert (state.learner.rounds, state.open, state.learner.open_tickets) == (12, {}, [])
    again, _ = s.step(state, told.assign(at=99.0), ("k",))
    assert again.error.str.startswith("key 'k': no question with id = ").all()


def test_limits_in_time():
    frame = table(4)
    s = stream(id="id", timeout=5.0)
    _, state = s.step(s.fresh(), frame.assign(y=None), ("k",))
    out, state = s.step(state, frame.assign(a=np.nan, b=np.nan, at=7.5), ("k",))
    assert out.error.notna().tolist() == [True, True, True, False]  # asked at 0, 1, 2: older than 5
    assert state.learner.open_tickets == []
    s = stream(delay=2.0)
    out, state = s.step(s.fresh(), frame.assign(at=[10.0, 11.0, 12.0, 12.0]), ("k",))
    out, state = s.step(state, frame.assign(at=[9.0, 10.0, 11.0, 13.0]), ("k",))
    assert out.error.notna().tolist() == [True, False, False, False]
    assert "more than delay = 2 before the last row's" in out.error[0]
    assert state.last == 13.0
    s = stream(expire=5.0)
    out, state = s.step(s.fresh(), pd.concat([frame, frame.assign(at=frame["at"] + 9)]), ("k",))
    assert (state.learner.rounds, state.last) == (4, 12.0)  # a new learner after the pause
    assert out.answer.tolist() == 2 * [z for z, _ in loop(LEARNER, frame)]


def test_bad_rows_have_reasons_and_leave_no_trace():
    frame, s = table(20), stream(id="id")
    bad = pd.DataFrame(
        {
            "key": "k",
            "at": [0.5, 1.5, 2.5, np.nan, 4.5, 5.5],
            "a": [np.inf, 1.0, np.nan, 1.0, 1e9, np.nan],
            "b": [1.0, 1.0, np.nan, 1.0, 1.0, np.nan],
            "y": ["up", "left", "up", "up", "up", None],
            "id": [100, 101, 102, 103, 104, 105],
        }
    )
    out, _ = s.step(s.fresh(), pd.concat([frame, bad]), ("k",))
    good = out[out.error.isna()]
    assert list(zip(good.answer, good.loss)) == loop(LEARNER, frame)
    reasons = out.dropna(subset="error").set_index("id").error
    assert "x in column 'a', 'b': x must be finite, got inf" in reasons[100]
    assert "y in column 'y': unknown class 'left'" in reasons[101]
    assert "no question with id = 102 is open" in reasons[102]
    assert "the time in column 'at' is null" in reasons[103]
    assert "lam is too small" in reasons[104]
    assert "neither x" in reasons[105]
    out, _ = s.step(s.fresh(), frame, (None,))
    assert out.error.str.startswith("the key in column 'key' is null").all()


def test_labels_that_cannot_be_read():
    frame = table(3).assign(y=["1", "two", "0"])
    s = KeyedStream(OSKAAR(losses.ZeroOne(), features=features.LinearMap(2)), Columns(("a", "b"), "y", int), ("key",))
    out, state = s.step(s.fresh(), frame, ("k",))
    assert out.error[1].startswith("key 'k': y in column 'y': 'two' cannot be read, ValueError: invalid literal")
    assert state.learner.rounds == 2
    s = KeyedStream(s.learner, s.columns, ("key",), id="id")
    _, state = s.step(s.fresh(), frame.assign(y=None), ("k",))
    out, state = s.step(state, frame.assign(a=np.nan, b=np.nan), ("k",))
    assert out.error.notna().tolist() == [False, True, False]
    assert set(state.open) == {1}


def test_questions_without_an_id_and_asked_twice():
    frame = table(3).assign(y=None)
    s = stream()
    out, state = s.step(s.fresh(), frame, ("k",))
    assert out.answer.notna().all()
    assert state.open == {}
    s = stream(id="id")
    out, state = s.step(s.fresh(), frame.assign(id=7), ("k",))
    assert out.error.isna().tolist() == [True, False, False]
    assert "id = 7 is asked already" in out.error[1]
    bad, _ = s.step(state, frame.assign(a=np.nan, b=1.0, id=8), ("k",))
    assert bad.error.str.contains("x must be finite").all()


def test_open_questions_are_bounded():
    learner = LEARNER.like_new()
    learner.max_open = 5
    s = stream(learner, id="id")
    _, state = s.step(s.fresh(), table(9).assign(y=None), ("k",))
    assert set(state.open) == {4, 5, 6, 7, 8}
    assert len(state.learner.open_tickets) == 5


def test_a_state_of_other_settings_is_refused():
    s = stream()
    data = s.step(s.fresh(), table(3), ("k",))[1].to_bytes(s.settings)
    other = KeyedStream(LEARNER, Columns(("b", "a"), "y"), ("key",), time="at")
    with pytest.raises(ValueError, match=r"state of key 'k' was made with other settings.*new checkpointLocation"):
        other.restored(data, "k")
    assert isinstance(s.restored(data, "k"), KeyState)
    wider = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2), lam=2.0)
    hashed = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.Hashing(8))
    for learner, why in ((wider, "lam"), (hashed, "learner.features is LinearMap")):
        with pytest.raises(ValueError, match=rf"state of key 'k' was made with other settings.*{why}"):
            stream(learner).restored(data, "k")


def test_timestamps_and_cells():
    frame = table(5)
    frame["at"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(frame["at"], unit="s")
    out, state = stream(expire=1.5e6).step(stream().fresh(), frame, ("k",))
    assert out["at"].tolist() == frame["at"].tolist()
    assert state.last == pd.Timestamp("2026-01-01 00:00:04").value / 1000
    assert plain(frozenset({2, 1})) == [1, 2]
    assert plain((np.int64(1), np.array([0.5]))) == [1, [0.5]]
    assert type_of(np.float64(1.0)) == "double"
    with pytest.raises(TypeError, match="pass type="):
        type_of(object())
    rows = Columns("x", "y", frozenset)
    cells = pd.DataFrame({"x": [np.array([1.0]), {"a": 1.0}, [("a", 2.0)]], "y": [np.array([1, 2]), None, [0]]})
    assert rows.rows(cells)[1:] == [{"a": 1.0}, {"a": 2.0}]
    assert rows.labels(cells.y) == [frozenset({1, 2}), None, frozenset({0})]
    assert allowed(LEARNER) == []
    assert allowed(OSKAAR(Own())) == [__name__]


def test_tickets_that_keys_give():
    """A question gets a ticket, with which its label comes; a key that was forgotten gives no ticket twice."""
    frame, s = table(4).assign(id=None), stream(id="id", tickets=True, expire=50.0)
    out, state = s.step(s.fresh(), frame.assign(y=None), ("k",))
    assert out["id"].tolist() == ["0.0-0", "1.0-1", "2.0-2", "3.0-3"]
    told = frame.assign(a=np.nan, b=np.nan, at=9.0, id=out["id"])
    again, state = s.step(s.restored(state.to_bytes(s.settings), "k"), told, ("k",))
    assert (again.error.isna().all(), state.learner.rounds, state.open) == (True, 4, {})
    assert again.answer.tolist() == out.answer.tolist()
    again, state = s.step(state, frame.assign(y=None, at=99.0), ("k",))
    assert not set(again["id"]) & set(out["id"])
    bad, state = s.step(state, pd.concat([told, frame.assign(y=None, id="own")]).assign(at=99.0), ("k",))
    assert bad.error[:4].str.contains("no question with id = ").all()
    assert bad.error[4:].str.contains("gets its id and brings none, got 'own'").all()


def test_keys_start_with_what_the_learner_has_learned():
    frame = table(30)
    known = LEARNER.like_new().partial_fit(frame[["a", "b"]].to_numpy(), frame.y)
    before, s = known.to_bytes(), stream(known)
    out, state = s.step(s.fresh(), frame, ("k",))
    assert out.answer.tolist()[0] == known.predict_one(frame[["a", "b"]].to_numpy()[0])
    assert (state.learner.rounds, known.to_bytes()) == (60, before)


class Fails(losses.ZeroOne):
    """A loss of one's own that has a mistake."""

    def check(self, y):
        if y == "up" and self.fails:
            return {}["nothing here"]
        return super().check(y)

    def __init__(self):
        super().__init__(["up", "down"])
        self.fails = True


def test_a_mistake_in_code_of_the_users_is_the_reason_of_its_row():
    frame, s = table(12), stream(OSKAAR(Fails(), features=features.LinearMap(2)), id="id")
    out, state = s.step(s.fresh(), frame, ("k",))
    assert (out.error.notna() == (frame.y == "up")).all()
    assert out.error.dropna().iloc[0].startswith("key 'k': y in column 'y': KeyError: 'nothing here'")
    assert state.learner.rounds == (frame.y == "down").sum()
    late = frame.assign(id=frame.id + 100, at=50.0)
    _, state = s.step(state, late.assign(y=None), ("k",))
    told, state = s.step(state, late.assign(a=np.nan, b=np.nan), ("k",))
    assert (told.error.notna() == (frame.y == "up")).all()
    assert len(state.open) == (frame.y == "up").sum()


@pytest.mark.parametrize("warm", [0, 6])
def test_a_round_that_is_refused_in_the_middle_of_a_chunk(warm):
    """All rows pass the first look; one is refused when its turn comes, by itself."""
    frame, s = table(30), stream()
    frame.loc[20, "a"] = 1e9  # lam is too small for it
    _, state = s.step(s.fresh(), frame[:warm], ("k",))
    out, state = s.step(state, frame[warm:], ("k",))
    assert out.error.notna().sum() == 1
    good = frame.drop(20)
    assert out.answer.drop(20 - warm).tolist() == [z for z, _ in loop(LEARNER, good)][warm:]
    assert state.learner.rounds == 29


def test_cells_that_do_not_fit_are_told():
    s = stream(type="bigint")
    out, state = s.step(s.fresh(), table(3), ("k",))
    assert out.error.str.contains("does not fit into a column of bigint: pass another type=").all()
    assert (out.answer.isna().all(), out.loss.notna().all(), state.learner.rounds) == (True, True, 3)
    fits = [
        ("double", np.array([0.5]), 0.5),
        ("int", 3.0, 3),
        ("string", 3, "3"),
        ("boolean", 1, True),
        ("array<array<int>>", [(1, 2), ()], [[1, 2], []]),
        ("date", None, None),
    ]
    for kind, z, cell in fits:
        assert cell_of(kind)(z) == cell
    for kind, z in (("int", 0.5), ("int", "3"), ("array<int>", 3), ("string", [1, 2]), ("boolean", 2)):
        with pytest.raises(ValueError, match="does not fit"):
            cell_of(kind)(z)


def test_types_of_answers():
    def kind(loss, *labels):
        return answer_type(OSKAAR(loss, features=features.LinearMap(1)), *labels)

    assert (
        kind(losses.Squared(), "int") == kind(losses.Squared(), "decimal(9,2)") == kind(losses.Squared()) == "double"
    )
    assert kind(losses.Squared(), "array<double>") == kind(losses.Squared(2), "array<int>") == "array<double>"
    assert (
        kind(losses.ZeroOne(), "int") == kind(losses.ZeroOne(), "int", str) == kind(losses.Ordinal(), "int") == "int"
    )
    assert kind(losses.ZeroOne([0, 1]), "string", int) == "bigint"
    assert kind(losses.F1(), "array<int>", frozenset) == "array<int>"


def test_numbers_that_pandas_holds_as_objects():
    """Booleans with nulls and decimals are numbers in every batch; null stands for itself in whole numbers."""
    frame = pd.DataFrame({"a": [True, None], "b": [Decimal("1.5"), Decimal("2")]})
    np.testing.assert_array_equal(Columns(("a", "b")).rows(frame), [[1.0, 1.5], [np.nan, 2.0]])
    texts = Columns(("a", "word"), others=("word",))
    rows = texts.rows(frame.assign(word=["u", None]))
    assert rows[0] == {"a": 1.0, "word": "u"}
    assert texts.given(rows) == [True, False]
    assert Columns("x").given([None, [1.0]]) == [False, True]
    assert Columns(("a",), "y").labels([ABSENT, 3, Decimal("0.5"), float("nan")]) == [None, 3, 0.5, None]


class Own(losses.ZeroOne):
    """A loss of one's own."""

    def __init__(self):
        super().__init__(2)
