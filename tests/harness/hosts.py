"""Hosts of a test's own: namespaces, each with an address, a name, processes and a temporary folder of its own.

They hang on one switch, where their cables can be pulled. Everything belongs to processes that end with the test's own
process, whatever ends that: nothing is left on the machine.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.harness.own_servers import killed_with_parent

# Programs are started from here, also when it is below `/tmp`.
_ROOT = Path(__file__).resolve().parents[2]
_NETWORK = "10.77.0."
_START_S = 20.0
# A first process that ends those which others have left to it.
_FIRST_PROCESS = "echo ready; sleep infinity & wait"
_HOST = f"""
hostname "$1" && ip link set lo up
mount --bind "$2" /etc/hosts
for folder in "$4" "$5"; do mkdir -p "$3$folder" && mount --bind "$folder" "$3$folder"; done
mount --rbind "$3/tmp" /tmp
exec bash -c '{_FIRST_PROCESS}'
"""


class HostsUnavailableError(Exception):
    """The machine does not allow namespaces; says why in one line."""


class Host:
    """A network, a file system's `/tmp`, a name and a table of processes; what is shared is the rest of the disk."""

    def __init__(self, name: str, address: str, port: str, tmp: Path, owner: _Wrapper) -> None:
        self.name = name
        # Its `/tmp`, as the tests see it.
        self.tmp = tmp
        self.address = address
        # Its end at the switch.
        self.port = port
        self.owner = owner

    def command(
        self, arguments: Sequence[str], user: str | None = None, variables: dict[str, str] | None = None
    ) -> Any:
        """A command that runs on this host, with an environment that has nothing of the tests' own."""
        own = {
            "PATH": os.defpath + ":/usr/sbin:/sbin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            # Neither is made by programs of tests: that goes on after them, on purpose.
            "FUNKE_CLASS_ARCHIVE": "use",
            "FUNKE_KERNELS": "use",
            **({"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}),
            **(variables or {}),
        }
        switch_user = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups"] if user is not None else []
        clean = ["env", "-i", "-C", "/tmp", *(f"{key}={value}" for key, value in own.items())]
        return [*self.owner.entry(), *switch_user, *clean, *arguments]

    def run(self, *arguments: str, timeout_s: float = 60, **named: Any) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, which comes in time."""
        # Inside of the host: nsenter would leave behind what it has started.
        limited = ["timeout", "--kill-after=5", str(timeout_s), *arguments]
        return subprocess.run(self.command(limited, **named), capture_output=True, text=True, check=False)

    def start(self, log: Path, *arguments: str, **named: Any) -> subprocess.Popen[bytes]:
        """Starts a command, which ends with the host."""
        with log.open("ab") as output:
            return subprocess.Popen(
                self.command(arguments, **named), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def processes(self, part: str) -> list[int]:
        """Processes of this host whose command has a part, the oldest first."""
        return sorted(pid for pid, command in self.owner.processes() if part in command)

    def kill(self, part: str) -> int:
        """SIGKILL to the processes whose command has a part; returns how many there were."""
        victims = self.processes(part)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(victims)


class Network:
    """Hosts by name, on one switch; `shared` is the folder that all of them see."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        _require_tools()
        self.shared = folder / "shared"
        self.shared.mkdir(parents=True)
        addresses = {name: f"{_NETWORK}{number}" for number, name in enumerate(names, 1)}
        table = folder / "hosts"
        table.write_text("127.0.0.1 localhost\n" + "".join(f"{addresses[name]} {name}\n" for name in names))
        self.hosts: dict[str, Host] = {}
        self._switch = _Wrapper(["--net"], ["bash", "-c", _FIRST_PROCESS])
        try:
            self._ip("link", "add", "switch0", "type", "bridge")
            self._ip("link", "set", "switch0", "up")
            for name, address in addresses.items():
                self._add(name, address, folder / name, table)
        except BaseException:
            self.close()
            raise

    def _add(self, name: str, address: str, folder: Path, table: Path) -> None:
        (folder / "tmp").mkdir(parents=True)
        (folder / "tmp").chmod(0o1777)
        own = ["--net", "--mount", "--uts"]
        owner = _Wrapper(own, ["bash", "-ec", _HOST, "host", *map(str, (name, table, folder, self.shared, _ROOT))])
        host = self.hosts[name] = Host(name, address, f"port-{len(self.hosts)}", folder / "tmp", owner)
        self._ip("link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", str(owner.pid))
        self._ip("link", "set", host.port, "master", "switch0", "up")
        for order in (("addr", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            _require_done([*owner.entry(), "ip", *order])

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def _ip(self, *order: str) -> None:
        _require_done([*self._switch.entry(), "ip", *order])

    @contextlib.contextmanager
    def unplugged(self, name: str) -> Iterator[None]:
        """What is sent to a host, and what it sends, is lost without a word."""
        port = self.hosts[name].port
        self._ip("link", "set", port, "nomaster")
        try:
            yield
        finally:
            self._ip("link", "set", port, "master", "switch0")

    @contextlib.contextmanager
    def apart(self, *names: str) -> Iterator[None]:
        """What these hosts send to each other is lost; all others reach them."""
        self._set_apart(names, "on")
        try:
            yield
        finally:
            self._set_apart(names, "off")

    def _set_apart(self, names: Sequence[str], switch: str) -> None:
        for name in names:
            self._ip("link", "set", self.hosts[name].port, "type", "bridge_slave", "isolated", switch)

    @contextlib.contextmanager
    def muted(self, sender: str, receiver: str) -> Iterator[None]:
        """What one host sends to another is lost; what comes back the other way arrives."""
        entry, address = self.hosts[sender].owner.entry(), self.hosts[receiver].address
        # The switch finds nobody with this hardware address.
        nobody = ["lladdr", "02:00:00:00:00:ff", "dev", "eth0", "nud", "permanent"]
        _require_done([*entry, "ip", "neigh", "replace", address, *nobody])
        try:
            yield
        finally:
            _require_done([*entry, "ip", "neigh", "del", address, "dev", "eth0"])

    @contextlib.contextmanager
    def slowed(self, name: str, rate: str, longest_ms: int) -> Iterator[None]:
        """What is sent to a host goes at a rate; what would wait longer is lost."""
        limit = ["tbf", "rate", rate, "burst", "32kbit", "latency", f"{longest_ms}ms"]
        device = ["dev", self.hosts[name].port, "root"]
        _require_done([*self._switch.entry(), "tc", "qdisc", "add", *device, *limit])
        try:
            yield
        finally:
            _require_done([*self._switch.entry(), "tc", "qdisc", "del", *device])

    def close(self) -> None:
        """Ends all hosts and what runs on them."""
        for host in self.hosts.values():
            host.owner.close()
        self._switch.close()


class _Wrapper:
    """The first process of new namespaces: what runs in them ends with it."""

    def __init__(self, namespaces: Sequence[str], command: Sequence[str]) -> None:
        # Other first processes are named to the switch by the numbers that they have outside.
        self._namespaces = [*namespaces, "--pid"] if "--mount" in namespaces else namespaces
        self._process = subprocess.Popen(
            ["unshare", *namespaces, "--pid", "--fork", "--kill-child", "--mount-proc", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=killed_with_parent,  # noqa: PLW1509 - nothing but a system call
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        if not select.select([self._process.stdout], [], [], _START_S)[0] or not self._process.stdout.readline():
            self.close()
            lines = self._process.stderr.read().decode().splitlines() or ["no answer"]
            raise HostsUnavailableError(f"namespaces cannot be made here: {lines[-1]}")
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        self.pid = int(children.split()[0])

    def entry(self) -> list[str]:
        """What a command begins with that runs in these namespaces."""
        return ["nsenter", "-t", str(self.pid), *self._namespaces, "--"]

    def processes(self) -> Iterator[tuple[int, str]]:
        """Processes, with their names and commands: a slot has the command of the process that it was forked from."""
        own = os.readlink(f"/proc/{self.pid}/ns/pid")
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "ns" / "pid") == own:
                    command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
                    yield int(entry.name), f"{(entry / 'comm').read_text().strip()} {command}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait(_START_S)


def _require_tools() -> None:
    missing = [name for name in ("ip", "nsenter", "unshare", "setpriv") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        raise HostsUnavailableError(
            f"hosts are namespaces, which need root and the commands {missing or 'of iproute2'}"
        )


def _require_done(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostsUnavailableError(f"{' '.join(command)}: {done.stderr.strip()}")


def await_reached(is_reached: Any, seconds: float, what: str) -> None:
    """Waits for other processes, on a machine that runs other tests beside."""
    end = time.monotonic() + seconds
    while not is_reached():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
