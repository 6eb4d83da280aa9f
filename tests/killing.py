"""Run as a program: forks processes that save, kills them with SIGKILL, and looks at the file after each kill.

python killing.py FOLDER KILLS prints, for each kill, which of the two states the file holds and whether a half
written file was left behind.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import oskaar
from oskaar import OSKAAR, losses
from oskaar.state import files

X = np.random.default_rng(0).normal(size=(60, 3))


def fitted(n):
    return OSKAAR(losses.ZeroOne(3)).fit(X[:n], ([0, 1, 2] * 20)[:n])


def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)


def half(thing, file):
    file.write(b"half")
    file.flush()
    die()


STEPS = {
    "open": lambda: setattr(os, "open", die),
    "write": lambda: setattr(files, "_write", half),
    "fsync": lambda: setattr(os, "fsync", die),
    "replace": lambda: setattr(os, "replace", die),
}


def forked(action):
    """The id of a process that runs the action."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(1)
    return pid


def checked(path, known, what):
    learner = oskaar.load(path)
    whole = path.read_bytes() == known[learner.rounds]
    left = [p for p in path.parent.iterdir() if p != path]
    print(what, learner.rounds, whole, len(left), flush=True)
    for p in left:
        assert p.name.startswith(f".{path.name}.")
        assert p.name.endswith(".tmp")
        p.unlink()


def main(folder, kills):
    path, learners, rng = Path(folder) / "learner.oskaar", [fitted(30), fitted(60)], np.random.default_rng()
    known = {learner.rounds: learner.to_bytes() for learner in learners}
    learners[0].save(path)

    def save_for_ever():
        while True:
            for learner in learners[::-1]:
                learner.save(path)

    for name, arm in STEPS.items():  # in each call of the operating system

        def save_once(arm=arm):
            arm()
            learners[1].save(path)

        _, status = os.waitpid(forked(save_once), 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        checked(path, known, name)
    for _ in range(kills):  # at any moment
        pid = forked(save_for_ever)
        time.sleep(rng.uniform(0.0, 0.04))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        checked(path, known, "random")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
