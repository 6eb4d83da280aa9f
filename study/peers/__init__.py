"""Peers: other packages' methods behind the protocol of the study. Packages are imported where a model is made."""

from study.peers import (
    boosting,
    crf,
    fenchel_young,
    moa,
    river_linear,
    river_neighbours,
    river_trees,
    scikit,
    trees,
    vowpal,
)
from study.protocol import Peer

_MODULES = (river_linear, river_neighbours, river_trees, vowpal, moa, scikit, trees, crf, boosting, fenchel_young)

PEERS: tuple[Peer, ...] = tuple(peer for module in _MODULES for peer in module.PEERS)
