"""Runs five jobs as an operator meets them at night, and records what the overview says of them in ten seconds.

python tools/night_shift.py [--minutes 12]    writes docs/images/night-shift.png, a picture that moves
python tools/night_shift.py --job NAME        one of the jobs, as `funke run` starts it

One job has skewed keys, one a slow sink, one fails again and again, one falls behind, one is healthy. The alarm of the
lag needs ten minutes. The machine must have nothing else to do: a busy one slows the healthy job down, too.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/images/night-shift.png"
# What the overview must say of each job within ten seconds; nothing of the healthy one.
CAUSES = {
    "fraud-scores": r"fraud-scores\s.*?is slow: .*?its keys are skewed.*?have the key 'DE'",
    "orders-to-pg": r"orders-to-pg\s.*?is slow: \"Sink: pg\" is the bottleneck.*?night_shift\.py:\d+ in write",
    "invoices": r"invoices\s.*?fails again and again, \d+ times .*?raised KeyError: 'price' in “parse”",
    "clicks": r"clicks\s.*?falls behind: .*?more each minute",
}
HEALTHY = "audit-log"
FRAMES = 5
PAUSE_S = 2.0


# The jobs


def rated(env: Any, name: str, per_second: float, value: Callable[[int], Any], type_info: Any, strategy: Any) -> Any:
    from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

    source = DataGeneratorSource(value, 1 << 40, type_info, RateLimiterStrategy.per_second(per_second))
    return env.from_source(source, strategy, name).uid(name)


def run_job(name: str) -> None:
    from funke.common import Types, WatermarkStrategy
    from funke.common.watermark_strategy import TimestampAssigner
    from funke.datastream import StreamExecutionEnvironment
    from funke.datastream.connectors.discard import DiscardingSink
    from funke.datastream.connectors.python import PythonSink, PythonSinkWriter

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.enable_checkpointing(5_000)
    untimed = WatermarkStrategy.no_watermarks()

    def working(value: Any) -> Any:
        time.sleep(0.001)
        return value

    class Slow(PythonSinkWriter):
        def write(self, value: Any) -> None:
            time.sleep(0.004)

    class Orders(PythonSink):
        def create_writer(self) -> PythonSinkWriter:
            return Slow()

    def parse(row: dict[str, Any]) -> float:
        return float(row["price"])

    class ClickedAt(TimestampAssigner):
        begun_ms = time.time() * 1000 - 300_000

        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(self.begun_ms + value)

    if name == "fraud-scores":
        countries = ("DE",) * 7 + ("FR", "IT", "ES")
        payments = rated(env, "payments", 4_000, lambda n: countries[n * 7919 % 10], Types.STRING(), untimed)
        payments.key_by(lambda country: country).map(working).name("score").sink_to(DiscardingSink()).name("alerts")
    elif name == "orders-to-pg":
        orders = rated(env, "orders", 2_000, lambda n: n, Types.LONG(), untimed)
        orders.rebalance().sink_to(Orders()).name("pg")
    elif name == "invoices":
        rows = rated(env, "rows", 100, lambda n: {"price": 1} if n % 500 else {}, Types.PICKLED_BYTE_ARRAY(), untimed)
        rows.map(parse).name("parse").sink_to(DiscardingSink())
    elif name == "clicks":
        late = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ClickedAt())
        # A click is a millisecond of event time, and 500 a second are looked at.
        clicks = rated(env, "clicks", 2_000, lambda n: n, Types.LONG(), late)
        clicks.map(lambda n: working(n) and working(n)).name("enrich").sink_to(DiscardingSink())
    else:
        entries = rated(env, "entries", 200, lambda n: n, Types.LONG(), untimed)
        entries.key_by(lambda n: n % 100).map(lambda n: n).sink_to(DiscardingSink())
    env.execute(name)


# The recording


def funke(home: str, *arguments: str) -> str:
    environment = {**os.environ, "FUNKE_HOME": home}
    command = [sys.executable, "-m", "funke", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def record(minutes: float) -> int:
    from tests.unit.ops.dashboard.browser import started_browser

    with tempfile.TemporaryDirectory() as folder:
        home = f"{folder}/home"
        started = funke(home, "start-cluster", "-Drest.port=0", "-Dfunke.service.warm-driver=false")
        try:
            restarts = ["-Drestart-strategy.type=fixed-delay", "-Drestart-strategy.fixed-delay.attempts=100000"]
            for name in (*CAUSES, HEALTHY):
                funke(
                    home, "run", "-d", *restarts, "-Drestart-strategy.fixed-delay.delay=10 s", __file__, "--job", name
                )
            time.sleep(minutes * 60)
            link = funke(home, "dashboard", "--no-browser").split()[-1]
            with started_browser(Path(folder, "profile")) as browser:
                browser.show(1440, "light")
                began = time.monotonic()
                browser.open(link)
                frames = list(_frames(browser, Path(folder), began))
                said = browser.text()
        finally:
            funke(home, "stop-cluster")
    print(started, said, sep="\n")
    missing = [name for name, cause in CAUSES.items() if not re.search(cause, said, re.DOTALL)]
    blamed = bool(re.search(rf"{HEALTHY}\s.*?(is slow|falls behind|fails)", said.split("Also")[0]))
    PICTURE.write_bytes(moving(frames))
    print("not named with its cause:", ", ".join(missing) or "none", "; the healthy one is blamed" if blamed else "")
    return int(bool(missing) or blamed)


def _frames(browser: Any, folder: Path, began: float) -> Iterator[bytes]:
    for number in range(FRAMES):
        time.sleep(max(0.0, began + number * PAUSE_S + 0.5 - time.monotonic()))
        browser.screenshot(folder / f"{number}.png")
        yield (folder / f"{number}.png").read_bytes()


def moving(frames: Sequence[bytes]) -> bytes:
    """PNG pictures of one size as one that moves (APNG)."""
    chunks = [list(_chunks(frame)) for frame in frames]
    header = next(data for kind, data in chunks[0] if kind == b"IHDR")
    size = header[:8]
    out = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", header), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    sequence = 0
    for number, frame in enumerate(chunks):
        delay = struct.pack(">HHBB", round(PAUSE_S * 100), 100, 0, 0)
        out.append(_chunk(b"fcTL", struct.pack(">I", sequence) + size + struct.pack(">II", 0, 0) + delay))
        sequence += 1
        data = b"".join(each for kind, each in frame if kind == b"IDAT")
        if number == 0:
            out.append(_chunk(b"IDAT", data))
        else:
            out.append(_chunk(b"fdAT", struct.pack(">I", sequence) + data))
            sequence += 1
    return b"".join([*out, _chunk(b"IEND", b"")])


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", choices=[*CAUSES, HEALTHY])
    parser.add_argument("--minutes", type=float, default=12)
    options = parser.parse_args()
    if options.job is not None:
        run_job(options.job)
        return 0
    sys.path.insert(0, str(ROOT))
    return record(options.minutes)


if __name__ == "__main__":
    sys.exit(main())
