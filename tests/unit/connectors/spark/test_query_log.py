"""The log of a streaming query: what a checkpoint takes along of it, and what a restarted query finds."""

from __future__ import annotations

import pytest

from funke.engine.connectors.spark.query_log import QueryLog, QueryPosition
from funke.engine.errors import UnsupportedFeatureError


def make_log(folder, batches, source_files=()):
    for name in ["metadata", *(f"offsets/{n}" for n in range(batches)), *(f"commits/{n}" for n in range(batches - 1))]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.with_name(f".{path.name}.crc").write_text("checksum")
    for name in source_files:
        path = folder / "sources" / "0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return QueryLog(str(folder))


def position_of(log, batch_id):
    return log.take(batch_id, log.names_at(batch_id))


def test_the_last_two_entries_are_taken_along(tmp_path):
    position = position_of(make_log(tmp_path, 5), 4)
    assert position.batch_id == 4
    assert sorted(position.files) == ["commits/3", "metadata", "offsets/3", "offsets/4"]


def test_the_first_batch(tmp_path):
    assert sorted(position_of(make_log(tmp_path, 1), 0).files) == ["metadata", "offsets/0"]


def test_a_compacted_source_log_stands_for_what_was_before(tmp_path):
    names = ["7", "8", "9.compact", "10", "11"]
    files = position_of(make_log(tmp_path, 12, names), 11).files
    assert sorted(name for name in files if name.startswith("sources")) == [
        "sources/0/10",
        "sources/0/11",
        "sources/0/9.compact",
    ]


def test_what_the_query_writes_afterwards_does_not_matter(tmp_path):
    log = make_log(tmp_path, 3)
    names = log.names_at(2)
    make_log(tmp_path, 9, ["5"])
    (tmp_path / "offsets" / "1").unlink()
    assert sorted(log.take(2, names).files) == ["commits/1", "metadata", "offsets/2"]


def test_a_new_folder_looks_as_the_old_one_did(tmp_path):
    position = position_of(make_log(tmp_path / "old", 3, ["0", "1"]), 2)
    restored = QueryLog(str(tmp_path / "new"))
    restored.put_back(position)
    assert position_of(restored, 2) == position


def test_a_query_with_state_is_rejected(tmp_path):
    log = make_log(tmp_path, 1)
    (tmp_path / "state").mkdir()
    with pytest.raises(UnsupportedFeatureError, match="with state of its own"):
        log.take(0, log.names_at(0))


def test_nothing_was_read():
    assert QueryPosition() == QueryPosition(-1, {})
