"""Archives that a container hands out: what honest runs leave is taken, and nothing else, and nowhere else."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import NoEvidence
from repair.sandbox import archive
from repair.sandbox.archive import MAX_ENTRIES, MAX_HEADER, MAX_OUT, Entry, first, pack, unpack

BLOCK = tarfile.BLOCKSIZE
OUT = "/.repair-1/out"
Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, content


def tar(*members: Member, form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as made:
        for info, content in members:
            made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def header(
    name: str, size: int, kind: bytes = tarfile.REGTYPE, raw: Callable[[bytearray], None] = lambda _: None
) -> bytes:
    """One header block, written by hand where `raw` changes it; its checksum is right."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT)[-BLOCK:])
    raw(block)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def pax(name: str, content: bytes, kind: bytes = tarfile.XHDTYPE, **records: str) -> bytes:
    """A file whose extended header says something else of it."""
    body = b""
    for key, value in records.items():
        line = f" {key.replace('__', '.')}={value}\n".encode()
        length = len(line) + len(str(len(line) + len(str(len(line)))))
        body += b"%d" % length + line
    return header("pax", len(body), kind) + padded(body) + header(name, len(content)) + padded(content) + bytes(BLOCK)


def write_at(offset: int, text: bytes) -> Callable[[bytearray], None]:
    def write(block: bytearray) -> None:
        block[offset : offset + len(text)] = text

    return write


def chunks(data: bytes, size: int = 1 << 16) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def refused(data: bytes, folder: Path) -> BaseException:
    """Why an archive is refused; nothing may be written beside the folder that it goes to."""
    into = folder / "attempt"
    into.mkdir()
    with pytest.raises((NoEvidence, tarfile.TarError)) as caught:
        unpack(chunks(data), OUT, into)
    assert [path.name for path in folder.iterdir()] == ["attempt"]
    assert all(path.is_file() and not path.is_symlink() for path in into.iterdir())
    return caught.value


HONEST = (member("out", kind=tarfile.DIRTYPE), member("out/exit", b"0\n"), member("out/record-main.jsonl", b"{}\n"))


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_what_an_honest_run_leaves_is_written(tmp_path: Path, form: int) -> None:
    unpack(chunks(tar(*HONEST, form=form), 100), OUT, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "exit": b"0\n",
        "record-main.jsonl": b"{}\n",
    }


NAMES = {
    "above": "../escaped",
    "above, twice": "../../escaped",
    "out, and above": "out/../escaped",
    "out, and above twice": "out/../../escaped",
    "the folder above as a name": "out/..",
    "only above": "..",
    "an absolute path": "/etc/escaped",
    "an absolute path of two parts": "/escaped",
    "a folder in out": "out/more/file",
    "a sibling": "in/file",
    "a file instead of the folder": "out",
    "no name": "",
    "the folder itself": ".",
    "the folder itself in out": "out/.",
    "a blank": "out/a b",
    "a line end": "out/a\nb",
    "an escape": "out/a\x1b[2Jb",
    "a bidi control": "out/a\u202eb",
    "a backslash": "out/a\\b",
    "a very long name": "out/" + "n" * 300,
    "a very deep name": "out/" + "n/" * 3000 + "n",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["pax", "gnu"])
def test_a_name_that_no_honest_run_leaves_is_refused(tmp_path: Path, name: str, form: int) -> None:
    said = refused(tar(HONEST[0], member(name, b"x"), form=form), tmp_path)
    assert str(said).isprintable()
    assert len(str(said)) < 300


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    """The second would replace the first."""
    assert "out/exit" in str(refused(tar(*HONEST, member("out/exit", b"1\n")), tmp_path))


KINDS = {
    "a link": member("out/exit", kind=tarfile.SYMTYPE, link="/etc/passwd"),
    "a link to nothing": member("out/exit", kind=tarfile.SYMTYPE, link=""),
    "a hard link out of the archive": member("out/exit", kind=tarfile.LNKTYPE, link="/etc/passwd"),
    "a hard link in the archive": member("out/exit-2", kind=tarfile.LNKTYPE, link="out/exit"),
    "a character device": member("out/exit", kind=tarfile.CHRTYPE),
    "a block device": member("out/exit", kind=tarfile.BLKTYPE),
    "a fifo": member("out/exit", kind=tarfile.FIFOTYPE),
    "a folder": member("out/exit", kind=tarfile.DIRTYPE),
}


@pytest.mark.parametrize("odd", KINDS.values(), ids=KINDS)
def test_what_is_no_plain_file_is_refused_by_its_name(tmp_path: Path, odd: Member) -> None:
    assert f"{OUT} holds {odd[0].name}" in str(refused(tar(*HONEST, odd), tmp_path))


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    """The log is ours, and is written before."""
    (tmp_path / "log").write_bytes(b"what it printed")
    with pytest.raises(NoEvidence, match="out/log"):
        unpack(chunks(tar(*HONEST, member("out/log", b"forged"))), OUT, tmp_path)
    assert (tmp_path / "log").read_bytes() == b"what it printed"


