"""Records of journals: torn, damaged or as they were written."""

import os
from zlib import crc32

import pytest

from hingeline.files.log import Damage, Log, frame, line, next_frame, next_line

START = b'{"kind": '


def scan_line(content, at):
    return next_line(content, at, START)


def frames():
    content = b""
    for text in (b"first", bytes(100), b"x" * 56):
        content += b"".join(frame([text[:3], text[3:]], len(content)))
    return content


def lines():
    return b"".join(line({"kind": text}) for text in ("first", "zwölf", 'a "quoted", "crc": "00000000"} text'))


KINDS = pytest.mark.parametrize(
    ("scan", "content"), [(next_frame, frames()), (scan_line, lines())], ids=["frame", "line"]
)


def read(path, content, scan, **how):
    path.write_bytes(content)
    return [bytes(found) if isinstance(found, memoryview) else found for _, found in Log(path, scan).records(**how)]


@KINDS
def test_every_cut_leaves_whole_records(scan, content, tmp_path):
    whole = read(tmp_path / "log", content, scan)
    assert len(whole) == 3
    numbers = []
    for end in range(len(content) + 1):
        found = read(tmp_path / "log", content[:end], scan)
        assert found == whole[: len(found)]
        numbers.append(len(found))
    assert numbers == sorted(numbers) and set(numbers) == {0, 1, 2, 3}


def test_zeros_that_a_power_failure_leaves(tmp_path):
    """File systems write sectors of 512 bytes or more; those of a record that are not on disk are zeros."""
    first, big = b"".join(frame([b"first"], 0)), b"".join(frame([b"x" * 3000], 128))
    for end in range(0, len(big), 64):
        content = first + big[:end] + bytes(len(big) - end)
        assert read(tmp_path / "log", content, next_frame) == [b"first"]
    first, second, _ = lines().splitlines(keepends=True)
    for end in range(len(second)):
        assert len(read(tmp_path / "log", first + second[:end] + bytes(len(second) - end), scan_line)) == 1


@KINDS
def test_every_flipped_bit_is_found(scan, content, tmp_path):
    for at in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[at] ^= 1 << bit
            with pytest.raises(Damage):
                read(tmp_path / "log", bytes(flipped), scan)


@KINDS
def test_a_torn_record_where_there_must_be_none(scan, content, tmp_path):
    with pytest.raises(Damage, match="cut off"):
        read(tmp_path / "log", content[:-1], scan, torn=False)


def test_damaged_lines_can_be_left_out(tmp_path):
    first, second, third = lines().splitlines(keepends=True)
    damaged = []
    found = read(tmp_path / "log", first + second.replace(b"z", b"Z") + third, scan_line, damaged=damaged)
    assert [one["kind"] for one in found] == ["first", 'a "quoted", "crc": "00000000"} text']
    assert [error.end for error in damaged] == [len(first + second)]


def test_frames_have_their_place(tmp_path):
    content = frames()
    size = len(frame([b"first"], 0)[0]) + 64
    with pytest.raises(Damage, match="length"):
        read(tmp_path / "log", content[:size] + content[:size], next_frame)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[1", b"\xff", b"1" * 5000])
def test_lines_that_are_no_records(text, tmp_path):
    with pytest.raises(Damage):
        read(tmp_path / "log", text + b', "crc": "%08x"}\n' % crc32(text), scan_line)
    with pytest.raises(Damage):
        read(tmp_path / "log", b"precious " + text, scan_line)


@pytest.mark.parametrize("descriptor", [False, True])
def test_a_record_that_cannot_be_written_leaves_the_file(descriptor, tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.write_bytes(b"")
    file = os.open(path, os.O_RDWR) if descriptor else None
    log = Log(path, scan_line, file)
    log.append([line({"kind": "first"})])
    before = path.read_bytes()

    def write_half(descriptor, pieces):
        os.write(descriptor, b"".join(pieces)[:9])
        raise OSError("no space left")

    monkeypatch.setattr("hingeline.files.log.write_all", write_half)
    with pytest.raises(OSError, match="no space"):
        log.append([line({"kind": "second"})])
    assert path.read_bytes() == before and log.length == len(before)
    if file is not None:
        os.close(file)
