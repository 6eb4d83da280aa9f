"""Contract checks for a loss, a kernel, a feature map or a learner of one's own.

Each raises `CheckFailed` with what must hold and where it does not, and returns None when all is well.

    >>> from oskaar import kernels, losses
    >>> check_loss(losses.F1(4))
    >>> check_kernel(kernels.Gaussian(), np.random.default_rng(0).normal(size=(20, 3)))
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows, fit_columns
from oskaar.features import FeatureMap
from oskaar.inputs import as_rounds
from oskaar.kernels import Kernel
from oskaar.learners import OnlineLearner
from oskaar.losses import Loss, Space
from oskaar.replays import replay

_MOST = 600
"""How many outputs and labels are looked at, at the most."""


class CheckFailed(AssertionError):
    """A contract is broken."""


def check_loss(
    loss: Loss, labels: Iterable[Any] | None = None, outputs: Iterable[Any] | None = None, seed: int = 0
) -> None:
    """Check that embedding, decoder, optimum and c_delta are those of one and the same loss.

    labels, outputs: what to try; by default what the loss lists. Outputs must be complete for the decoder's
    minimum to mean something; for losses on parts they are taken by their number of rows, and rounds of
    several rows should be among them. Checked: Delta(z, y) = <psi(z), phi(y)> + a term free of z for some psi,
    |phi(y)| <= 1, |psi(z) - psi(z')| <= diameter <= 2 c_delta, `decode` attains the enumerated minimum for weights of
    any sign, `decode_many` and `embed_many` equal loops, `optimum` is the minimum over outputs. On parts the loss's
    own `decode` is checked: a Space that adds what it has learned of the labels decodes something else.
    """
    ys = [loss.check(y) for y in islice(loss.labels() if labels is None else labels, _MOST)]
    zs = list(islice(loss.outputs() if outputs is None else outputs, _MOST + 1))
    _require(0 < len(zs) <= _MOST and len(ys) > 0, f"give 1 to {_MOST} outputs and some labels, got {len(zs)}")
    space = loss.space()
    for y in ys:
        space = space.extended(y)
    rows = [space.embed_many([y]) for y in ys]
    _require(
        np.array_equal(np.concatenate(rows), space.embed_many(ys)), "embed_many must equal embed, label by label"
    )
    if not loss.parts:
        _check_round(loss, space, zs, ys, seed)
        return
    for n in sorted({len(Phi) for Phi in rows}):
        answers = [z for z in zs if loss.rows_of(z) == n]
        _require(len(answers) > 0, f"there are labels with {n} rows, but no output z for so many")
        _check_round(loss, space, answers, [y for y, Phi in zip(ys, rows, strict=True) if len(Phi) == n], seed)


def _check_round(loss: Loss, space: Space, zs: list[Any], ys: list[Any], seed: int) -> None:
    """Check rounds of one number of rows."""
    D = np.array([[loss(z, y) for y in ys] for z in zs])
    _require(bool(np.isfinite(D).all()), "Delta(z, y) must be finite")
    rows = [space.embed_many([y]) for y in ys]
    Phi = np.stack([R.ravel() / np.sqrt(len(R)) if loss.parts else R[0] for R in rows])
    _check_embedding(loss, D, Phi, np.array([space.squared_norms(R).max() for R in rows]))
    for y, best in zip(ys, D.min(axis=0), strict=True):
        _require(
            abs(space.optimum(y) - best) < 1e-9,
            f"optimum({y!r}) is {space.optimum(y)}, the minimum is {best}",
        )
    _check_decoder(loss, space, D, ys, np.random.default_rng(seed))
    _check_radius(D, Phi, space)


def check_kernel(kernel: Kernel, X: Rows, tolerance: float = 1e-9) -> None:
    """Check shape, symmetry, diagonal, kappa and positive semidefiniteness on the rows (or objects) X."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    K, diagonal = np.asarray(kernel(X, X)), np.asarray(kernel.diag(X))
    _require(K.shape == (n, n), f"k(X, X) must have shape {(n, n)}, got {K.shape}")
    _require(diagonal.shape == (n,), f"diag(X) must have shape {(n,)}, got {diagonal.shape}")
    _require(bool(np.isfinite(K).all()), "k(X, X) must be finite")
    scale = max(1.0, float(np.abs(K).max()))
    _require(np.abs(K - K.T).max() <= tolerance * scale, "k(x, y) must equal k(y, x)")
    _require(np.abs(np.diagonal(K) - diagonal).max() <= 1e-7 * scale, "diag(X) must be the diagonal of k(X, X)")
    half = np.asarray(kernel(X[: n // 2], X))
    _require(half.shape == (n // 2, n), f"k(X[:m], X) must have shape {(n // 2, n)}, got {half.shape}")
    _require(np.abs(half - K[: n // 2]).max(initial=0) <= 1e-7 * scale, "k must not depend on the other rows")
    _require(np.sqrt(diagonal.max()) <= kernel.kappa * (1 + 1e-9), f"kappa = {kernel.kappa} is below sqrt(k(x, x))")
    least = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
    _require(
        least >= -tolerance * scale * n,
        f"k must be positive semidefinite, its least eigenvalue is {least:.3g}",
    )


def check_features(map: FeatureMap, X: Rows, tolerance: float = 1e-9) -> None:
    """Check shape, determinism, the dimension, kappa, pickling, and that `seen` is the loop over single rows.

    The map itself must stay as it was: it is a value. Rows of X are matrices (or lists, for maps on objects) and
    arrive in their order; no row may depend on a later one.
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    _require(n > 0, "give at least one row")
    before = pickle.dumps(map)
    Z, after = map.seen(X)
    _require(isinstance(after, FeatureMap), f"seen must give a FeatureMap, got {type(after).__name__}")
    _check_matrix(Z, n, after, "seen(X)")
    again, _ = map.seen(X)
    _require(np.array_equal(Z, again), "seen must give the same features each time")
    looped, D = map, 0
    for i in range(n):
        x = X[i : i + 1]
        z, looped = looped.seen(x)
        _check_matrix(z, 1, looped, f"seen of row {i}")
        _require(D <= z.shape[1] <= Z.shape[1], f"columns must never vanish, row {i} has {z.shape[1]} after {D}")
        D = z.shape[1]
        _require_close(
            fit_columns(z, Z.shape[1]), Z[i : i + 1], tolerance, f"seen must equal the loop, row {i} does not"
        )
        _require_close(looped(x), z, tolerance, f"seen must give row {i} as the map does that has seen it")
    _require(pickle.dumps(map) == before, "seen must not change the map: it gives the next one")
    now = after(X)
    _check_matrix(now, n, after, "z(X)")
    _require_close(looped(X), now, tolerance, "seen must leave the map as the loop does")
    _require_close(after(X[: n // 2]), now[: n // 2], tolerance, "z must not depend on the other rows")
    for twin in (pickle.loads(pickle.dumps(after)), copy.deepcopy(after)):
        _require(np.array_equal(twin(X), now), "a copy of the map must give the same features")
    for new in (after.fresh(), after.fresh(X)):
        _check_matrix(new.seen(X)[0], n, new.seen(X)[1], "seen(X) of a fresh map")
    _require(isinstance(after.nbytes, int) and after.nbytes >= 0, f"nbytes must be an int >= 0, got {after.nbytes!r}")


def check_learner(learner: OnlineLearner, xs: Any, ys: Sequence[Any]) -> None:
    """Check that predict changes nothing, learn is deterministic, many equals one by one, replay the loop.

    The learner itself is left as it was. Its loss and kernel must be picklable (no lambdas).
    """
    one, many, replayed = (copy.deepcopy(learner) for _ in range(3))
    many.learn_many(xs, ys)
    result = replay(replayed, xs, ys)
    rows = as_rounds(xs)
    losses = []
    for x, y in zip(rows, ys, strict=True):
        before = pickle.dumps(one)
        z = one.predict_one(x)
        one.estimate(x)
        _require(pickle.dumps(one) == before, "predict_one and estimate must not change the state")
        losses.append(one.loss(z, one.loss.check(y)))
        one.learn_one(x, y)
    _require(pickle.dumps(one) == pickle.dumps(many), "learn_many must equal a loop of learn_one")
    _require(np.allclose(losses, result.losses, atol=1e-10), "replay must pay the losses of the loop")
    for x in rows:
        a, b = one.estimate(x), replayed.estimate(x)
        _require(np.allclose(a, b, atol=1e-8), "replay must leave the learner as the loop does")


def _check_matrix(Z: Array, n: int, map: FeatureMap, what: str) -> None:
    """(n, D) finite features of a map, D <= dim and |z| <= kappa."""
    _require(isinstance(Z, np.ndarray) and Z.dtype == np.float64, f"{what} must be an array of float64")
    _require(Z.flags.c_contiguous, f"{what} must be C-contiguous")
    _require(Z.ndim == 2 and len(Z) == n, f"{what} must have shape ({n}, D), got {Z.shape}")
    _require(Z.shape[1] <= map.dim, f"{what} has {Z.shape[1]} columns, more than dim = {map.dim}")
    _require(bool(np.isfinite(Z).all()), f"{what} must be finite")
    longest = np.sqrt((Z**2).sum(axis=1).max())
    _require(longest <= map.kappa * (1 + 1e-9), f"{what} reaches the norm {longest:.6g} > kappa = {map.kappa:.6g}")


def _require_close(A: Array, B: Array, tolerance: float, message: str) -> None:
    _require(A.shape == B.shape, f"{message}: shapes are {A.shape} and {B.shape}")
    error = np.abs(A - B).max(initial=0.0)
    _require(error <= tolerance * max(1.0, np.abs(B).max(initial=0.0)), f"{message}: it is off by {error:.3g}")


def _check_embedding(loss: Loss, D: Array, Phi: Array, norms: Array) -> None:
    _require(norms.max() <= 1 + 1e-9, f"|phi(y)|^2 must be at most 1, got {norms.max()}")
    change = D - D[0]
    psi = np.linalg.lstsq(Phi, change.T, rcond=1e-10)[0]
    error = np.abs(Phi @ psi - change.T).max()
    _require(
        error <= 1e-7 * max(1.0, np.abs(D).max()),
        f"Delta(z, y) - Delta(z', y) must be linear in phi(y): the best psi misses it by {error:.3g} in {loss!r}",
    )


def _check_decoder(loss: Loss, space: Any, D: Array, ys: list[Any], rng: np.random.Generator) -> None:
    Phi = np.stack([space.embed_many([y]) for y in ys])  # (labels, rows, p)
    weights = rng.normal(size=(60, len(ys))) * rng.choice([0.0, 1.0], size=(60, len(ys)), p=[0.7, 0.3])
    G = np.einsum("wy,ynp->wnp", weights, Phi)
    answers = [loss.decode(g) for g in G] if loss.parts else space.decode_many(G[:, 0])
    if not loss.parts:
        one_by_one = [space.decode_many(g)[0] for g in G]
        for w, a, b in zip(weights, answers, one_by_one, strict=True):
            risks = [sum(v * loss(z, y) for v, y in zip(w, ys, strict=True) if v) for z in (a, b)]
            _require(
                abs(risks[0] - risks[1]) < 1e-8 * (1 + np.abs(w).sum()),
                "decode_many must equal decode in a loop",
            )
    for w, z in zip(weights, answers, strict=True):
        risk = sum(v * loss(z, y) for v, y in zip(w, ys, strict=True) if v)
        least = (D @ w).min()
        _require(
            risk <= least + 1e-8 * (1 + np.abs(D).max() * np.abs(w).sum()),
            f"decode must attain the minimum for weights of any sign: {z!r} has {risk:.6g}, the least is {least:.6g}",
        )


def _check_radius(D: Array, Phi: Array, space: Any) -> None:
    """The differences psi(z) - psi(z') that phi can see must have norm at most diameter <= 2 c_delta."""
    c_delta, diameter = space.c_delta, space.diameter
    if not np.isfinite(c_delta):
        return  # nothing is claimed
    psi = np.linalg.lstsq(Phi @ _metric_root(space, Phi.shape[1]), (D - D[0]).T, rcond=1e-10)[0].T
    squares = np.einsum("zp,zp->z", psi, psi)
    widest = np.sqrt(max(0.0, (squares[:, None] + squares - 2 * psi @ psi.T).max()))
    _require(
        widest <= 2 * c_delta + 1e-6 * (1 + c_delta),
        f"|psi(z) - psi(z')| reaches {widest:.6g} > 2 c_delta = {2 * c_delta:.6g}",
    )
    _require(
        widest <= diameter + 1e-6 * (1 + c_delta),
        f"|psi(z) - psi(z')| reaches {widest:.6g} > diameter = {diameter:.6g}",
    )
    _require(
        diameter <= 2 * c_delta + 1e-6 * (1 + c_delta),
        f"diameter = {diameter:.6g} > 2 c_delta = {2 * c_delta:.6g}: leave it out",
    )


def _metric_root(space: Any, p: int) -> Array:
    """A matrix whose columns turn coordinates into orthonormal ones, in the geometry of phi."""
    if type(space).squared_norms is Space.squared_norms:
        return np.eye(p)
    alone = space.squared_norms(np.eye(p))
    pairs = (np.eye(p)[:, None, :] + np.eye(p)).reshape(-1, p)
    Q = (space.squared_norms(pairs).reshape(p, p) - alone[:, None] - alone) / 2
    values, vectors = np.linalg.eigh(Q)
    root: Array = vectors * np.sqrt(np.maximum(values, 0))
    return root


def _require(holds: bool | np.bool_, message: str) -> None:
    if not holds:
        raise CheckFailed(message + ".")
