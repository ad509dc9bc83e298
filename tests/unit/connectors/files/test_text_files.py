"""Text files: any cut into ranges yields exactly the lines; folders, patterns, compression, discovery, errors."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
import tempfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.connectors.files.file_enumerator import FileSplitEnumerator
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.connectors.remote.access import access_of, install_access
from funke.engine.errors import ConfigurationError, SourceError
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.formats.input_file import InputFile
from funke.engine.formats.text_lines import TextLineFormat
from funke.engine.operators.time.clock import ManualClock
from tests.harness.s3_server import S3Server
from tests.unit.connectors.source_draining import drain, drain_with_restart, run_epoch

LINES = TextLineFormat()
on_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_range(path: Path, start: int, end: int, text_format: TextLineFormat = LINES) -> list[str]:
    file = InputFile(str(path), path.stat().st_size)
    return [line for batch in text_format.read(file, start, end) for line in batch]


def lines_of(text: str) -> list[str]:
    lines = re.split("\r\n|\n|\r", text)
    return lines if lines[-1] else lines[:-1]


pieces_of_text = st.lists(st.sampled_from(["\n", "\r", "\r\n", "a", "bc", "ä漢", "\x0b\x85\u2028", " "]), max_size=40)


@on_one_folder
@given(pieces_of_text.map("".join), st.lists(st.integers(0, 120), max_size=6))
def test_any_cut_yields_exactly_the_lines(tmp_path: Path, text: str, cuts: list[int]) -> None:
    path = write(tmp_path / "a.txt", text)
    size = path.stat().st_size
    bounds = [0, *sorted(min(cut, size) for cut in cuts), size]
    results = [line for start, end in pairwise(bounds) for line in read_range(path, start, end)]
    assert results == lines_of(text)


def test_every_single_cut_of_a_file_with_long_lines(tmp_path: Path) -> None:
    chooser = random.Random(7)
    text = "".join("x" * chooser.randrange(9000) + chooser.choice(["\n", "\r\n", "\r"]) for _ in range(5))
    path = write(tmp_path / "a.txt", text)
    expected = lines_of(text)
    for cut in range(0, len(text), 13):
        assert read_range(path, 0, cut) + read_range(path, cut, len(text)) == expected


def test_large_files_come_in_batches_of_whole_lines(tmp_path: Path) -> None:
    lines = [f"line {number} {'x' * (number % 70)}" for number in range(200_000)]
    path = write(tmp_path / "a.txt", "\r\n".join(lines))
    file = InputFile(str(path), path.stat().st_size)
    batches = list(LINES.read(file, 0, file.size))
    assert [line for batch in batches for line in batch] == lines
    assert all(len(batch) <= 2 * BATCH_RECORDS for batch in batches)
    assert len(batches) < 2 * len(lines) / BATCH_RECORDS


def test_very_short_lines_are_cut_into_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\n" * 300_000)
    batches = list(LINES.read(InputFile(str(path), 300_000), 0, 300_000))
    assert sum(map(len, batches)) == 300_000
    assert max(map(len, batches)) <= 65_536


@pytest.mark.parametrize("charset", ["latin-1", "utf-8", "utf-16", "utf-32", "shift_jis", "cp1252", "iso2022_jp"])
def test_character_sets(tmp_path: Path, charset: str) -> None:
    lines = ["gr", "", "weis"] if charset in ("shift_jis", "iso2022_jp") else ["grün", "", "weiß"]
    path = write(tmp_path / "a.txt", "\r\n".join(lines).encode(charset))
    assert drain(FileSource([str(path)], TextLineFormat(charset))) == lines


def test_what_the_character_set_does_not_know_is_replaced(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"a\xffb\n\xe2")
    assert drain(FileSource([str(path)], LINES)) == ["a\ufffdb", "\ufffd"]


def test_an_unknown_character_set_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="klingon"):
        TextLineFormat("klingon")


def compress(name: str, data: bytes) -> bytes:
    if name in ("zst", "br"):
        return bytes(pa.compress(data, {"zst": "zstd", "br": "brotli"}[name], asbytes=True))
    if name == "lz4":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as stream:
            stream.write(data)
        return bytes(sink.getvalue())
    packers: dict[str, Any] = {
        "gz": gzip.compress,
        "gzip": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "deflate": zlib.compress,
    }
    return bytes(packers[name](data))


COMPRESSIONS = ["gz", "gzip", "bz2", "zst", "lz4", "br", "xz", "deflate"]


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed_files_are_one_split(tmp_path: Path, name: str) -> None:
    lines = [f"line {number} of the compressed file" for number in range(100_000)]
    path = write(tmp_path / f"a.txt.{name}", compress(name, "\n".join(lines).encode()))
    source = FileSource([str(path)], LINES)
    assert len(source.create_enumerator(4).poll(10)) == 1
    assert drain(source, max_records=10) == lines


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    packed = compress(name, random.Random(1).randbytes(5000))
    path = write(tmp_path / f"broken.{name}", packed[: len(packed) // 2])
    with pytest.raises(SourceError, match=f"cannot read file '.*broken.{name}'"):
        drain(FileSource([str(path)], LINES))


def test_concatenated_gzip_files_are_read_to_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert drain(FileSource([str(path)], LINES)) == ["a", "b"]


def test_folders_are_read_recursively_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "nested/c.txt", ".hidden", "_ignored", "_temporary/d.txt", "nested/.git/e.txt"):
        write(tmp_path / name, name)
    write(tmp_path / "empty.txt", "")
    assert drain(FileSource([str(tmp_path)], LINES)) == ["a.txt", "b.txt", "nested/c.txt"]


def test_a_hidden_file_that_is_named_is_read(tmp_path: Path) -> None:
    assert drain(FileSource([str(write(tmp_path / "_a", "a"))], LINES)) == ["a"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["a1.txt", "a2.txt"]),
        ("a?.csv", ["a1.csv"]),
        ("a[2-9].*", ["a2.txt"]),
        ("*/b.txt", ["x/b.txt", "y/b.txt"]),
        ("**/b.txt", ["x/b.txt", "x/z/b.txt", "y/b.txt"]),
        ("x/**", ["x/b.txt", "x/z/b.txt"]),
        ("?", ["x/b.txt", "x/z/b.txt", "y/b.txt"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for name in ("a1.txt", "a2.txt", "a1.csv", "x/b.txt", "y/b.txt", "x/z/b.txt", "_x/b.txt", "x/.b.txt"):
        write(tmp_path / name, name)
    assert drain(FileSource([f"{tmp_path}/{pattern}"], LINES)) == expected


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path: Path) -> None:
    write(tmp_path / "a[1].txt", "brackets")
    write(tmp_path / "a1.txt", "number")
    assert drain(FileSource([f"{tmp_path}/a[1].txt"], LINES)) == ["brackets"]


def test_uris_and_several_paths(tmp_path: Path) -> None:
    with_space = write(tmp_path / "with space.txt", "space")
    plain = write(tmp_path / "plain.txt", "plain")
    paths = [with_space.as_uri(), f"file://{with_space}", f"file:{plain}", str(plain), f"file://{tmp_path}/p*.txt"]
    assert drain(FileSource(paths, LINES)) == ["plain", "space"]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server("data") as server:
        for name in ("a", "b"):
            with server.files.open_output_stream(f"data/x/{name}.txt") as out:
                out.write(name.encode())
        yield server


@pytest.mark.parametrize("path", ["s3a://data/x", "s3a://data/x/*.txt", "s3://data/x?{}", "s3://data/x/*.txt?{}"])
def test_files_of_another_file_system(s3: S3Server, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """By the settings of Spark's users, or by options in the URI."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    install_access(access_of(s3.hadoop_settings()))
    scheme, _, host = s3.endpoint.partition("://")
    source = FileSource([path.format(f"endpoint_override={host}&scheme={scheme}&region=us-east-1")], LINES)
    names = [split.payload.file.name for split in source.create_enumerator(1).poll(9)]
    assert names == [f"{path.partition(':')[0]}://data/x/{name}.txt" for name in ("a", "b")]
    assert drain(source) == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/no/such/file", "'/no/such/file' does not exist"),
        ("/no/such/*.txt", r"'/no/such/\*.txt' matches no file"),
        ("gopher://host/file", "'gopher://host/file'.*No FileSystem for scheme"),
    ],
)
def test_a_missing_path_is_one_clear_sentence(path: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as raised:
        FileSource([path], LINES).create_enumerator(1)
    assert len(str(raised.value).splitlines()) == 1


def test_a_file_that_disappears_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "gone.txt", "a")
    source = FileSource([str(path)], LINES)
    enumerator = source.create_enumerator(1)
    path.unlink()
    with pytest.raises(SourceError, match=r"gone.txt' was there"):
        run_epoch(source, enumerator, 10)


