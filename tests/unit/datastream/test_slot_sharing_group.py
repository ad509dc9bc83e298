"""Slot-sharing groups and memory sizes."""

from __future__ import annotations

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from funke.engine.errors import ConfigurationError


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 bytes"),
        (1024, "1 kb"),
        (1025, "1025 bytes"),
        (64 * 2**20, "64 mb"),
        (3 * 2**30, "3 gb"),
        (2**40, "1099511627776 bytes"),
    ],
)
def test_sizes_print_as_in_flink(size: int, text: str) -> None:
    assert str(MemorySize(bytes_size=size)) == text


def test_sizes_convert_and_compare() -> None:
    size = MemorySize.of_mebi_bytes(3 * 1024 * 1024)

    assert (size.get_bytes(), size.get_kibi_bytes(), size.get_mebi_bytes()) == (3 * 2**40, 3 * 2**30, 3 * 2**20)
    assert (size.get_gibi_bytes(), size.get_tebi_bytes()) == (3 * 2**10, 3)
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)
    assert {MemorySize(1), MemorySize(1)} == {MemorySize(1)}
    with pytest.raises(ConfigurationError, match="at least 0"):
        MemorySize(-1)


def test_a_group_with_resources() -> None:
    builder = SlotSharingGroup.builder("g").set_cpu_cores(1.5).set_task_heap_memory_mb(5)
    group = builder.set_external_resource("gpu", 2.0).build()

    assert (group.get_name(), group.get_cpu_cores()) == ("g", 1.5)
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(5)
    assert group.get_task_off_heap_memory() == group.get_managed_memory() == MemorySize(0)
    assert group.get_external_resources() == {"gpu": 2.0}


def test_a_group_without_resources() -> None:
    group = SlotSharingGroup.builder("g").build()

    assert (group.get_cpu_cores(), group.get_managed_memory()) == (None, None)
    assert group == SlotSharingGroup.builder("g").build() != SlotSharingGroup.builder("h").build()


def test_resources_need_cores_and_heap() -> None:
    with pytest.raises(ConfigurationError, match="needs both CPU cores and heap memory"):
        SlotSharingGroup.builder("g").set_managed_memory_mb(1).build()
    with pytest.raises(ConfigurationError, match="more than 0 cores"):
        SlotSharingGroup.builder("g").set_cpu_cores(0)


def test_resources_have_no_effect_and_that_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    group = SlotSharingGroup.builder("big").set_cpu_cores(2).set_task_heap_memory_mb(100).build()
    env.register_slot_sharing_group(SlotSharingGroup.builder("plain").build()).register_slot_sharing_group(group)
    env.from_collection([1]).map(str).slot_sharing_group(group).map(str).slot_sharing_group("big")
    said = capsys.readouterr().err
    assert said.count("warning:") == 1
    assert "the resources of slot sharing group 'big' have no effect" in said
