"""Flink's memory model; the figures are those that Flink 2.3 itself derives from the same sizes."""

from __future__ import annotations

import pytest

from funke.engine.config.memory_model import MemoryModelError, driver_memory, size_text, worker_memory
from funke.engine.config.settings import Settings

MB = 1 << 20
W, D = "taskmanager.memory.", "jobmanager.memory."


def settings(prefix: str, **sizes: str) -> Settings:
    return Settings({prefix + name.replace("__", "-").replace("_", "."): size for name, size in sizes.items()})


@pytest.mark.parametrize(
    ("sizes", "task_heap", "managed", "network", "overhead"),
    [
        ({"process_size": "1728m"}, 486539253, 603979785, 150994946, 192 * MB),
        ({"process_size": "4g"}, 1613968148, 1505922928, 376480732, 429496736),
        ({"flink_size": "1000m"}, 255852537, 419430406, 104857601, 192 * MB),
        # The share of the network, and the overhead, reach their greatest sizes.
        ({"flink_size": "20g"}, 11542724480, 8589934720, 1024 * MB, 1024 * MB),
        # Raised to the least size.
        (
            {"flink_size": "1000m", "network_min": "128m", "network_max": "256m"},
            226492410,
            419430406,
            128 * MB,
            192 * MB,
        ),
        ({"flink_size": "1000m", "network_max": "128m"}, 255852537, 419430406, 104857601, 192 * MB),
        # Without a whole, the network has its share beside the rest.
        ({"task_heap_size": "512m", "managed_size": "256m"}, 512 * MB, 256 * MB, 119304649, 192 * MB),
        # With one, it has what is left.
        (
            {"task_heap_size": "512m", "managed_size": "256m", "flink_size": "1100m"},
            512 * MB,
            256 * MB,
            76 * MB,
            192 * MB,
        ),
        ({"flink_size": "1280m", "process_size": "1600m"}, 402653174, 536870920, 134217730, 224 * MB),
        ({"flink_size": "2g", "managed_size": "0", "task_off__heap_size": "64m"}, 1597190960, 0, 214748368, 249794109),
        (
            {
                "process_size": "1728m",
                "managed_fraction": "0.25",
                "network_fraction": "0.05",
                "jvm__overhead_fraction": "0.2",
            },
            *(675786256, 337222040, 67444409, 362387871),
        ),
    ],
)
def test_what_a_worker_has(sizes: dict[str, str], task_heap: int, managed: int, network: int, overhead: int) -> None:
    memory = worker_memory(settings(W, **sizes))
    assert (memory.task_heap, memory.managed, memory.network, memory.jvm_overhead) == (
        task_heap,
        managed,
        network,
        overhead,
    )
    assert (memory.framework_heap, memory.framework_off_heap, memory.jvm_metaspace) == (128 * MB, 128 * MB, 96 * MB)
    parts = (memory.framework_heap, task_heap, memory.framework_off_heap, memory.task_off_heap, managed, network)
    assert memory.total_flink == sum(parts)
    assert memory.total_process == memory.total_flink + memory.jvm_metaspace + overhead


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({}, "set taskmanager.memory.flink.size, taskmanager.memory.process.size, or both"),
        ({"managed_size": "256m"}, "the memory of workers is unknown"),
        (
            {"flink_size": "1g", "task_heap_size": "300m"},
            r"the network gets .* 58.400mb \(61236832 bytes\), which is not",
        ),
        ({"flink_size": "1280m", "process_size": "1500m"}, "overhead gets the remainder, 124 mb"),
        ({"flink_size": "1280m", "process_size": "1g"}, "are more than the process"),
        (
            {"task_heap_size": "512m", "managed_size": "256m", "process_size": "1400m"},
            r"overhead gets .* 166.222mb \(174296631 bytes\)",
        ),
        ({"flink_size": "1g", "task_heap_size": "700m"}, "its parts .* are more than the whole"),
        ({"flink_size": "300m"}, "are more than the whole"),
        (
            {"process_size": "200m"},
            "metaspace and overhead of the JVM .* are more than taskmanager.memory.process.size",
        ),
        ({"flink_size": "1g", "network_min": "2g"}, "network.min .* is more than taskmanager.memory.network.max"),
        ({"flink_size": "1g", "managed_fraction": "1.5"}, "managed.fraction must be at least 0 and less than 1"),
        ({"flink_size": "1g", "network_fraction": "-1"}, "network.fraction must be at least 0"),
    ],
)
def test_sizes_that_contradict_each_other(sizes: dict[str, str], wrong: str) -> None:
    with pytest.raises(MemoryModelError, match=wrong):
        worker_memory(settings(W, **sizes))


@pytest.mark.parametrize(
    ("sizes", "heap", "off_heap", "overhead"),
    [
        ({"process_size": "1600m"}, 1024 * MB, 128 * MB, 192 * MB),
        ({"flink_size": "1g"}, 896 * MB, 128 * MB, 192 * MB),
        ({"heap_size": "512m"}, 512 * MB, 128 * MB, 192 * MB),
        ({"heap_size": "512m", "flink_size": "700m"}, 512 * MB, 188 * MB, 192 * MB),
        ({"flink_size": "1g", "process_size": "1500m"}, 896 * MB, 128 * MB, 220 * MB),
    ],
)
def test_what_the_driver_has(sizes: dict[str, str], heap: int, off_heap: int, overhead: int) -> None:
    memory = driver_memory(settings(D, **sizes))
    assert (memory.heap, memory.off_heap, memory.jvm_overhead) == (heap, off_heap, overhead)


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({}, "the memory of the driver is unknown"),
        ({"process_size": "300m"}, "are more than jobmanager.memory.process.size"),
        ({"heap_size": "512m", "off__heap_size": "100m", "flink_size": "700m"}, "do not add up to its memory"),
        ({"heap_size": "800m", "flink_size": "700m"}, "are more than the whole"),
    ],
)
def test_sizes_of_the_driver_that_contradict_each_other(sizes: dict[str, str], wrong: str) -> None:
    with pytest.raises(MemoryModelError, match=wrong):
        driver_memory(settings(D, **sizes))


def test_what_a_jvm_is_started_with() -> None:
    worker = worker_memory(settings(W, process_size="1728m"))
    assert worker.jvm_arguments() == (
        *("-Xmx620756981", "-Xms620756981", "-XX:MaxDirectMemorySize=285212674", "-XX:MaxMetaspaceSize=100663296"),
    )
    driver = settings(D, process_size="1600m")
    assert driver_memory(driver).jvm_arguments() == (
        "-Xmx1073741824",
        "-Xms1073741824",
        "-XX:MaxMetaspaceSize=268435456",
    )
    driver.set_raw("jobmanager.memory.enable-jvm-direct-memory-limit", "true")
    assert "-XX:MaxDirectMemorySize=134217728" in driver_memory(driver).jvm_arguments()


def test_sizes_as_people_read_them() -> None:
    assert [size_text(size) for size in (0, 512, 1536, 3 << 30)] == [
        "0 bytes",
        "512 bytes",
        "1.500kb (1536 bytes)",
        "3 gb",
    ]
