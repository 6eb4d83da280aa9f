"""What must hold of the parts of a state, whoever wrote it: finite numbers, shapes that fit, counts.

A part that is read is checked at once, and so is what it holds: parts come before what they are parts of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oskaar.arrays import Growing
from oskaar.features import FeatureMap
from oskaar.inputs import DenseStore, DictStore, Inputs, ObjectStore, SparseStore, Store
from oskaar.solvers.all_restarts import AllRestarts, Products
from oskaar.solvers.cholesky import PanelCholesky
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.featurestarts import FeatureStarts
from oskaar.solvers.kaar_features import FeatureSolver
from oskaar.solvers.pending_rows import PendingRows
from oskaar.solvers.qr_update import BLOCK, QRUpdate
from oskaar.solvers.stacks import Stack
from oskaar.solvers.starts import StartSolver
from oskaar.solvers.suffix_factor import PANEL, SPREAD, STRIP, Fold, SuffixFactor
from oskaar.state.errors import StateError
from oskaar.state.limits import shown

FINITE = ("oskaar.arrays", "oskaar.features", "oskaar.inputs", "oskaar.learners", "oskaar.solvers")
"""Where all arrays are finite; a loss may have infinite costs."""


def require_valid(thing: Any) -> None:
    """Refuse an object of oskaar's that no learner could have."""
    name = type(thing).__name__
    if type(thing).__module__.startswith(FINITE):
        for field, value in vars(thing).items():
            require_finite(value, f"{name}.{field}")
    check = _CHECKS.get(type(thing))
    if check is not None:
        check(thing)


def require_finite(value: Any, where: str) -> None:
    """Refuse arrays with inf or nan, also those in lists, tuples and dicts."""
    if isinstance(value, (list, tuple, dict)) and not hasattr(value, "_fields"):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, np.ndarray):
                require_finite(item, where)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise StateError(f"{where} must be finite, the file has inf or nan there.")