def test_no_path_and_no_interval_are_rejected() -> None:
    with pytest.raises(ConfigurationError, match="at least one path"):
        FileSource([], LINES)
    with pytest.raises(ConfigurationError, match="positive"):
        FileSource(["a"], LINES, discovery_interval_ms=0)


def test_a_big_file_is_read_by_several_subtasks_over_several_epochs(tmp_path: Path) -> None:
    lines = [f"{number:09d}" for number in range(300_000)]
    path = write(tmp_path / "big.txt", "\n".join(lines))
    source = FileSource([str(path)], LINES)
    enumerator = source.create_enumerator(parallelism=4)
    results = []
    while not enumerator.is_finished:
        results.append(run_epoch(source, enumerator, 40_000))
    sizes = [len(epoch) for epoch in results]
    assert [line for epoch in results for line in epoch] == lines
    # The first guess is 100 bytes for each record of 10 bytes; then the source knows better.
    assert sizes[0] > 200_000
    assert all(20_000 < size < 60_000 for size in sizes[1:])


def test_the_ranges_of_an_epoch_are_spread_and_weighed(tmp_path: Path) -> None:
    path = write(tmp_path / "big.txt", "x" * 99 + "\n")
    path.write_bytes(path.read_bytes() * 40_000)
    splits = FileSource([str(path)], LINES).create_enumerator(parallelism=4).poll(8000)
    assert len(splits) == 4
    assert {split.weight for split in splits} == {2000}
    assert len({split.id for split in splits}) == 4
    assert all(split.is_last for split in splits)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(0, 30_000), min_size=1, max_size=3), st.integers(0, 4), st.integers(1, 3), st.integers(1, 9999)
)
def test_a_snapshot_at_any_point_goes_on_exactly_there(
    counts: list[int], epochs: int, parallelism: int, most: int
) -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for index, count in enumerate(counts):
            of_file = [f"{index} {number}" for number in range(count)]
            write(Path(folder) / f"{index}.txt", "\n".join(of_file))
            lines += of_file
        assert drain_with_restart(FileSource([folder], LINES), epochs, parallelism, most) == lines


