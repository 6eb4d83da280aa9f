"""The last label as further columns, for streams in time whose rows lack it: oskaar's ensemble has it inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from study.peers.rows import narrow
from study.peers.targets import target_of
from study.protocol import Stream


def with_lag(stream: Stream) -> Stream:
    """The numbers of the label of the round before beside each row; before the first, zeros.

    >>> from oskaar import losses
    >>> stream = Stream("demo", "class", np.zeros((3, 1)), ["a", "b", "b"], losses.ZeroOne("ab"), lag=True)
    >>> with_lag(stream).xs
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    if not stream.lag:
        return stream
    target = target_of(stream)
    last = np.vstack([np.zeros((1, target.p)), *[target.rows(y) for y in stream.ys[:-1]]])
    xs = narrow(hstack([csr_array(stream.xs), csr_array(last)])) if stream.sparse else np.hstack([stream.xs, last])
    return replace(stream, xs=xs, lag=False)
