"""What `import oskaar` costs, beside what NumPy and scipy.linalg cost by themselves."""

import subprocess
import sys

from common import report

CODE = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def seconds(statement):
    runs = [
        subprocess.run([sys.executable, "-c", CODE.format(statement)], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def main():
    ours, bare = seconds("import oskaar"), seconds("import numpy, scipy.linalg")
    print(f"     import oskaar {ours:.3f} s, of which NumPy and scipy.linalg {bare:.3f} s")
    report("seconds to import oskaar", ours, 0.5)


if __name__ == "__main__":
    main()
