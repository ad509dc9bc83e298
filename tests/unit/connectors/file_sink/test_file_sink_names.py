"""Bucket names, dates after Java's patterns, and the names of part files."""

from __future__ import annotations

import datetime

import pytest

from funke.engine.connectors.file_sink.bucket_assigner import (
    BasePathBucketAssigner,
    BucketAssigner,
    DateTimeBucketAssigner,
)
from funke.engine.connectors.file_sink.date_pattern import compile_date_pattern, find_zone
from funke.engine.connectors.file_sink.part_name import OutputFileConfig, part_number, to_in_progress_name
from funke.engine.connectors.file_sink.storage import to_absolute_path
from funke.engine.errors import ConfigurationError

TIMESTAMP = datetime.datetime(2024, 3, 9, 15, 5, 7, 123456, tzinfo=datetime.UTC)
TIMESTAMP_MS = int(TIMESTAMP.timestamp() * 1000)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd--HH", "2024-03-09--15"),
        ("yyyyMMdd", "20240309"),
        ("yy/M/d", "24/3/9"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-03-09T15:05:07.123"),
        ("'dt='uuuu-MM-dd/'hour='HH", "dt=2024-03-09/hour=15"),
        ("h a, EEE dd MMM", "3 PM, Sat 09 Mar"),
        ("EEEE MMMM D Q", "Saturday March 69 1"),
        ("k''K", "15'3"),
        ("SSSSSSSSS S", "123456000 1"),
        ("xxx x", "+00:00 +00"),
    ],
)
def test_java_date_patterns(pattern, expected):
    assert compile_date_pattern(pattern)(TIMESTAMP) == expected


@pytest.mark.parametrize("pattern", ["yyyy-ww", "yyyy'open", "nn"])
def test_patterns_that_cannot_be_written_are_rejected(pattern):
    with pytest.raises(ConfigurationError, match="date pattern"):
        DateTimeBucketAssigner(pattern)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2024-03-09--15"),
        ("America/Los_Angeles", "2024-03-09--07"),
        ("GMT-08:00", "2024-03-09--07"),
        ("Asia/Tokyo", "2024-03-10--00"),
        ("+09", "2024-03-10--00"),
        ("UTC+2", "2024-03-09--17"),
    ],
)
def test_date_time_buckets_follow_the_zone(zone, expected):
    assert DateTimeBucketAssigner(zone_id=zone).assign(["a", "b"], None, TIMESTAMP_MS) == {expected: ["a", "b"]}


def test_the_default_zone_is_that_of_the_machine():
    local = datetime.datetime.fromtimestamp(TIMESTAMP_MS / 1000)
    assert list(DateTimeBucketAssigner().assign(["a"], None, TIMESTAMP_MS)) == [f"{local:%Y-%m-%d--%H}"]


def test_an_unknown_zone_is_rejected():
    with pytest.raises(ConfigurationError, match="Nowhere"):
        find_zone("Nowhere/Town")


def test_the_base_path_assigner_names_no_bucket():
    assert BasePathBucketAssigner().assign([1, 2], None, 0) == {"": [1, 2]}


class ByFirstLetterAndDay(BucketAssigner):
    def get_bucket_id(self, element, context):
        day = (context.timestamp() or context.current_processing_time()) // 86_400_000
        return f"{element[0]}/{day}"


def test_user_defined_assigners_see_record_and_times_and_keep_the_order():
    day_ms = 86_400_000
    assigner = ByFirstLetterAndDay()
    assert assigner.assign(["a1", "b1", "a2", "a3"], [day_ms, day_ms, 2 * day_ms, day_ms], 9 * day_ms) == {
        "a/1": ["a1", "a3"],
        "b/1": ["b1"],
        "a/2": ["a2"],
    }
    assert assigner.assign(["a1"], None, 9 * day_ms) == {"a/9": ["a1"]}


def test_in_progress_names_hide_the_final_name_and_never_repeat():
    config = OutputFileConfig("pre", ".ext")
    final = config.part_name("id", 3)
    first, second = to_in_progress_name(final), to_in_progress_name(final)
    assert final == "pre-id-3.ext"
    assert first.startswith(".pre-id-3.ext.inprogress.") and first != second
    assert part_number(config, "id", first) == 3


@pytest.mark.parametrize("name", ["pre-id-3.ext", ".pre-other-3.ext.inprogress.x", ".pre-id-x.ext.inprogress.y"])
def test_other_names_have_no_part_number(name):
    assert part_number(OutputFileConfig("pre", ".ext"), "id", name) is None


def test_paths_lose_scheme_and_relative_parts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert to_absolute_path("out/./x") == str(tmp_path / "out" / "x")
    assert to_absolute_path("file:///data/my%20out") == "/data/my out"
    assert to_absolute_path("s3://bucket/out") == "s3://bucket/out"
