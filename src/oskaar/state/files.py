r"""Files: one zip with arrays as .npy members, a JSON manifest, and the SHA-256 of each.

    arrays/0.npy, arrays/1.npy, ...     written and read without pickle
    manifest.json                       format, version of oskaar, checksums, nodes (`state.encode`)
    manifest.sha256                     the manifest's own checksum

At any moment the old file or the new one is whole (`state.writing`). Reading trusts nothing: names, sizes, checksums
and types are checked before they are used, and what they ask for is counted first (`state.limits`).
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from typing import IO, Any

from oskaar.saved import StateError, shown
from oskaar.state import limits
from oskaar.state.decode import Decoder
from oskaar.state.encode import Encoder
from oskaar.state.members import read_array, read_text, require_plain, write_array, write_text
from oskaar.state.names import Allowed
from oskaar.state.writing import replaced

FORMAT = 3
"""The number of the format that is written, and the only one that is read."""


def save(thing: Any, path: str | os.PathLike[str]) -> None:
    """Write the state of an object to a file, which is the old one until it is the new one (`state.writing`)."""
    with replaced(path) as file:
        _write(thing, file)


def load(path: str | os.PathLike[str], allow: Allowed = None, max_bytes: int | None = None) -> Any:
    """Read an object from a file that `save` wrote."""
    with open(path, "rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size, allow, max_bytes)


def to_bytes(thing: Any) -> bytes:
    """The same as a file, in memory."""
    file = io.BytesIO()
    _write(thing, file)
    return file.getvalue()


def from_bytes(data: bytes, allow: Allowed = None, max_bytes: int | None = None) -> Any:
    """Read an object from what `to_bytes` made."""
    return _read(io.BytesIO(data), len(data), allow, max_bytes)


def _write(thing: Any, file: IO[bytes]) -> None:
    encoder = Encoder()
    root = encoder.value(thing, type(thing).__name__)
    small = encoder.bytes <= limits.SAFE // 2  # what is larger is not compressed, so that `ReadLimits` let it in
    with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        sums = [write_array(archive, f"arrays/{i}.npy", array, small) for i, array in enumerate(encoder.arrays)]
        manifest = {
            "format": FORMAT,
            "oskaar": getattr(sys.modules.get("oskaar"), "__version__", "unknown"),
            "arrays": sums,
            "root": root,
            "nodes": encoder.nodes,
        }
        text = json.dumps(manifest, allow_nan=False, separators=(",", ":"))
        checksum = write_text(archive, "manifest.json", text)
        write_text(archive, "manifest.sha256", checksum)


def _read(file: IO[bytes], size: int, allow: Allowed, max_bytes: int | None) -> Any:
    allowed = limits.ReadLimits(size, max_bytes)
    try:
        with zipfile.ZipFile(file) as archive:
            members = require_plain(archive)
            manifest = _manifest(archive, members, allowed)
            sums = manifest["arrays"]
            expected = {"manifest.json", "manifest.sha256", *(f"arrays/{i}.npy" for i in range(len(sums)))}
            if set(members) != expected:
                odd = sorted(set(members) ^ expected)
                raise StateError(f"the file must have the members that its manifest lists: {odd[:3]} are amiss.")
            named = [members[f"arrays/{i}.npy"] for i in range(len(sums))]
            allowed.take_arrays(sum(info.file_size for info in named))
            arrays = [read_array(archive, info, sums[i], allowed) for i, info in enumerate(named)]
        return Decoder(arrays, allow, allowed).read(manifest["nodes"], manifest["root"])
    except (StateError, MemoryError):
        raise
    except zipfile.BadZipFile as error:
        raise StateError(f"the file is damaged, cut short, or not a state of oskaar: {error}.") from error
    except Exception as error:
        raise StateError(
            f"the file is not a state that oskaar wrote: {type(error).__name__}: {error!s:.200}"
        ) from error


def _manifest(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], allowed: limits.ReadLimits
) -> dict[str, Any]:
    for name in ("manifest.json", "manifest.sha256"):
        if name not in members:
            raise StateError(f"the file is not a state of oskaar: it has no {name}.")
    scan = limits.Scan(allowed.text)
    text, checksum = read_text(archive, members["manifest.json"], scan)
    if read_text(archive, members["manifest.sha256"], limits.Scan(1000))[0] != checksum:
        raise StateError("the file is damaged: the manifest has another checksum than is written beside it.")
    allowed.take_text(scan.cost)
    manifest = json.loads(text, parse_constant=_no_number)
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise StateError("the manifest must be an object with the number of its format.")
    if manifest["format"] != FORMAT:
        raise StateError(
            f"the file has format {shown(manifest['format'])}, written by oskaar "
            f"{shown(manifest.get('oskaar'))}; "
            f"this version reads format {FORMAT}: install the oskaar that wrote it."
        )
    if not isinstance(manifest.get("arrays"), list) or not isinstance(manifest.get("nodes"), list):
        raise StateError("the manifest must list arrays and nodes.")
    return manifest


def _no_number(text: str) -> Any:
    raise StateError(f"numbers in the manifest must be finite, got {text}.")
