"""replay: predict, then learn, over a whole stream, and the results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns, spans
from oskaar.display import html_table
from oskaar.inputs import as_rounds
from oskaar.learners.base import as_labels, require_same_length
from oskaar.learners.calibration import Calibration, rounds_alike
from oskaar.learners.confidence import named_probabilities
from oskaar.learners.labels import Labels
from oskaar.learners.learner import OnlineLearner, Rounds
from oskaar.losses import Loss, Space
from oskaar.metrics import Metrics


class Replay:
    """The results of a learner on a stream, round by round: `predictions`, `losses`, `regret` and more."""

    def __init__(
        self,
        predictions: list[Any],
        losses: Array,
        optima: Array,
        surrogate_losses: Array | None,
        estimates: Callable[[], Any] | None,
        labels: list[Any] | None = None,
        loss: Loss | None = None,
        probabilities: Callable[[], list[Any]] | None = None,
    ) -> None:
        self.predictions = predictions
        """z_t, each made before y_t was seen."""
        self.losses = losses
        """Delta(z_t, y_t), (T,)."""
        self.regret = np.cumsum(losses - optima)
        """The sum over rounds so far of Delta(z_t, y_t) - min_z Delta(z, y_t), (T,)."""
        self.surrogate_losses = surrogate_losses
        """|phi(y_t) - g_hat_t(x_t)|^2, (T,); None for a learner without estimates."""
        self._labels, self.loss = labels, loss
        self._estimates, self._probabilities = estimates, probabilities

    @cached_property
    def labels(self) -> list[Any] | None:
        """y_t, as the loss writes them."""
        if self._labels is None or self.loss is None:
            return None
        return [self.loss.check(y) for y in self._labels]

    @property
    def estimates(self) -> Any:
        """g_hat_t(x_t): (T, p), or a list of (n_t, p) for rounds of parts; None without estimates."""
        return self._estimates() if self._estimates else None

    def probabilities(self) -> list[Any]:
        """How sure each answer was when it was given, as `predict_proba_one` writes it; of names known at the end.

        >>> from oskaar import OSKAAR, losses, replay
        >>> replay(OSKAAR(losses.ZeroOne("ab")), [[0.0]] * 3, "aba").probabilities()[0]
        {'a': 0.5, 'b': 0.5}
        """
        if self._probabilities is None:
            raise ValueError("there are no estimates to tell probabilities from: replay with keep_estimates=True.")
        return self._probabilities()

    @property
    def rounds(self) -> int:
        """The number of rounds, T."""
        return len(self.losses)

    @property
    def mean_loss(self) -> float:
        """The mean of the losses; NaN for an empty stream."""
        return float(self.losses.mean()) if self.rounds else float("nan")

    def metrics(self) -> dict[str, Any]:
        """Metrics that people know, by the kind of label (`oskaar.metrics`): accuracy, F1, MAE, RMSE, R2, tau, ...

        >>> from oskaar import OSKAAR, losses, replay
        >>> replay(OSKAAR(losses.ZeroOne("ab")), [[0.0], [1.0]] * 2, "abab").metrics()["accuracy"]
        0.75
        """
        if self.loss is None or self.labels is None:
            raise ValueError("this replay has no labels: make it with replay(learner, xs, ys).")
        metrics, sure = Metrics(self.loss), self._sure()
        for z, y, p in zip(self.predictions, self.labels, sure, strict=True):
            metrics.update(first_answer(self.loss, y) if z is None else z, y, p)
        return metrics.values()

    def _sure(self) -> list[Any]:
        try:
            return self.probabilities()
        except ValueError:
            return [None] * self.rounds

    def plot(self, ax: Any = None) -> Any:
        """The mean loss so far, round by round, with matplotlib (the extra `plot`); the axes are returned.

        ax: axes to draw on; new ones where there are none.
        """
        if ax is None:
            try:
                from matplotlib.figure import Figure
            except ImportError as error:
                raise ImportError("Replay.plot needs matplotlib: pip install 'oskaar[plot]'.") from error
            ax = Figure(figsize=(6, 3), layout="constrained").subplots()
        rounds = np.arange(1, self.rounds + 1)
        ax.plot(rounds, np.cumsum(self.losses) / rounds)
        ax.set_xlabel("round")
        ax.set_ylabel("mean loss so far")
        return ax

    def _repr_html_(self) -> str:
        named = [] if self.loss is None else [(k, v) for k, v in self.metrics().items() if isinstance(v, float)]
        final = float(self.regret[-1]) if self.rounds else 0.0
        rows = [("rounds", self.rounds), ("mean loss", self.mean_loss), ("regret", final), *named]
        return html_table(f"Replay, {self.loss!r}", rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python: numbers and lists, and the predictions as they are."""
        return {
            "rounds": self.rounds,
            "mean_loss": self.mean_loss,
            "predictions": list(self.predictions),
            "losses": self.losses.tolist(),
            "regret": self.regret.tolist(),
            "surrogate_losses": None if self.surrogate_losses is None else self.surrogate_losses.tolist(),
        }

    def __len__(self) -> int:
        return self.rounds

    def __repr__(self) -> str:
        final = self.regret[-1] if self.rounds else 0.0
        return f"Replay({self.rounds} rounds, mean loss {self.mean_loss:.4f}, regret {final:.2f})"


