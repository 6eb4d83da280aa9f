"""All experiments on the theory, with fixed seeds: `make theory`, or `python examples/theory [regret excess ...]`."""

import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))

import dimensions
import excess
import regret
import settings
import variation

PARTS = {
    "dimensions": dimensions,
    "excess": excess,
    "settings": settings,
    "variation": variation,
    "regret": regret,
}

if __name__ == "__main__":
    with threadpool_limits(1):  # one core, whatever else runs
        for name in sys.argv[1:] or PARTS:
            PARTS[name].main()
