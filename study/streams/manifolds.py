"""Angles, points on the sphere and distributions: wind, storms, the energy mix of Spain."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oskaar import losses
from study.protocol import Stream
from study.streams.entries import Entry, benchmark, unscaled

WIND = "circular/synop_8stations_2015_2019.csv.gz"
STORMS = "sphere/dplyr_storms.csv.gz"
ENERGY = "histogram/energy_dataset.csv.zip"
STATIONS = ("07149", "07510", "07747")
REACH = 1000.0
"""Kilometres in which the residual of a storm's extrapolation is looked for."""


def _wind(station: str, turn: bool = False) -> Entry:
    name = f"wind-{station}" + ("-turn" if turn else "")

    def load(folder: Path, rounds: int | None) -> Stream:
        X, now, ys = benchmark("manifolds").wind(folder / WIND, station, rounds, scale=unscaled)
        note = "the direction of the wind three hours later; today's is among the features"
        if turn:
            ys = np.angle(np.exp(1j * np.deg2rad(np.round(np.rad2deg(ys - now)))))
            note = "the turn of the wind in three hours; 0 is persistence"
        return Stream(name, "angle", X, ys.tolist(), losses.Circular(), note, WIND)

    return Entry(name, "angle", load, file=WIND, family=f"wind-{STATIONS[0]}", lag=turn)


def _storms(folder: Path, rounds: int | None, residual: bool) -> Stream:
    there = benchmark("manifolds")
    X, last, guesses, ys = there.storms(folder, 10**9, scale=unscaled)
    if residual:
        axes = [there.frame(guess) for guess in guesses]
        away = np.stack([(y - guess) @ E for y, guess, E in zip(ys, guesses, axes, strict=True)])
        away = np.clip(there.EARTH * away, -REACH, REACH) / REACH
        note = f"where a storm is six hours later, less its great-circle extrapolation, in {REACH:g} km"
        return Stream("storms-residual", "vector", X, list(away), losses.Squared(2, -1.0, 1.0), note, STORMS)
    X = np.hstack([X, last, guesses])
    note = "where a storm is six hours later; its place and its great-circle extrapolation are among the features"
    return Stream("storms", "sphere", X, list(ys), losses.Sphere(3), note, STORMS)


def _energy(folder: Path, rounds: int | None, daily: bool) -> Stream:
    there = benchmark("manifolds")
    when, mix, ahead = there.mixes(folder)
    step = 24 if daily else 1
    hours = np.arange(7 * 24, len(when), 1)
    if daily:
        hours = hours[[when[h].hour == 12 for h in hours]]
    shares = ahead[:, :2] / ahead[:, 2:]
    clock = np.array([[*there.turns(2 * np.pi * t.hour / 24), *np.eye(7)[t.weekday()]] for t in when])
    X = np.hstack([mix[hours - step], mix[hours - 24], mix[hours - 168], shares[hours], ahead[hours], clock[hours]])
    name, what = ("energy-day", "yesterday") if daily else ("energy-hour", "the hour before")
    note = f"shares of the sources {'at noon' if daily else 'in an hour'}; those of {what} are among the features"
    return Stream(name, "simplex", there.filled(X), list(mix[hours]), losses.SimplexL2(mix.shape[1]), note, ENERGY)


ENTRIES = [*map(_wind, STATIONS), _wind(STATIONS[0], turn=True)]
ENTRIES += [
    Entry("storms", "sphere", lambda folder, rounds: _storms(folder, rounds, False), STORMS),
    Entry("storms-residual", "vector", lambda folder, rounds: _storms(folder, rounds, True), STORMS, family="storms"),
    Entry("energy-hour", "simplex", lambda folder, rounds: _energy(folder, rounds, False), ENERGY),
    Entry(
        "energy-day", "simplex", lambda folder, rounds: _energy(folder, rounds, True), ENERGY, family="energy-hour"
    ),
]
