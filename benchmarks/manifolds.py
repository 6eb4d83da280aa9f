"""Angles, distributions and points on the sphere: speed of the decoders, and three real streams.

The streams do not ship with the project: name the folder that holds them, or put it at ../shared/data.
Every answer is given before its label is seen, inputs are standardised online, and rivals that ignore the input
(repeat-last, the best constant so far) stand beside every figure.
"""

import csv
import datetime
import gzip
import io
import zipfile

import numpy as np
from common import arguments_with_folder, best_of, report

from oskaar import OSKAAR, SALAMI, RepeatLast, kernels, losses, replay, streams

EARTH = 6371.0
CONSTANT = kernels.Constant(1.0)


# ------------------------------------------------------------------ decoders


def decoders():
    """decode_many beside a loop of decode."""
    rng = np.random.default_rng(0)
    for loss in (
        losses.Circular(),
        losses.Angles(8),
        losses.Sphere(3),
        losses.Rotation(3),
        losses.LogEuclidean(3, bound=4.0),
        losses.SimplexL2(20),
        losses.Hellinger(20),
        losses.Squared(5, -1.0, 1.0),
    ):
        G = rng.normal(size=(2000, loss.p))
        loop, many = best_of(lambda: [loss.decode(g) for g in G], lambda: loss.decode_many(G), repeats=3)  # noqa: B023
        report(f"decode_many of 2000 over a loop, {loss!r}", loop / many, 5, at_least=True)
    labels = rng.uniform(0, 1, size=3000)
    for loss in (losses.Geodesic(), losses.Pinball(1, 0, 1), losses.Huber(1, 0, 1, delta=0.1)):
        space = loss.space()
        for y in labels[:1000]:
            space = space.extended(loss.check(y))
        G = rng.normal(size=(1, space.p))
        (seconds,) = best_of(lambda: space.decode_many(G))  # noqa: B023
        print(f"     {loss!r} with 1000 labels seen: {1e6 * seconds:.0f} us an answer")


# ------------------------------------------------------------------ wind


def numbers(text):
    return float(text) if text else np.nan


def filled(X):
    """Missing values repeat the last known one, 0 before it."""
    X = X.copy()
    for column in X.T:
        last = 0.0
        for i, value in enumerate(column):
            last = column[i] = value if np.isfinite(value) else last
    return X


