"""Decoders: many vectors at once against one at a time, and against the definition."""

import numpy as np
from common import best_of, report

from oskaar import losses


def literal_f1(loss, g):
    """For each size m, the top m of sum_n 2 sqrt(n) g[:, n] / (m + n): the definition, one m at a time."""
    k = loss.n_labels
    H = g[1:].reshape(k, k)
    best, found = -g[0], frozenset()
    n = np.arange(1, k + 1)
    for m in range(1, k + 1):
        scores = (2 * np.sqrt(n) / (m + n)) @ H
        top = np.argsort(-scores)[:m]
        if -scores[top].sum() < best:
            best, found = -scores[top].sum(), frozenset(top.tolist())
    return found


def seen_by(loss, ys):
    space = loss.space()
    for y in ys:
        space = space.extended(loss.check(y))
    return space


def many_and_alone(space, G):
    """Seconds for all vectors at once, and one after the other."""
    return best_of(lambda: space.decode_many(G), lambda: [space.decode_many(g[None, :]) for g in G], repeats=3)


def thousand(rng):
    """F1 on 1000 labels: a learner's vector (20 sizes seen), and a dense one with all 1000001 coordinates."""
    loss = losses.F1(1000)
    ys = [frozenset(rng.choice(1000, size=rng.integers(1, 21), replace=False).tolist()) for _ in range(500)]
    space = seen_by(loss, ys)
    g = rng.normal(size=(1, 500)) @ space.embed_many(ys) / 20
    dense = rng.normal(size=loss.p)
    seen, full = best_of(lambda: space.decode_many(g), lambda: loss.decode(dense), repeats=5)
    report("F1, 1000 labels, 20 sizes seen: ms a decode", 1e3 * seen, 50)
    report("F1, 1000 labels, all sizes: ms a decode", 1e3 * full, 50)


def searched(rng):
    """Jaccard with 200 sets seen: exactly on 12 labels, by search on 100."""
    for k in (12, 100):
        space = losses.Jaccard(k).space()
        while space.p < 200:
            space = space.extended(frozenset(rng.choice(k, size=rng.integers(1, 8), replace=False).tolist()))
        G = rng.normal(size=(50, space.p))
        many, loop = many_and_alone(space, G)
        print(
            f"     Jaccard, {k} labels, 200 sets seen: {1e3 * many / 50:.2f} ms a vector, {1e3 * loop / 50:.2f} alone"
        )


def transported(rng):
    """Losses whose vectors are weights on the labels seen: 200 of these."""
    points = rng.normal(size=(200, 3))
    shares = rng.dirichlet(np.ones(8), size=200)
    for loss, ys in (
        (losses.SphereGeodesic(2), points[:, :2] / np.linalg.norm(points[:, :2], axis=1, keepdims=True)),
        (losses.SphereGeodesic(3), points / np.linalg.norm(points, axis=1, keepdims=True)),
        (losses.OrderedWasserstein(8), shares),
        (losses.TotalVariation(8), shares),
    ):
        space = seen_by(loss, ys)
        G = rng.normal(size=(100, space.p))
        many, loop = many_and_alone(space, G)
        print(
            f"     {loss!r}, 200 labels seen: {1e3 * many / 100:.2f} ms a vector, one at a time over decode_many "
            f"{loop / many:.1f}"
        )


def main():
    rng = np.random.default_rng(0)
    loss = losses.F1(100)
    ys = [frozenset(rng.choice(100, size=rng.integers(1, 8), replace=False).tolist()) for _ in range(200)]
    space = seen_by(loss, ys)
    G = rng.normal(size=(2000, 200)) @ space.embed_many(ys) / 20
    few = G[:200]
    many, loop, literal = best_of(
        lambda: space.decode_many(few),
        lambda: [space.decode_many(g[None, :]) for g in few],
        lambda: [literal_f1(loss, g) for g in space.full(few[:20])],
        repeats=3,
    )
    (whole,) = best_of(lambda: space.decode_many(G), repeats=3)
    print(f"     F1, 100 labels: decode_many of 2000 vectors {whole:.2f} s, {1e6 * whole / 2000:.0f} us each")
    report("F1: the definition in NumPy over decode_many", 10 * literal / many, 5, at_least=True)
    print(f"     F1, 100 labels: one at a time over decode_many {loop / many:.1f}: 100 sorts of 100 labels for each")
    print("     vector, which no batch saves; with fewer labels the calls weigh more")
    small = losses.F1(20)
    H = rng.normal(size=(500, small.p))
    many, loop = best_of(lambda: small.decode_many(H), lambda: [small.decode(h) for h in H], repeats=3)
    report("F1, 20 labels: one at a time over decode_many", loop / many, 5, at_least=True)
    thousand(rng)
    searched(rng)
    transported(rng)
    for other in (
        losses.SubsetHamming(50),
        losses.SubsetHamming(50, at_least=2, at_most=5),
        losses.PrecisionAtK(50, k=5),
        losses.SubsetZeroOne(8, candidates=losses.SubsetHamming(8).outputs()),
        losses.Jaccard(6),
        losses.ZeroOne(50),
        losses.Ordinal(50),
        losses.SequenceHamming(10, 20),
        losses.CostMatrix(rng.random((50, 50))),
        losses.Sphere(10),
        losses.Angles(10),
        losses.SimplexL2(10),
        losses.Hellinger(10),
    ):
        G = rng.normal(size=(2000, other.p))
        many, loop = best_of(lambda: other.decode_many(G), lambda: [other.decode(g) for g in G], repeats=3)  # noqa: B023
        name = repr(other) if isinstance(other, losses.SubsetLoss) else type(other).__name__
        print(f"     {name}: {1e6 * many / 2000:.1f} us a vector")
        report(f"{name}: one at a time over decode_many", loop / many, 5, at_least=True)


if __name__ == "__main__":
    main()