def test_a_link_as_the_folder_is_refused(tmp_path: Path) -> None:
    assert f"{OUT} holds out" in str(refused(tar(member("out", kind=tarfile.SYMTYPE, link="/etc")), tmp_path))


def test_a_file_behind_a_link_is_not_written_through_it(tmp_path: Path) -> None:
    link = member("out", kind=tarfile.SYMTYPE, link=str(tmp_path))
    refused(tar(link, member("out/exit", b"0")), tmp_path)


_EMPTY_MAP = b"00000000000\0" * 2 + bytes(72)
SIZES = {
    "1 TiB": header("out/exit", 1 << 40),
    "just above the limit": header("out/exit", MAX_OUT + 1),
    "as large as can be said": header("out/exit", 0, raw=write_at(124, b"\x80" + b"\xff" * 11)),
    "below nothing": header("out/exit", 0, raw=write_at(124, b"\xff" * 12)),
    "below nothing, after a file": header("out/a", 1)
    + padded(b"x")
    + header("out/exit", 0, raw=write_at(124, b"\xff" * 8 + b"\0" * 4)),
    "no number": header("out/exit", 0, raw=write_at(124, b"twelve bytes")),
    "1 TiB by an extended header": pax("out/exit", b"x", size=str(1 << 40)),
    "below nothing by an extended header": pax("out/exit", b"", size="-5"),
    "no number in an extended header": pax("out/exit", b"x", size="x"),
    "above by an extended header": pax("out/exit", b"x", path="../escaped"),
    "absolute by an extended header": pax("out/exit", b"x", path="/etc/escaped"),
    "absolute for all that follow": pax("out/exit", b"x", tarfile.XGLTYPE, path="/etc/escaped"),
    "a long value": pax("out/exit", b"x", path="out/" + "n" * (1 << 20)),
    "an old sparse file of 1 TiB": header(
        "out/exit",
        0,
        tarfile.GNUTYPE_SPARSE,
        write_at(386, _EMPTY_MAP + b"\0\x80" + bytes(5) + b"\1"),
    ),
    "a sparse file of 1 TiB": pax(
        "out/exit",
        b"0\n",
        GNU__sparse__major="1",
        GNU__sparse__minor="0",
        GNU__sparse__name="out/exit",
        GNU__sparse__realsize=str(1 << 40),
    ),
    "a sparse file of 1 TiB, in the first way": pax(
        "out/exit", b"", GNU__sparse__size=str(1 << 40), GNU__sparse__numblocks="1", GNU__sparse__map="0,0"
    ),
    "a sparse file that gives itself a name above": pax(
        "out/exit",
        b"0\n",
        GNU__sparse__major="1",
        GNU__sparse__minor="0",
        GNU__sparse__name="../escaped",
        GNU__sparse__realsize="1",
    ),
    "an old sparse file of 3 bytes": header("out/exit", 0, tarfile.GNUTYPE_SPARSE, write_at(483, b"00000000003\0")),
    "a sparse file of 3 bytes": pax(
        "out/sparse",
        padded(b"0\n"),
        GNU__sparse__major="1",
        GNU__sparse__minor="0",
        GNU__sparse__name="out/exit",
        GNU__sparse__realsize="3",
    ),
    "a sparse file of 3 bytes, in the first way": pax(
        "out/exit", b"", GNU__sparse__size="3", GNU__sparse__numblocks="1", GNU__sparse__map="0,0"
    ),
    "an extended header of 64 MiB": pax("out/exit", b"x", comment="n" * (64 << 20)),
    "an extended header just above the limit": pax("out/exit", b"x", comment="n" * MAX_HEADER),
    "an extended header for all, just above the limit": pax(
        "out/exit", b"x", tarfile.XGLTYPE, comment="n" * MAX_HEADER
    ),
    "an extended header below nothing": header("pax", 0, tarfile.XHDTYPE, write_at(124, b"\xff" * 12))
    + header("out/a", 0),
    "a thousand extended headers": (header("pax", 0, tarfile.XHDTYPE) * 2000) + header("out/a", 0),
    "an unknown kind": header("out/exit", 0, b"Z"),
    "a long link name": header("long", 1 << 20, tarfile.GNUTYPE_LONGLINK) + bytes(1 << 20) + header("out/a", 0),
    "noise": bytes(range(256)) * 4,
    "a wrong checksum": b"x" + header("out/exit", 0)[1:],
}


@pytest.mark.parametrize("data", SIZES.values(), ids=SIZES)
def test_a_header_that_lies_is_refused(tmp_path: Path, data: bytes) -> None:
    """Each has a proper end: it is for the header that it is refused."""
    refused(tar(HONEST[0])[:BLOCK] + data + bytes(2 * BLOCK), tmp_path)


@pytest.mark.parametrize("name", [name for name in SIZES if name.startswith("below nothing")])
def test_a_size_below_nothing_is_refused_by_newer_pythons_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = tarfile.TarInfo
    blocks, invalid = whole._block, vars(tarfile)["InvalidHeaderError"]

    def strict(self: tarfile.TarInfo, count: int) -> Any:
        if count < 0:
            raise invalid("invalid offset")
        return blocks(self, count)

    monkeypatch.setattr(tarfile.TarInfo, "_block", strict)
    refused(tar(HONEST[0])[:BLOCK] + SIZES[name] + bytes(2 * BLOCK), tmp_path)


