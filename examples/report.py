"""A page of a run, made in Python: levels that change their meaning twice. Open report.html when it is done.

python examples/report.py [report.html]
"""

import sys

from oskaar import SALAMI, MostFrequent, RepeatLast, losses, reports, streams


def main(path):
    loss = losses.Ordinal(range(1, 6))
    stream = streams.drifting(loss, 1500, sites=60, changes=2, labels=5, noise=0.2, seed=3)
    learner = SALAMI(loss, stream.kernel)
    baselines = {"repeat-last": RepeatLast(loss), "most-frequent": MostFrequent(loss)}
    names = ["temperature", "pressure"]
    recorder = reports.record(learner, stream.x, stream.y, baselines=baselines, name="salami", columns=names)
    facts = {"loss": repr(loss), "learner": repr(learner)}
    reports.write(recorder, path, facts, title="A stream that changes twice", command="python examples/report.py")
    print(f"{path}: {recorder.rounds} rounds, changes at {[change[0] for change in recorder.changes]}")
    print(f"truth: {stream.changes}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "report.html")