def require(holds: Any, message: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise StateError(f"the file is not the state of a learner: {message}.")


def require_count(value: Any, what: str) -> int:
    """A whole number >= 0."""
    require(type(value) is int and value >= 0, f"{what} must be a whole number >= 0, got {shown(value)}")
    return int(value)


def require_number(value: Any, what: str) -> float:
    """A finite number."""
    require(isinstance(value, (int, float, np.number)) and np.isfinite(value), f"{what} must be finite")
    return float(value)


def require_kind(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """An object of a class."""
    require(isinstance(value, kind), f"{what} must be {kind}, got a {type(value).__name__}")


def _floats(*arrays: Any) -> None:
    for array in arrays:
        require(isinstance(array, np.ndarray) and array.dtype == np.float64, "an array must hold float64")


def _growing(rows: int | None, *parts: Any) -> None:
    for part in parts:
        require_kind(part, Growing, "a growing matrix")
        require(rows is None or part.shape[0] == rows, f"a matrix must have {rows} rows, it has {part.shape[0]}")


def _dense(store: DenseStore) -> None:
    _growing(store.n, store._rows)
    require(store._rows.shape[1] == store.width and store._rows.view.dtype == np.float64, "rows must have the width")


def _sparse(store: SparseStore) -> None:
    _growing(None, store._data, store._indices, store._starts)
    require_count(store.n, "rows")
    require(require_count(store.width, "columns") < 2**31, "columns must be fewer than 2^31")
    for part, dtype in ((store._data, np.float64), (store._indices, np.int32), (store._starts, np.int32)):
        require(part.shape[1] == 1 and part.view.dtype == dtype, "a part of sparse rows has another type")
    starts, indices = store._starts.view[:, 0], store._indices.view[:, 0]
    require(len(starts) == store.n + 1 and starts[0] == 0, "sparse rows must start at 0")
    require(starts[-1] == len(indices) == store._data.shape[0] and (np.diff(starts) >= 0).all(), "starts must rise")
    require(not len(indices) or (indices.min() >= 0 and indices.max() < store.width), "a column must exist")


def _dicts(store: DictStore) -> None:
    _sparse(store)
    places = list(store.names.values()) if isinstance(store.names, dict) else [None]
    require(places == list(range(len(places))), "names must have the places 0, 1, ...")
    require(store.width <= len(places), "each column must have a name")


def _objects(store: ObjectStore) -> None:
    require(isinstance(store._objects, list) and store.n == len(store._objects), "there must be as many objects")


def _inputs(inputs: Inputs) -> None:
    require_kind(inputs.kernels, list, "kernels")
    require_kind(inputs.store, (Store, type(None)), "the store of rows")
    require(type(inputs.parts) is bool and type(inputs.keep) is bool, "parts and keep must be true or false")


def _cholesky(factor: PanelCholesky) -> None:
    n, b = require_count(factor.n, "rows"), factor.panel
    require(
        type(b) is int and b > 0 and len(factor.panels) == len(factor.corners) == -(-n // b), "panels are missing"
    )
    for i, (panel, corner) in enumerate(zip(factor.panels, factor.corners, strict=True)):
        _floats(panel, corner)
        require(panel.shape == (b, i * b) and corner.shape == (b, b), f"panel {i} has another shape")
        require((np.diagonal(corner) > 0).all(), "a Cholesky factor must have a positive diagonal")


def _suffix_factor(factor: SuffixFactor) -> None:
    n, skipped = require_count(factor.n, "rows"), require_count(factor.skipped, "rows dropped")
    c, shares = require_count(factor.unfolded, "columns"), require_count(factor.shares, "shares")
    require_kind(factor.fold, (Fold, type(None)), "the rows put off")
    put_off = factor.fold.rows if factor.fold is not None and not shares else 0
    require(len(factor.panels) * PANEL >= skipped + n - put_off, "panels are missing")
    for i, panel in enumerate(factor.panels):
        _floats(panel)
        require(panel.shape == ((i + 1) * PANEL, PANEL), f"panel {i} has another shape")
    if factor.fold is None:
        require(c == shares == 0, "no columns can be left of no rows")
    else:
        strips = -(-(skipped + (c if shares else n)) // STRIP)
        require(len(factor.fold.U) >= strips, "strips are missing")
        require(0 < c <= n and shares <= SPREAD if shares else c + put_off == n, "rows put off must fit")


def _fold(fold: Fold) -> None:
    _floats(fold.U, fold.F, fold.left)
    count, b = fold.U.shape[:2]
    shapes = (fold.U.shape, fold.F.shape, fold.left.shape)
    require(shapes == ((count, b, STRIP), (count, STRIP, b), (count, STRIP, STRIP + b)), "strips must fit")


def _exact(solver: ExactSolver) -> None:
    require_kind(solver.factor, PanelCholesky, "the factor")
    require_count(solver.rounds, "rounds")
    _growing(solver.factor.n, solver.C, solver.E, solver.round_of_row)
    require(solver.C.shape == solver.E.shape and _positive(solver.lam), "targets must fit, and lam be > 0")


def _all_restarts(solver: AllRestarts) -> None:
    require_kind(solver.factor, SuffixFactor, "the factor")
    require_kind(solver.products, Products, "the products")
    require_count(solver.rounds, "rounds")
    n, starts = solver.products.n, solver.starts
    require(solver.products.old == solver.factor.n, "the factor must have the closed rows")
    require(isinstance(starts, np.ndarray) and starts.dtype == np.int64 and starts.ndim == 1, "starts must be whole")
    require(not len(starts) or (starts.min() >= 0 and starts.max() < n), "a restart must begin at a row that is kept")
    require(_positive(solver.lam), "lam must be > 0")


def _products(products: Products) -> None:
    n, old, p, b = (require_count(getattr(products, size), size) for size in ("n", "old", "targets", "open"))
    _floats(products.q, products.C, products.F, products.U)
    require(n == old + b, "open rows must fit")
    require(products.q.shape == (n,) and products.C.shape == (p, n), "targets must fit")
    require(products.F.shape == (b, n) and products.U.shape == (b, old), "open rows must fit")


def _starts(solver: StartSolver) -> None:
    rows = require_count(solver.rows, "rows")
    require_count(solver.rounds, "rounds")
    for _, row, expert in solver.experts:
        require_kind(expert, ExactSolver, "an expert")
        require(type(row) is int and row >= 0 and expert.factor.n == rows - row, "an expert must have its rows")


def _features(solver: FeatureSolver) -> None:
    require_count(solver.rounds, "rounds")
    require_kind(solver.pending, PendingRows, "the pending rows")
    require_kind(solver.folding, (QRUpdate, type(None)), "the rows that are being folded in")
    _floats(solver.S)
    D, columns = solver.S.shape
    require(columns >= D and (columns - D) % 2 == 0 and solver.pending.dim >= D, "shapes must fit")
    require((np.diagonal(solver.S) != 0).all(), "a triangular factor must have no 0 on its diagonal")
    require(require_count(solver.folded, "rows") <= solver.pending.n, "the rows that are being folded in are pending")
    require(solver.folding is None or solver.folding.updated.shape == solver.S.shape, "shapes must fit")
    require(_positive(solver.lam), "lam must be > 0")


def _pending_rows(rows: PendingRows) -> None:
    n, room = require_count(rows.n, "rows"), len(rows.round)
    _floats(rows.Z, rows.U, rows.H, rows.C, rows.E, rows.L)
    require(rows.Z.shape == rows.U.shape == (room, rows.dim) and n <= room, "pending rows must fit")
    require(rows.H.shape == rows.C.shape == rows.E.shape and len(rows.H) == room, "pending rows must fit")
    require(rows.L.shape == (room, room) and (np.diagonal(rows.L) > 0).all(), "the factor must have a diagonal > 0")
    require(rows.round.dtype == np.int64 and rows.round.ndim == 1, "rounds must be whole numbers")
    rounds = require_count(rows.rounds, "rounds")
    numbers = rows.round[:n]
    require((np.diff(numbers, prepend=0, append=rounds) >= 0).all(), "rows must come in the order of their rounds")


def _qr_update(update: QRUpdate) -> None:
    _floats(update.X, update.rows, update.updated)
    _floats(update.V, update.T)
    D, q = update.X.shape
    done = require_count(update.done, "columns")
    require(update.updated.shape == (D, D + q) and done <= D, "shapes must fit")
    require(update.rows.shape == (len(update.V), D + q - done) and update.V.shape[1] == D, "rows must fit")
    require(update.T.shape == (min(BLOCK, D), D), "reflections must fit")


def _stack(stack: Stack) -> None:
    arrays = (stack.Gram, stack.B, stack.F, stack.Theta, stack.U, stack.J, stack.C, stack.H, stack.lams)
    _floats(*arrays, *stack.Z.values())
    slots, D = stack.Gram.shape[:2]
    rows, p, lams = len(stack.H), stack.B.shape[2], len(stack.lams)
    require(stack.Gram.shape == (slots, D, D) and stack.B.shape == (slots, D, p), "moments must fit")
    require(stack.F.shape == (slots, lams, D, D) and stack.Theta.shape == (slots, lams, D, p), "factors must fit")
    require(stack.U.shape == (slots, lams, rows, D) and stack.C.shape == (slots, lams, rows, p), "rows must fit")
    require(stack.J.shape == (slots, lams, rows, rows) and stack.H.shape == (rows, p), "open rows must fit")
    require(0 <= require_count(stack.open, "open rows") <= rows, "open rows must fit")
    for whole in (stack.starts, stack.born, stack.versions):
        require(isinstance(whole, np.ndarray) and whole.dtype == np.int64, "starts must be whole numbers")
        require(whole.shape == stack.starts.shape and len(whole) <= slots, "each slot must have a start")


def _featurestarts(solver: FeatureStarts) -> None:
    require_kind(solver.stack, Stack, "the experts")
    require_count(solver.rounds, "rounds")


def _positive(lam: Any) -> bool:
    return isinstance(lam, float) and 0 < lam < np.inf


def require_maps(maps: Any, kinds: type = FeatureMap) -> None:
    """A list of feature maps by version for each kind."""
    require(isinstance(maps, list) and all(isinstance(versions, dict) and versions for versions in maps), "maps")
    for versions in maps:
        for version, m in versions.items():
            require_count(version, "the version of a map")
            require_kind(m, kinds, "a map")


_CHECKS: dict[type, Callable[[Any], None]] = {
    DenseStore: _dense,
    SparseStore: _sparse,
    DictStore: _dicts,
    ObjectStore: _objects,
    Inputs: _inputs,
    PanelCholesky: _cholesky,
    SuffixFactor: _suffix_factor,
    Fold: _fold,
    ExactSolver: _exact,
    AllRestarts: _all_restarts,
    Products: _products,
    StartSolver: _starts,
    FeatureSolver: _features,
    FeatureStarts: _featurestarts,
    PendingRows: _pending_rows,
    QRUpdate: _qr_update,
    Stack: _stack,
}
