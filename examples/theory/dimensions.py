"""The effective dimension against its bounds. Writes docs/theory-dimension.svg."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLACK, BLUE, GREEN, ORANGE, RED, progress, save

from oskaar import kernels, theory


def main(T=800, seed=0):
    progress("effective dimension")
    X = np.random.default_rng(seed).uniform(-1, 1, size=(T, 2))
    radius, lams = np.linalg.norm(X, axis=1).max(), np.geomspace(0.01, T, 25)
    shown = {
        "Gaussian(0.5)": (kernels.Gaussian(0.5), BLUE),
        "Matern(1, 5/2)": (kernels.Matern(1.0, nu=2.5), GREEN),
        "Matern(1, 1/2)": (kernels.Matern(1.0, nu=0.5), ORANGE),
        "linear": (kernels.Linear(), RED),
    }
    figure, axes = plt.subplots(figsize=(7.4, 5.2), layout="constrained")
    for name, (kernel, color) in shown.items():
        K = kernel(X, X)
        capacity = theory.fit_capacity(K)
        measured = [theory.effective_dimension(K, lam) for lam in lams]
        axes.plot(lams, measured, color=color, marker="o", ms=3, label=f"{name}: measured")
        label = f"$Q (T / \\lambda)^\\beta$, Q = {capacity.Q:.2f}, $\\beta$ = {capacity.beta:.2f}"
        axes.plot(lams, [capacity.dimension(T, lam) for lam in lams], color=color, ls="--", lw=1, label=label)
        progress(f"    {name}: d_eff(1) = {theory.effective_dimension(K, 1.0):.2f}, {capacity}")
    gaussian = [theory.gaussian_dimension_bound(T, lam, 2, radius, 0.5) for lam in lams]
    axes.plot(lams, gaussian, color=BLUE, ls=":", label="Gaussian: Poisson tail bound")
    axes.plot(lams, np.minimum(T / lams, T), color=BLACK, ls=":", label="$\\kappa^2 T / \\lambda$, cut at T")
    axes.set(xscale="log", yscale="log", xlabel="$\\lambda$", ylabel="effective dimension", ylim=(0.05, 2000))
    axes.set_title(f"T = {T} rows in the square, d = 2")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    sketch = theory.DimensionSketch(kernels.Gaussian(0.5), 1.0, tolerance=1e-9)
    sketch.add(X)
    exact = theory.effective_dimension(kernels.Gaussian(0.5)(X, X), 1.0)
    progress(
        f"    sketch of the Gaussian's, lam = 1: {sketch.estimate()} with {len(sketch.L)} rows; exact {exact:.4f}"
    )
    save(figure, "theory-dimension")
