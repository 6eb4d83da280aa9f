"""A learner that was saved and loaded goes on bit for bit as the one that never was."""

import copy
import pickle

import numpy as np
import pytest
import saved
from saved import KERNELS, LABELS, PARTS
from strategies import few

import oskaar
from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, MostFrequent, RepeatLast, kernels, losses
from oskaar.memory import held

LEARNERS = saved.learners()


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def goes_on(learner, xs, ys, again=lambda learner: oskaar.from_bytes(learner.to_bytes())):
    """Learn half, save, and go on beside the one that was never saved."""
    half = len(ys) // 2
    for x, y in zip(xs[:half], ys[:half]):
        learner.learn_one(x, y)
    twin = again(learner)
    assert type(twin) is type(learner)
    assert repr(twin) == repr(learner)
    for x, y in zip(xs[half:], ys[half:]):
        assert learner.estimate(x).tobytes() == twin.estimate(x).tobytes()
        assert same(learner.predict_one(x), twin.predict_one(x))
        learner.learn_one(x, y)
        twin.learn_one(x, y)
    assert learner.to_bytes() == twin.to_bytes()
    assert (learner.rounds, learner.regret, learner.surrogate_loss) == (twin.rounds, twin.regret, twin.surrogate_loss)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner(name):
    learner, xs, ys = LEARNERS[name]
    goes_on(copy.deepcopy(learner), xs[:26], ys[:26])  # a window of 11 is full before it is saved


@pytest.mark.parametrize("make", few([OSKAAR, SALAMI], 2), ids=["OSKAAR", "SALAMI"])
@pytest.mark.parametrize("name", LABELS)
def test_every_loss(name, make):
    loss, ys = LABELS[name]
    goes_on(make(loss), saved.rows(10), ys[:10])  # scales are taken at 4, and at 8 after the save


@pytest.mark.parametrize("make", [OSKAAR, SALAMI], ids=["OSKAAR", "SALAMI"])
@pytest.mark.parametrize("name", PARTS)
def test_rounds_of_parts(name, make):
    loss, kind = PARTS[name]
    goes_on(make(loss), *saved.part_stream(12, kind))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    goes_on(OSKAAR(losses.ZeroOne(3), KERNELS[name]), saved.rows(12), LABELS["zero-one"][1][:12])


def test_all_losses_are_tested():
    """A loss that is new in the package has to be in the list of this file."""
    tested = {type(loss) for loss, _ in [*LABELS.values(), *PARTS.values()]}
    listed = [getattr(losses, name) for name in losses.__all__]
    every = {thing for thing in listed if isinstance(thing, type) and issubclass(thing, losses.Loss)}
    assert every - tested <= {losses.Loss, losses.SubsetLoss}


def test_many_panels():
    """More than one panel of the factors, learned in chunks."""
    X, ys = saved.rows(330), [0, 1, 2] * 110
    for learner in (
        OSKAAR(losses.ZeroOne(3)),
        SALAMI(losses.ZeroOne(3), lam=0.5),
        OSKAAR(losses.ZeroOne(3), budget=70),
    ):
        twin = oskaar.from_bytes(learner.partial_fit(X[:270], ys[:270]).to_bytes())
        for each in (learner, twin):
            each.partial_fit(X[270:], ys[270:])
        assert learner.to_bytes() == twin.to_bytes()


@pytest.mark.parametrize("name", saved.batches())
def test_batch(name):
    model = saved.batches()[name]
    twin = oskaar.from_bytes(model.to_bytes())
    assert twin.to_bytes() == model.to_bytes()
    if model._fitted:
        assert twin.predict(saved.rows(9, seed=8)) == model.predict(saved.rows(9, seed=8))
        assert twin.estimate([0, 1, 2]).tobytes() == model.estimate([0, 1, 2]).tobytes()


def test_baselines():
    for make in (RepeatLast, MostFrequent):
        model = make(losses.ZeroOne("ab")).fit([[0]] * 3, "aab")
        twin = oskaar.from_bytes(model.to_bytes())
        assert twin.predict_one(None) == model.predict_one(None)


def test_objects(tmp_path):
    """Rows that are objects, a kernel that is a function, labels with a kernel."""
    words = ["abc", ("a", "b"), "c", "ddd", "ab", "ba"]
    for kernel in (kernels.Pairwise(saved.overlap), saved.overlap):
        learner = SALAMI(losses.LossTrick(saved.gap, label_kernel=saved.similar), kernel)
        goes_on(
            learner, words, ["x", "yy", "zzz", "x", "w", "yy"], lambda it: oskaar.from_bytes(it.to_bytes(), ["saved"])
        )


