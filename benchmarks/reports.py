"""What recording a run for --report costs, as a share of the run, beside the same run without it."""

import contextlib
import io
import tempfile
import time
from pathlib import Path

import numpy as np
from common import report

from oskaar.cli import main
from oskaar.reports import Recorder

RUNS = {
    "ensemble, 1500 exact rounds": (1500, ["--learner", "ensemble"]),
    "oskaar, 3000 exact rounds": (3000, ["--learner", "oskaar"]),
    "ensemble --budget 64, 4000 rounds": (4000, ["--learner", "ensemble", "--budget", "64"]),
    "oskaar --budget 64, 8000 rounds": (8000, ["--learner", "oskaar", "--budget", "64"]),
}


def stream(path, rounds, width=5):
    X = np.random.default_rng(0).normal(size=(rounds, width)).round(3)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    half = np.arange(rounds) >= rounds // 2
    rows = (",".join(map(str, [*x, f"c{(v + h) % 3}"])) for x, v, h in zip(X, y, half, strict=True))
    path.write_text("\n".join(["a,b,c,d,e,y", *rows]))


def quietly(*arguments):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if main(["learn", *arguments]):
            raise SystemExit("the run failed")


def cpu(*arguments):
    start = time.process_time()
    quietly(*arguments)
    return time.process_time() - start


def timed(method, spent):
    def inner(*arguments, **more):
        start = time.process_time()
        done = method(*arguments, **more)
        spent.append(time.process_time() - start)
        return done

    return inner


def main_benchmark():
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "a.csv", Path(folder) / "report.html"
        for name, (rounds, arguments) in RUNS.items():
            stream(path, rounds)
            options = [str(path), "--y", "y", *arguments]
            spent, add = [], Recorder.add
            Recorder.add = timed(add, spent)
            plain, recorded = [], []
            for _ in range(3):
                plain.append(cpu(*options))
                recorded.append(cpu(*options, "--report", str(page)))
            Recorder.add = add
            print(f"{name}: {min(plain):.2f} s of CPU without a report")
            report("    all of it, page included, over that", min(recorded) / min(plain), 1.25)
            report("    recording alone, as a share of the run", sum(spent) / sum(recorded), 0.1)


if __name__ == "__main__":
    main_benchmark()