def test_new_files_are_found_once_each(tmp_path: Path) -> None:
    clock = ManualClock(1000)
    source = FileSource([str(tmp_path)], LINES, discovery_interval_ms=100, clock=clock)
    assert not source.is_bounded
    write(tmp_path / "a.txt", "a1\n")
    enumerator = source.create_enumerator(2)
    assert run_epoch(source, enumerator, 100) == ["a1"]
    write(tmp_path / "b.txt", "b1\n")
    write(tmp_path / "a.txt", "a1\na2\n")
    assert run_epoch(source, enumerator, 100) == []
    assert enumerator.next_poll_ms() == 100
    clock.set(1100)
    assert run_epoch(source, enumerator, 100) == ["b1"]
    assert not enumerator.is_finished

    snapshot = enumerator.snapshot()
    write(tmp_path / "c.txt", "c1\n")
    restored = source.create_enumerator(2, snapshot)
    assert run_epoch(source, restored, 100) == ["c1"]


def test_a_file_that_grows_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo\n")
    source = FileSource([str(tmp_path)], LINES, discovery_interval_ms=100, clock=ManualClock())
    enumerator = source.create_enumerator(2)
    write(path, "one\ntwo\nthree\n")
    assert run_epoch(source, enumerator, 100) == ["one", "two"]


def test_a_monitored_pattern_may_match_later(tmp_path: Path) -> None:
    clock = ManualClock()
    source = FileSource([f"{tmp_path}/*.log"], LINES, discovery_interval_ms=10, clock=clock)
    enumerator = source.create_enumerator(1)
    assert isinstance(enumerator, FileSplitEnumerator)
    assert run_epoch(source, enumerator, 100) == []
    write(tmp_path / "x.log", "x")
    clock.set(10)
    assert run_epoch(source, enumerator, 100) == ["x"]
