"""The statistics of the study, the long way; nothing is imported from the package or from the study."""

import math
import random


def block_means(values, starts, length):
    """The mean of each row of starts: circular blocks of that length, joined."""
    T = len(values)
    return [
        sum(values[(s + i) % T] for s in row for i in range(length)) / (len(row) * length) for row in starts.tolist()
    ]


def block_length(values):
    T = len(values)
    least = max(1, min(T, round(2 * T ** (1 / 3))))
    mean = sum(values) / T
    power = sum((v - mean) ** 2 for v in values)
    if T < 16 or power <= 1e-300:
        return least
    for lag in range(T):
        correlation = sum((values[i] - mean) * (values[i + lag] - mean) for i in range(T - lag)) / power
        if correlation < 2 / math.sqrt(T):
            return max(least, min(2 * lag, T // 8))
    return max(least, T // 8)


def holm_rejects(p_values, level):
    """Step down: reject the smallest while it is below level over the number that is left."""
    left, rejected = dict(p_values), set()
    while left:
        name = min(left, key=left.get)
        if left[name] >= level / len(left):
            break
        rejected.add(name)
        del left[name]
    return rejected


def dominated(point, others):
    """Whether some other (time, loss) is as good in both and better in one."""
    return any(o[0] <= point[0] and o[1] <= point[1] and o != point for o in others)


def moving_average(T, order, seed):
    """Values that remember `order` of their neighbours."""
    rng = random.Random(seed)
    noise = [rng.gauss(0, 1) for _ in range(T + order)]
    return [sum(noise[i : i + order]) / order for i in range(T)]
