"""Peers: other packages' methods behind the protocol of the study."""

from study.protocol import Peer

PEERS: tuple[Peer, ...] = ()
