"""Opening: a path or standard input, compressed or not, as lines of text that know their numbers.

Compression is detected by the first bytes, not by the name, so that it works for standard input as well.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import sys
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from oskaar.tabular.readers.base import MAX_LINE, ReadError

BLOCK = 2**16
"""So many bytes at a time, where lines cannot be found without decoding."""


class Source:
    """A file that is open for reading: `lines` are its text, `data` its bytes, both decompressed.

    `path` "-" is standard input. A line may have at most `max_line` bytes: no more of it is read.
    """

    def __init__(self, path: str | Path, encoding: str = "utf-8", max_line: int = MAX_LINE) -> None:
        self._longest = max_line
        self.name = "standard input" if str(path) == "-" else str(path)
        self.encoding = _known(encoding)
        self._sum = hashlib.blake2b(digest_size=16)
        self._raw, self._size = _opened(path)
        if self._size is not None:
            weakref.finalize(self, self._raw.close)  # with the last line that is wanted
        try:
            self.start = bytes(self._raw.peek(16))
        except OSError as error:
            raise _unreadable(self.name, error) from None
        self.data: IO[bytes] = _decompressed(self._raw, self.start, self.name)
        self._wide = "\n".encode(self.encoding)[-1:] != b"\n" or len("\n".encode(self.encoding)) > 1
        if self.start[:2] in (b"\xff\xfe", b"\xfe\xff") and not self._wide:
            raise ReadError(f"{self.name} is UTF-16: say so with --encoding utf-16.")

    def lines(self) -> Iterator[str]:
        """The lines, with their ends; an error names the line."""
        number = blank = 0
        try:
            for number, line in enumerate(self._bytes(), start=1):
                self._require_short(line, number)
                blank = 0 if line.strip() else blank + len(line)
                if blank > self._longest:
                    raise ReadError(
                        f"{self.name}, line {number}: there are more than {self._longest} bytes of empty lines: the "
                        "file is damaged; if it is right, raise max_line (--max-line)."
                    )
                self._sum.update(line.rstrip(b"\r\n") + b"\n")  # a last line may get its end later
                text = line.decode("utf-8" if self._wide else self.encoding)
                if "\0" in text:
                    raise ReadError(
                        f"{self.name}, line {number}: there is a NUL character, so it is no text, or UTF-16: "
                        "say its --encoding, such as utf-16-le, or its --format."
                    )
                yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ReadError(
                f"{self.name}, line {number}: byte 0x{byte:02x} is not {self.encoding}: "
                "convert the file, or say its encoding, such as --encoding latin-1."
            ) from None
        except _data_errors() as error:
            raise ReadError(
                f"{self.name}, after line {number}: the data ends or breaks in the middle ({error}): get it again."
            ) from None

    def _bytes(self) -> Iterator[bytes]:
        """Lines of bytes; those of encodings with several bytes a character as UTF-8."""
        if self._wide:
            yield from self._recoded()
            return
        while line := self.data.readline(self._longest + 2):
            yield line

    def _recoded(self) -> Iterator[bytes]:
        decoder, rest = codecs.getincrementaldecoder(self.encoding)(), ""
        while len(rest) <= self._longest and (block := self.data.read(BLOCK)):
            *lines, rest = (rest + decoder.decode(block)).split("\n")
            yield from ((line + "\n").encode() for line in lines)
        if rest := rest + decoder.decode(b"", final=len(rest) <= self._longest):
            yield rest.encode()

    def _require_short(self, line: bytes, number: int) -> None:
        if len(line) > self._longest and len(line.rstrip(b"\r\n")) > self._longest:
            raise ReadError(
                f"{self.name}, line {number}: a line must have at most {self._longest} bytes, this one has more: "
                "the file has no lines, or it is no text; if it is right, raise max_line (--max-line)."
            )

    def digest(self) -> str:
        """A fingerprint of the lines read so far."""
        return self._sum.hexdigest()

    def fraction(self) -> float | None:
        """How much has been read, 0 to 1; None for a pipe."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None


def _known(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        "\n".encode(encoding)
    except (LookupError, ValueError):
        raise ReadError(
            f"--encoding must be one that Python knows, such as utf-8 or latin-1, got {encoding!r}."
        ) from None
    return codec.name


def _opened(path: str | Path) -> tuple[Any, int | None]:
    if str(path) == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise ReadError("standard input cannot be read as bytes: give a path.")
        return (stream if hasattr(stream, "peek") else io.BufferedReader(stream)), None
    try:
        if Path(path).is_socket():
            raise ReadError(f"{path} is a socket: read it with another program (nc -U {path} | oskaar learn -).")
        handle = open(path, "rb")  # noqa: SIM115, read lazily, closed with the source
    except OSError as error:
        raise _unreadable(str(path) or "a file without a name", error) from None
    size = os.fstat(handle.fileno()).st_size
    return handle, size


def _unreadable(name: str, error: OSError) -> ReadError:
    return ReadError(f"{name} cannot be read: {error.strerror or error}. Check the path.")


def _decompressed(raw: Any, start: bytes, name: str) -> Any:
    if start.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.GzipFile(fileobj=raw)
    if start.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(raw)
    if start.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.LZMAFile(raw)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstandard(raw, name)
    if start.startswith(b"PK\x03\x04"):
        return _only_member(raw, name)
    return raw


def _only_member(raw: Any, name: str) -> IO[bytes]:
    """The one file in a zip archive."""
    import zipfile

    if not raw.seekable():
        raise ReadError(f"{name} is a zip archive, which a pipe cannot give: unpack it first, or give a path.")
    try:
        archive = zipfile.ZipFile(raw)
        inside = [member for member in archive.infolist() if not member.is_dir()]
        if any(member.filename == "xl/workbook.xml" for member in inside):
            raise ReadError(f"{name} is an Excel workbook: save its sheet as CSV UTF-8, and give that file.")
        if len(inside) != 1:
            raise ReadError(f"{name} is a zip archive of {len(inside)} files: unpack the one you mean (unzip -p).")
        return archive.open(inside[0])
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise ReadError(f"{name} is a zip archive that cannot be read ({error}): unpack it first.") from None


def _zstandard(raw: Any, name: str) -> Any:
    """Python 3.14 has it; before that the file has to be unpacked by the user."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        raise ReadError(f"{name}: zstd needs Python 3.14; unpack it first (zstd -dc {name} | ...).") from None
    return zstd.ZstdFile(raw)


def _data_errors() -> tuple[type[Exception], ...]:
    """What broken data raises, by zipfile and lzma too where they are in use: importing them costs time."""
    names = {"zipfile": "BadZipFile", "lzma": "LZMAError"}
    used = (getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules)
    return (EOFError, OSError, zlib.error, *used)