def test_headers_at_the_limit_are_read(tmp_path: Path) -> None:
    data = tar(HONEST[0])[:BLOCK] + pax("out/exit", b"x", comment="n" * (MAX_HEADER - len("16384 comment=\n")))
    unpack(chunks(data + bytes(2 * BLOCK)), OUT, tmp_path)
    assert (tmp_path / "exit").read_bytes() == b"x"


def test_more_entries_than_a_run_leaves_are_refused(tmp_path: Path) -> None:
    data = b"".join(header(f"out/f{number}", 0) for number in range(MAX_ENTRIES + 1))
    assert "more than a run's reports" in str(refused(data, tmp_path))


def test_folders_count_as_entries(tmp_path: Path) -> None:
    data = header("out", 0, tarfile.DIRTYPE) * (MAX_ENTRIES + 1)
    assert "more than a run's reports" in str(refused(data, tmp_path))


def test_a_stream_without_an_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_out = 0

    def endless() -> Iterator[bytes]:
        nonlocal given_out
        yield header("out/a", (8 << 20) - 1)
        while True:
            given_out += 1 << 20
            yield zeros

    zeros = bytes(1 << 20)
    monkeypatch.setattr(archive, "MAX_OUT", 8 << 20)
    with pytest.raises(NoEvidence, match="more than a run's reports"):
        unpack(endless(), OUT, tmp_path)
    assert given_out <= 9 << 20


def test_an_archive_that_is_cut_in_a_file_is_refused(tmp_path: Path) -> None:
    whole = tar(HONEST[0], member("out/exit", b"x" * 2000))
    start = whole.index(b"xxx")
    for at in range(start, start + 2000, 97):
        folder = tmp_path / str(at)
        folder.mkdir()
        refused(whole[:at], folder)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_an_archive_without_its_end_is_refused(tmp_path: Path, blocks: int) -> None:
    """Cut between two files it looks like a whole one of fewer files."""
    refused(tar(*HONEST)[: blocks * BLOCK + BLOCK * (blocks > 1)], tmp_path)


@given(st.lists(st.tuples(st.integers(0, 3 * BLOCK - 1), st.integers(0, 255)), max_size=8))
def test_a_mutated_archive_writes_nothing_outside(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "attempt").mkdir()
    data = bytearray(tar(*HONEST))
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(NoEvidence, tarfile.TarError):
        unpack(chunks(bytes(data)), OUT, folder / "attempt")
    assert [path.name for path in folder.iterdir()] == ["attempt"]
    assert all(path.is_file() and not path.is_symlink() for path in (folder / "attempt").iterdir())


# ---- one file


def test_the_first_member_is_the_entry() -> None:
    file = first(chunks(tar(member("passwd", b"root"))), "/etc/passwd", 100)
    assert (file.path, file.content, file.link, file.directory) == ("etc/passwd", b"root", None, False)
    link = first(chunks(tar(member("x", kind=tarfile.SYMTYPE, link="../y"))), "/x", 100)
    assert (link.content, link.link) == (b"", "../y")
    assert first(chunks(tar(member("d", kind=tarfile.DIRTYPE))), "/d", 100).directory


ODD = {
    "a hard link": tar(member("x", kind=tarfile.LNKTYPE, link="/etc/passwd")),
    "a device": tar(member("x", kind=tarfile.BLKTYPE)),
    "a fifo": tar(member("x", kind=tarfile.FIFOTYPE)),
    "1 TiB": header("x", 1 << 40),
    "above the limit": header("x", 101) + padded(b"x" * 101),
    "below nothing": header("x", 0, raw=write_at(124, b"\xff" * 12)),
    "a sparse file of 1 TiB": pax("x", b"", GNU__sparse__size=str(1 << 40), GNU__sparse__numblocks="0"),
    "nothing": b"",
    "no member": bytes(2 * BLOCK),
    "half a file": header("x", 90) + b"x" * 50,
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_one_entry_that_is_no_plain_file_is_refused(data: bytes) -> None:
    with pytest.raises((NoEvidence, tarfile.TarError)):
        first(chunks(data), "/x", 100)


def test_the_rest_of_an_archive_is_not_read() -> None:
    taken = []

    def endless() -> Iterator[bytes]:
        yield tar(member("d", kind=tarfile.DIRTYPE))[:BLOCK]
        while True:
            taken.append(1)
            yield header("d/x", 0)

    assert first(endless(), "/d", 100).directory
    assert len(taken) < 100


def test_what_is_packed_is_what_comes_out(tmp_path: Path) -> None:
    unpack(chunks(pack([Entry("out", b"", 0o755, directory=True), Entry("out/a.xml", b"<a/>", 0o644)])), OUT, tmp_path)
    assert (tmp_path / "a.xml").read_bytes() == b"<a/>"
