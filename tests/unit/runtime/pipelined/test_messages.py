"""What driver and slots say to each other."""

from __future__ import annotations

from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.runtime.pipelined.messages import Begin
from funke.engine.runtime.slots.slot_address import SlotAddress


def address(slot: int) -> SlotAddress:
    folder = f"/tmp/spark/app-1/{slot // 16}"
    return SlotAddress(slot, f"worker-{slot // 16}.example", 40_000 + slot, f"{folder}/slot-{slot}/s", 99, folder)


def test_begin_says_where_each_slot_listens() -> None:
    addresses = Begin.of(map(address, range(40))).addresses
    assert list(addresses) == list(range(40))
    for slot, each in addresses.items():
        expected = address(slot)
        assert (each.slot, each.host, each.port, each.path) == (slot, expected.host, expected.port, expected.path)


def test_the_addresses_of_a_thousand_slots_are_small() -> None:
    # All slots get them: with 100 bytes for each, a thousand slots would be sent 100 MB.
    assert len(encode(Begin.of(map(address, range(1000))))) < 20_000