def test_a_loss_of_ones_own_needs_leave(tmp_path):
    path = tmp_path / "compass.oskaar"
    learner = OSKAAR(saved.Compass("a note"))
    learner.learn_one([0.0], "S")
    learner.save(path)
    for refused in (None, [], ["save"], ["saved.more"], {"saved:Other": saved.Compass}, ["os", "oskaar"]):
        with pytest.raises(oskaar.StateError, match="saved:Compass"):
            oskaar.load(path, allow=refused)
    for allowed in (["saved"], "saved", {"saved:Compass": saved.Compass}):
        again = oskaar.load(path, allow=allowed)
        assert again.loss.note == "a note"
        assert again.predict_one([0.0]) == "S"


def test_what_has_no_name_is_refused_when_saving(tmp_path):
    def local(z, y):
        return 0.0

    class Local(saved.Compass):
        pass

    path = tmp_path / "learner.oskaar"
    for loss in (losses.LossTrick(lambda z, y: 0.0), losses.LossTrick(local), Local()):
        with pytest.raises(oskaar.StateError, match=r"OSKAAR\.loss.*(at the top of a module)"):
            OSKAAR(loss).save(path)
    learner = OSKAAR(losses.ZeroOne())
    learner.learn_one([0.0], np.datetime64("2024-01-01"))
    learner.learn_one([0.0], __import__("fractions").Fraction(1, 3))
    with pytest.raises(oskaar.StateError, match="Fraction, which is more than its attributes"):
        learner.save(path)
    round_about = []
    round_about.append(round_about)
    learner = OSKAAR(losses.ZeroOne(2), saved.overlap)
    learner.learn_one(round_about[:0], 1)
    learner._inputs.store._objects = [round_about]
    with pytest.raises(oskaar.StateError, match="refers to itself"):
        learner.save(path)
    assert list(tmp_path.iterdir()) == []


def test_while_rows_are_learned_again(rng):
    ys = [frozenset(np.flatnonzero(row).tolist()) for row in rng.random((34, 3)) < 0.5]
    goes_on(Ensemble(losses.F1(3), budget=6), rng.normal(size=(34, 2)), ys)


@pytest.mark.parametrize("name", few(LEARNERS, 3))
def test_memory_after_a_load_is_that_before(name):
    learner, xs, ys = LEARNERS[name]
    learner = copy.deepcopy(learner)
    learner.learn_many(xs, ys)
    twin = oskaar.from_bytes(learner.to_bytes())
    assert twin.cost().bytes <= 1.1 * learner.cost().bytes
    assert twin.cost().operations == learner.cost().operations


def test_what_is_shared_stays_shared():
    learner = SALAMI(
        losses.LossTrick(losses.edit_distance, label_kernel=None), [kernels.Gaussian(), kernels.Linear()]
    )
    learner.learn_many(saved.rows(30), [f"{i}" for i in range(30)])
    for twin in (oskaar.from_bytes(learner.to_bytes()), pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert twin._estimator.restarts.inputs is twin._inputs
        assert twin._space.loss is twin.loss
        assert twin._space.costs is twin._space._costs.view
        assert held(twin._space) <= 1.02 * held(learner._space)


@pytest.mark.parametrize(
    "name", ["oskaar", "oskaar dicts", "oskaar budget", "salami", "salami geometric", "salami budget"]
)
@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["deepcopy", "pickle"]
)
def test_copies(name, how):
    learner, xs, ys = LEARNERS[name]
    learner = copy.deepcopy(learner)
    learner.learn_many(xs[:14], ys[:14])
    twin = how(learner)
    assert twin._lock is not learner._lock
    for each in (learner, twin):
        each.learn_many(xs[14:26], ys[14:26])
        assert each.estimate(xs[3]).tobytes() == learner.estimate(xs[3]).tobytes()
    assert (twin.rounds, twin.regret, twin.surrogate_loss) == (26, learner.regret, learner.surrogate_loss)
    assert copy.copy(learner).rounds == learner.rounds


def test_settings_come_back():
    loss = losses.Pinball(2, -1, 1, 0.8)
    learner = SALAMI(loss, lam=(0.1, 2), eta="theory", restarts=None, window=7, max_bytes=10**9)
    twin = oskaar.from_bytes(learner.to_bytes())
    for name in ("lam", "eta", "restarts", "window", "max_bytes", "rate", "project"):
        assert same(getattr(twin, name), getattr(learner, name))
    with pytest.raises(ValueError, match="fit"):
        oskaar.from_bytes(BatchILE(losses.Ordinal(3)).to_bytes()).predict([[0.0]])


def test_a_symbolic_link_stays_one(tmp_path):
    link, path = tmp_path / "link", tmp_path / "there"
    path.write_bytes(b"old")
    link.symlink_to(path)
    OSKAAR(losses.ZeroOne(2)).save(link)
    assert link.is_symlink()
    assert oskaar.load(path).rounds == 0
