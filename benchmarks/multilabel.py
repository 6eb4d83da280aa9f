"""Real multi-label streams in file order, every answer before its label.

They do not ship with the project: name the folder that holds them, or put it at ../shared/data.
"""

import csv
import time

from common import arguments_with_folder, report

from oskaar import OSKAAR, MostFrequent, RepeatLast, kernels, losses, replay, streams

COSINE, GAUSS = kernels.Cosine() + 1.0, kernels.Gaussian(0.5) + 1.0
STREAMS = [  # file, labels (first n, or last -n), kernel, lam, goal, its name in the published table
    ("yeast.arff.gz", -14, GAUSS, 0.3, 0.655, "Yeast"),
    ("SLASHDOT-F.arff.gz", 22, COSINE, 1.0, 0.52, "SLASHDOT-F"),
    ("20NG-F.arff.gz", 20, COSINE, 1.0, 0.69, "20NG-F"),
]


def published(folder):
    best = {}
    with open(folder / "reference_results_cikm2018.csv") as lines:
        for row in csv.DictReader(lines):
            if row["example_F1"] != "NaN":
                best[row["dataset"]] = max(best.get(row["dataset"], 0.0), float(row["example_F1"]))
    return best


def main():
    arguments = arguments_with_folder(__doc__)
    folder = arguments.parse_args().folder / "multilabel"
    if not folder.is_dir():
        print(f"     no streams in {folder}: nothing to measure")
        return
    for file, n_labels, kernel, lam, goal, name in STREAMS:
        X, ys = streams.read_arff(folder / file, n_labels)
        loss = losses.F1(abs(n_labels))
        start = time.perf_counter()
        ours = 1 - replay(OSKAAR(loss, kernel, lam=lam), X, ys, keep_estimates=False).mean_loss
        seconds = time.perf_counter() - start
        last, most = (1 - replay(rival(loss), X, ys).mean_loss for rival in (RepeatLast, MostFrequent))
        print(
            f"     {name}: {len(ys)} rounds in {seconds:.1f} s; repeat-last {last:.3f}, "
            f"most frequent {most:.3f}, best of 11 published methods {published(folder)[name]:.3f}"
        )
        report(f"example-F1 on {name}", ours, goal, at_least=True)


if __name__ == "__main__":
    main()
