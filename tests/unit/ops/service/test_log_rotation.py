"""Logs that have grown too long: their content moves on while writers keep the file."""

from __future__ import annotations

from pathlib import Path

from funke.ops.service.log_rotation import remove_with_rotated, rotate, rotated_path


def test_writers_go_on_in_the_same_file(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    with open(log, "ab", buffering=0) as writer:
        for number in range(4):
            writer.write(b"%d" % number * 100)
            rotate(str(tmp_path), 50, 2)
        writer.write(b"last")
    assert {each.name: each.read_text()[:1] for each in tmp_path.iterdir()} == {
        "service.log": "l",
        "service.1.log": "3",
        "service.2.log": "2",
    }


def test_short_logs_and_those_without_a_limit_stay(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x" * 50)
    rotate(str(tmp_path), 50, 2)
    rotate(str(tmp_path), 0, 2)
    assert [each.name for each in tmp_path.iterdir()] == ["a.log"]


def test_none_need_be_kept(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x" * 51)
    rotate(str(tmp_path), 50, 0)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.log", "")]


def test_all_parts_are_removed_together(tmp_path: Path) -> None:
    path = str(tmp_path / "a.log")
    for each in (path, rotated_path(path, 1), rotated_path(path, 7)):
        Path(each).write_text("x")
    remove_with_rotated(path)
    assert list(tmp_path.iterdir()) == []