def replay(
    learner: Any,
    xs: Any,
    ys: Any,
    *,
    loss: Loss | None = None,
    progress: Callable[[int, float], None] | None = None,
    keep_estimates: bool = True,
) -> Replay:
    """Predict, then learn, each round of a stream in turn; the learner ends as if it had run the loop.

    An oskaar learner runs in blocks: the factorisation of all rounds is one Cholesky, so T rounds of
    predict-then-learn cost about one batch fit, and memory is the learner's own. Its numbers equal the
    loop's to 1e-10, and none depends on its own label or on a later one, to the last bit. Any other object
    with `predict_one` and `learn_one` (a River model, a baseline) is run in a loop, with its answers judged
    by `loss`.

    progress: called with the number of rounds done and the mean loss so far, a few times a second or less.
    keep_estimates: False saves the memory of `estimates`.

    >>> from oskaar import OSKAAR, losses, replay
    >>> result = replay(OSKAAR(losses.ZeroOne("ab")), [[0.0], [1.0], [0.0], [1.0]], "abab")
    >>> result.predictions, result.losses
    (['a', 'a', 'a', 'b'], array([0., 1., 0., 0.]))
    >>> result
    Replay(4 rounds, mean loss 0.2500, regret 1.00)
    """
    if isinstance(learner, OnlineLearner):
        return _in_blocks(learner, xs, ys, progress, keep_estimates)
    judge = loss if loss is not None else getattr(learner, "loss", None)
    if not isinstance(judge, Loss):
        raise TypeError(f"{learner!r} has no oskaar loss: say how to judge it, replay(..., loss=...).")
    return _in_turn(learner, xs, ys, judge, progress)


def replay_until_refused(learner: OnlineLearner, xs: Any, ys: Any) -> tuple[Replay, Exception | None]:
    """A replay that ends before the first rounds that are refused, and the reason; None where all were learned.

    >>> from oskaar import OSKAAR, losses
    >>> learner = OSKAAR(losses.ZeroOne("ab"), max_bytes=900_000)
    >>> result, reason = replay_until_refused(learner, [[0.0], [1.0]] * 300, "ab" * 300)
    >>> 0 < result.rounds == learner.rounds < 600, type(reason).__name__
    (True, 'MemoryError')
    """
    done: list[Rounds] = []
    start, reason = _start(learner), None
    try:
        for chunk in learner.stream(xs, ys):
            done.append(chunk.without_estimates())  # noqa: PERF401, what is done is kept
    except (ValueError, TypeError, MemoryError) as error:
        reason = error
    return _of_blocks(learner, done, list(ys)[: sum(len(chunk.losses) for chunk in done)], start, False), reason