def turns(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def observations(path, station):
    rows = []
    with gzip.open(path, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["numer_sta"] == station:
                when = datetime.datetime.strptime(row["date"], "%Y%m%d%H%M%S")
                names = ("dd", "ff", "t", "td", "u", "pmer", "tend", "n", "raf10")
                rows.append((when, [numbers(row[name]) for name in names]))
    return rows


def wind(path, station, rounds, scale=streams.standardised):
    """The wind three hours after each observation, and what is known at it; calm air has no direction."""
    seen = observations(path, station)
    X, now, ys = [], [], []
    for (_, far), (when, here), (later, there) in zip(seen[:-2], seen[1:-1], seen[2:], strict=True):
        if later - when != datetime.timedelta(hours=3) or not (here[0] > 0 and there[0] > 0):
            continue
        old, new, truth = np.deg2rad([far[0] if far[0] > 0 else here[0], here[0], there[0]])
        day = 2 * np.pi * when.timetuple().tm_yday / 365.25
        hour = 2 * np.pi * when.hour / 24
        clock = [*turns(hour), *turns(day), *turns(hour - new), *turns(day - new)]
        X.append([*turns(new), *(here[1] * turns(new)), *turns(new - old), *here[1:], *clock, here[2] - far[2]])
        now.append(new)
        ys.append(truth)
        if len(ys) == rounds:
            break
    return scale(filled(np.array(X))), np.array(now), np.array(ys)


def degrees(zs, ys):
    return float(np.degrees(np.mean(np.abs(np.angle(np.exp(1j * (np.asarray(zs) - ys)))))))


STATIONS = ("07015", "07110", "07149", "07190", "07510", "07577", "07650", "07747")


def winds(folder, rounds=3000, stations=STATIONS):
    """Prints all figures; gives those of the last station: OSKAAR by loss, and persistence."""
    path = folder / "circular" / "synop_8stations_2015_2019.csv.gz"
    for station in stations:
        X, now, ys = wind(path, station, rounds)
        kernel = kernels.Gaussian(X.shape[1] ** 0.5) + 1.0
        turned = np.round(np.degrees(ys - now)) * np.pi / 180
        ours = {
            loss: degrees(now + replay(OSKAAR(loss, kernel, lam=1.0), X, turned).predictions, ys)
            for loss in (losses.Circular(), losses.Geodesic())
        }
        blind = degrees(replay(OSKAAR(losses.Geodesic(), CONSTANT), X, ys).predictions, ys)
        last = degrees(now, ys)
        print(
            f"     wind at {station}, {len(ys)} rounds: mean error in degrees: persistence (repeat-last) {last:.2f}, "
            f"best constant {blind:.2f}; " + ", ".join(f"OSKAAR {loss!r} {error:.2f}" for loss, error in ours.items())
        )
        if station == "07149":
            mixed = replay(SALAMI(losses.Circular(), kernel), X, turned).predictions
            report(f"wind at {station}: SALAMI Circular() over persistence", degrees(now + mixed, ys) / last, 1.0)
        report(f"wind at {station}: OSKAAR Geodesic() over persistence", list(ours.values())[1] / last, 1.0)
    return [*ours.values(), last]


# ------------------------------------------------------------------ energy


def mixes(folder):
    """Hours with a complete mix: when, shares of the sources, and what was forecast the day before."""
    with zipfile.ZipFile(folder / "histogram" / "energy_dataset.csv.zip") as archive:
        lines = io.TextIOWrapper(archive.open("energy_dataset.csv"), encoding="utf-8")
        table = list(csv.DictReader(lines))
    sources = [name for name in table[0] if name.startswith("generation") and "pumped" not in name]
    made = filled(np.array([[numbers(row[name]) for name in sources] for row in table]))
    made = made[:, made[:24].sum(axis=0) > 0]  # sources that are there on the first day
    names = ("forecast solar day ahead", "forecast wind onshore day ahead", "total load forecast")
    ahead = np.array([[numbers(row[name]) for name in names] for row in table])
    when = [datetime.datetime.fromisoformat(row["time"]) for row in table]
    return when, made / made.sum(axis=1, keepdims=True), ahead


def energy(folder, days=150):
    """The mix of an hour from what is known before its day begins: the 24 hours of a day are answered together."""
    when, mix, ahead = mixes(folder)
    hours = np.arange(7 * 24, (7 + days) * 24)
    shares = ahead[:, :2] / ahead[:, 2:]
    clock = np.array(
        [[*turns(2 * np.pi * t.hour / 24), float(t.weekday() >= 5), *np.eye(7)[t.weekday()]] for t in when]
    )
    parts = [mix[hours - 24], mix[hours - 168], shares[hours], shares[hours] - shares[hours - 24]]
    parts += [ahead[hours], ahead[hours] - ahead[hours - 24], clock[hours]]
    return streams.standardised(np.concatenate(parts, axis=1)), hours, mix


def variation(Z, Y):
    return float(np.abs(np.asarray(Z) - Y).sum(axis=1).mean() / 2)


def daily(learner, X, ys):
    """Answer the 24 hours of a day, then learn them."""
    answers = []
    for day in range(0, len(X), 24):
        answers += learner.predict_many(X[day : day + 24])
        learner.learn_many(X[day : day + 24], ys[day : day + 24])
    return answers


def energies(folder, days=150):
    """Prints all figures; gives those of Hellinger: OSKAAR, yesterday, last week."""
    X, hours, mix = energy(folder, days)
    Y, n = mix[hours], mix.shape[1]
    kernel = kernels.Gaussian(X.shape[1] ** 0.5) + 1.0
    yesterday, last_week = variation(mix[hours - 24], Y), variation(mix[hours - 168], Y)
    for loss in (losses.SimplexL2(n), losses.Hellinger(n)):
        ours, blind = (
            variation(daily(learner, X, list(Y)), Y)
            for learner in (OSKAAR(loss, kernel, lam=0.3), OSKAAR(loss, CONSTANT))
        )
        print(
            f"     energy mix of {n} sources, {len(X) // 24} days of 24 hours, {loss!r}: total variation: "
            f"yesterday (repeat-last) {yesterday:.4f}, last week {last_week:.4f}, best constant {blind:.4f}, "
            f"OSKAAR {ours:.4f}"
        )
        report(
            f"energy mix, {loss!r}, over the better of yesterday and last week", ours / min(yesterday, last_week), 1
        )
    return ours, yesterday, last_week


# ------------------------------------------------------------------ storms


def fixes(folder):
    """Storms by name and year, a fix every six hours: time, (latitude, longitude), wind and pressure."""
    storms = {}
    with gzip.open(folder / "sphere" / "dplyr_storms.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            when = datetime.datetime(*(int(row[name]) for name in ("year", "month", "day", "hour")))
            place = np.deg2rad([float(row["lat"]), float(row["long"])])
            storm = storms.setdefault((row["name"], row["year"]), [])
            storm.append((when, place, numbers(row["wind"]), numbers(row["pressure"])))
    return storms


def on_sphere(places):
    """Unit vectors of (latitude, longitude)."""
    latitude, longitude = np.moveaxis(np.asarray(places), -1, 0)
    return np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], -1
    )


def frame(point):
    """East and north at a point, as columns."""
    east = np.cross([0.0, 0.0, 1.0], point)
    east = east / np.linalg.norm(east)
    return np.stack([east, np.cross(point, east)], axis=1)


def kilometres(A, B):
    return EARTH * 2 * np.arcsin(np.clip(np.linalg.norm(np.subtract(A, B), axis=-1) / 2, 0, 1))


def extrapolated(before, here):
    """As far again along the same great circle: the mirror image of the last point."""
    return 2 * (here @ before) * here - before


def storms(folder, rounds=4000, scale=streams.standardised):
    """Where a storm is six hours later, less its great-circle extrapolation: kilometres to the east and north."""
    found = []
    six = datetime.timedelta(hours=6)
    for storm in fixes(folder).values():
        for two, one, now, later in zip(storm[:-3], storm[1:-2], storm[2:-1], storm[3:], strict=True):
            if all(b[0] - a[0] == six for a, b in ((two, one), (one, now), (now, later))):
                found.append((now[0], two, one, now, later))
    found.sort(key=lambda item: item[0])
    X, guesses, ys = [], [], []
    for when, two, one, now, later in found[-rounds:]:
        A, B, C, truth = on_sphere([two[1], one[1], now[1], later[1]])
        guess, axes = extrapolated(B, C), frame(C)
        pace = EARTH * (C - B) @ axes
        bend = EARTH * (C - extrapolated(A, B)) @ axes
        day = 2 * np.pi * when.timetuple().tm_yday / 365.25
        X.append([*now[1], *pace, *bend, now[2], now[3], now[2] - one[2], now[3] - one[3], *turns(day)])
        guesses.append(guess)
        ys.append(truth)
    guesses, ys = np.array(guesses), np.array(ys)
    last = on_sphere([item[3][1] for item in found[-rounds:]])
    return scale(filled(np.array(X))), last, guesses, ys


def storm_tracks(folder, rounds=4000):
    """Prints all figures; gives OSKAAR's, great-circle extrapolation's and persistence's."""
    X, last, guesses, ys = storms(folder, rounds)
    axes = [frame(guess) for guess in guesses]
    away = EARTH * np.stack([(y - guess) @ E for y, guess, E in zip(ys, guesses, axes, strict=True)])
    kernel = kernels.Gaussian(X.shape[1] ** 0.5) + 1.0
    persistence, great_circle = kilometres(last, ys).mean(), kilometres(guesses, ys).mean()

    def error(moves):
        points = [guess + E @ move / EARTH for guess, E, move in zip(guesses, axes, moves, strict=True)]
        return kilometres(np.array([point / np.linalg.norm(point) for point in points]), ys).mean()

    loss = losses.Squared(2, -1000.0, 1000.0)
    moves = replay(OSKAAR(loss, kernel, lam=1.0), X, away).predictions
    blind = error(replay(OSKAAR(loss, CONSTANT), X, away).predictions)
    repeated = error([np.zeros(2) if z is None else z for z in replay(RepeatLast(loss), X, away).predictions])
    print(
        f"     storms, {len(ys)} fixes: mean error in km: persistence {persistence:.2f}, great circle "
        f"{great_circle:.2f}, with the best constant residual {blind:.2f}, with the last residual {repeated:.2f}, "
        f"OSKAAR on the residual {error(moves):.2f}"
    )
    report("storms: OSKAAR over great-circle extrapolation", error(moves) / great_circle, 1.0)
    return error(moves), great_circle, persistence


def main():
    arguments = arguments_with_folder(__doc__)
    folder = arguments.parse_args().folder
    decoders()
    for name, measure in (("circular", winds), ("histogram", energies), ("sphere", storm_tracks)):
        if (folder / name).is_dir():
            measure(folder)
        else:
            print(f"     no streams in {folder / name}: nothing to measure")


if __name__ == "__main__":
    main()
