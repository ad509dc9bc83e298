"""State and timers in RocksDB need little memory, however large they are and whatever number of operators has them."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from tests.harness.backends import backend_factory

# 4 operators with 100 MB of state and 100 000 timers each.
PROGRAM = """
import sys
from funke.engine.state.backend_choice import BackendChoice, RocksDBSettings, create_backend
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.information.type_information import PickledBytesTypeInfo

def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / (1 << 20)

before, largest = None, 0
choice = BackendChoice("rocksdb", RocksDBSettings(memory_bytes=32 << 20), (sys.argv[1],))
for operator in range(4):
    backend = create_backend(choice, KeyGroups(128), lambda: 0, choice.folder_for("job", str(operator), 0, 0))
    state = backend.get_state(ValueStateDescriptor("value", PickledBytesTypeInfo()))
    timers = backend.create_timers(0, False)
    for number in range(100_000):
        backend.current_key = number
        state.update(b"%1000d" % number)
        timers.register(number * 7919 % 1_000_003, number)
        if number % 1000 == 0:
            before = before or resident_mb()
            largest = max(largest, resident_mb())
    assert sum(1 for _ in timers.items()) == 100_000
print(largest - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_resident_memory_does_not_grow_with_the_state() -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([sys.executable, "-c", PROGRAM, folder], capture_output=True, text=True, check=True)
    # 32 MB of RocksDB, and for each operator up to 4 times 8 MB of entries and two times 50 000 timers as objects.
    assert float(result.stdout) < 300


@pytest.mark.parametrize(("size", "limit"), [(10, 50_000), (1000, 8300), (200_000, 100)])
@pytest.mark.parametrize("is_read", [False, True])
def test_fewer_entries_are_cached_when_they_are_large(size: int, limit: int, is_read: bool) -> None:
    with backend_factory("rocksdb") as make:
        backend = make()
        descriptor = ValueStateDescriptor("value", PickledBytesTypeInfo())
        state = backend.get_state(descriptor)
        for number in range(400):
            backend.current_key = number
            state.update(bytes(size))
        if is_read:
            restored = make()
            restored.restore(backend.snapshot_parts())
            backend, state = restored, restored.get_state(descriptor)
            for number in range(400):
                backend.current_key = number
                assert len(state.value()) == size
        assert state.table.limit == pytest.approx(limit, rel=0.05)