def _in_blocks(
    learner: OnlineLearner,
    xs: Any,
    ys: Any,
    progress: Callable[[int, float], None] | None,
    keep_estimates: bool,
) -> Replay:
    done: list[Rounds] = []
    rounds, total = 0, 0.0
    start = _start(learner)
    ys = as_labels(ys)
    for chunk in learner.stream(xs, ys):
        done.append(chunk if keep_estimates else chunk.without_estimates())
        rounds += len(chunk.losses)
        total += float(chunk.losses.sum())
        if progress is not None:
            progress(rounds, total / rounds)
    return _of_blocks(learner, done, ys, start, keep_estimates)


def _start(learner: OnlineLearner) -> tuple[int, Space, Calibration]:
    """What probabilities depend on: rounds, what is known of the labels, and the calibration."""
    return learner.rounds, learner.space, learner.calibration


def _of_blocks(
    learner: OnlineLearner,
    done: list[Rounds],
    ys: list[Any],
    start: tuple[int, Space, Calibration],
    keep_estimates: bool,
) -> Replay:
    return Replay(
        [z for chunk in done for z in chunk.predictions],
        _joined([chunk.losses for chunk in done]),
        _joined([chunk.optima for chunk in done]),
        _joined([chunk.surrogate_losses for chunk in done]),
        _estimates(learner, done) if keep_estimates else None,
        ys,
        learner.loss,
        _probabilities(learner, done, ys, start) if keep_estimates else None,
    )


def _estimates(learner: OnlineLearner, done: list[Rounds]) -> Callable[[], Any]:
    space, parts = learner.space, learner.loss.parts

    def expand() -> Any:
        rows = [space.full(fit_columns(chunk.estimates, space.p)) for chunk in done]
        if not parts:
            return np.concatenate(rows) if rows else space.full(np.zeros((0, space.p)))
        return [g for chunk, G in zip(done, rows, strict=True) for g in (G[lo:hi] for lo, hi in spans(chunk.ends))]

    return expand


def _probabilities(
    learner: OnlineLearner, done: list[Rounds], ys: list[Any], start: tuple[int, Space, Calibration]
) -> Callable[[], list[Any]]:
    """Those of each round, as they were then; start: of the learner before the first."""
    space, loss = learner.space, learner.loss

    def expand() -> list[Any]:
        before, known, calibration = start
        answers: list[Any] = []
        for chunk in done:
            rows, i = spans(chunk.ends), 0
            while i < len(rows):
                some = rows[i : i + rounds_alike(before + len(answers))]
                G = (chunk.estimates if chunk.unhedged is None else chunk.unhedged)[some[0][0] : some[-1][1]]
                t, ends = len(answers), [hi - some[0][0] for _, hi in some]
                labels = Labels(loss, known, [loss.check(y) for y in ys[t : t + len(some)]], ends)
                full, then = fit_columns(G, space.p), before + np.arange(t, t + len(some))
                answers += named_probabilities(loss, space, full, ends, then, calibration)
                calibration, known, i = calibration.after_rounds(G, labels, before + t), labels.space, i + len(some)
        return answers

    return expand


def _in_turn(learner: Any, xs: Any, ys: Any, loss: Loss, progress: Callable[[int, float], None] | None) -> Replay:
    rows, labels = as_rounds(xs), [loss.check(y) for y in as_labels(ys)]
    require_same_length(rows, labels)
    predictions, losses = [], np.zeros(len(labels))
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        z = learner.predict_one(x)
        losses[t] = loss(z, y) if z is not None else loss(first_answer(loss, y), y)
        learner.learn_one(x, y)
        predictions.append(z)
        if progress is not None and (t + 1) % 256 == 0:
            progress(t + 1, float(losses[: t + 1].mean()))
    optima = np.array([loss.optimum(y) for y in labels])
    return Replay(predictions, losses, optima, None, None, labels, loss)


def first_answer(loss: Loss, y: Any) -> Any:
    """The answer of an oskaar learner without data: a learner that answers None is judged by it."""
    space = loss.space()
    return space.decode_round(np.zeros((len(loss.embed(y)) if loss.parts else 1, space.p)))


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)
