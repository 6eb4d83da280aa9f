"""Members of a file: arrays and texts with their checksums, and checks of the zip."""

from __future__ import annotations

import hashlib
import io
import math
import re
import sys
import zipfile
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy

from oskaar.saved import StateError
from oskaar.state.encode import PLAIN
from oskaar.state.limits import SAFE, ReadLimits, Scan

_NAME = re.compile(r"manifest\.(json|sha256)|arrays/(0|[1-9][0-9]{0,8})\.npy")
_PIECE = 2**18
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class _Hashed:
    """A file that is hashed as it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sum.update(data)
        return self.file.write(data)


def write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any], small: bool) -> str:
    """Add an array, compressed where most of it is 0; its checksum."""
    array = np.asarray(array)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    sparse = small and array.dtype.kind not in "SU" and 2 * np.count_nonzero(array) < array.size
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED if sparse else zipfile.ZIP_STORED
    with archive.open(info, "w", force_zip64=array.nbytes > 2**31 - 2**16) as file:
        hashed = _Hashed(file)
        npy.write_array(hashed, array, version=(1, 0), allow_pickle=False)
    return hashed.sum.hexdigest()


def write_text(archive: zipfile.ZipFile, name: str, text: str) -> str:
    """Add a text, compressed unless it is large; its checksum."""
    info, data, scan = zipfile.ZipInfo(name), text.encode("ascii"), Scan(sys.maxsize)
    for first in range(0, len(data), _PIECE):
        scan.add(data[first : first + _PIECE])
    info.compress_type = zipfile.ZIP_DEFLATED if scan.cost <= SAFE // 2 else zipfile.ZIP_STORED
    archive.writestr(info, data)
    return hashlib.sha256(data).hexdigest()


def require_plain(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name: each once, with a name that oskaar gives."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if not _NAME.fullmatch(info.filename):
            raise StateError(f"the file has a member {info.filename[:80]!r}, which no state has.")
        if info.filename in members:
            raise StateError(f"the file has the member {info.filename!r} twice.")
        if info.compress_type not in _KINDS or info.flag_bits & 0x1:
            raise StateError(f"{info.filename} is packed in a way that oskaar does not use.")
        members[info.filename] = info
    return members


def read_text(archive: zipfile.ZipFile, info: zipfile.ZipInfo, scan: Scan) -> tuple[str, str]:
    """A text that a scan has nothing against, and its checksum."""
    pieces, got, sums = [], 0, hashlib.sha256()
    with archive.open(info) as file:
        while piece := file.read(_PIECE):
            scan.add(piece)
            sums.update(piece)
            pieces.append(piece.decode("ascii"))
            got += len(piece)
    if got != info.file_size:
        raise StateError(f"the file is damaged: {info.filename} is cut short.")
    return "".join(pieces), sums.hexdigest()


def read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, checksum: Any, limits: ReadLimits
) -> np.ndarray[Any, Any]:
    """An array of numbers or texts, whose size is what the member has."""
    with archive.open(info) as file:
        head = file.read(10)
        if head[:8] != b"\x93NUMPY\x01\x00":
            raise StateError(f"{info.filename} must be an array in version 1.0 of NumPy's format.")
        rest = file.read(int.from_bytes(head[8:10], "little"))
        header = io.BytesIO(head + rest)
        npy.read_magic(header)
        shape, fortran, dtype = npy.read_array_header_1_0(header)
        if dtype.kind not in PLAIN or dtype.hasobject:
            raise StateError(f"{info.filename} holds {dtype}: arrays hold numbers or texts.")
        count = math.prod(shape)
        size = count * dtype.itemsize
        if size != info.file_size - len(head) - len(rest) or max(shape, default=0) > 2**40 or len(shape) > 8:
            raise StateError(f"{info.filename} must have the {size} bytes of its shape {shape!r:.80}.")
        if size == 0:  # of which NumPy takes memory all the same: one item, or texts of one character
            limits.take(max(count, 1) * max(dtype.itemsize, 4))
        array = np.empty(shape, dtype=dtype, order="F" if fortran else "C")
        flat: Any = (array.T if fortran else array).reshape(-1).view(np.uint8) if size else b""
        raw, stream = memoryview(flat), cast(io.BufferedIOBase, file)
        got = 0
        while got < size and (more := stream.readinto(raw[got : got + 2**24])):
            got += more
        if got != size or file.read(1):
            raise StateError(f"the file is damaged: {info.filename} is cut short.")
    sums = hashlib.sha256(head + rest)
    sums.update(raw)
    if sums.hexdigest() != checksum:
        raise StateError(f"the file is damaged: {info.filename} has another checksum than the manifest says.")
    return array
