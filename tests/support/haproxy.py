"""HAProxy with the configuration of deploy/, in front of gateways of this machine.

The program is Debian's package `haproxy` (`make haproxy` installs it where it can); its service is not used.
"""

import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from unittest import SkipTest
from urllib.parse import urlsplit

from tests.support.nats import free_port
from tests.support.programs import installed

DEPLOYED = Path(__file__).resolve().parents[2] / "deploy" / "haproxy.cfg"
START_S = 30.0


class NoHaproxy(SkipTest):
    """HAProxy is not installed: pytest skips the test."""


class Proxy(NamedTuple):
    """A running HAProxy."""

    base: str
    pid: int


def configured(port: int, nodes: Mapping[str, str]) -> str:
    """Return the deployed configuration for other nodes: up to three, each with its name and address.

    Only what belongs to containers differs: names, addresses, the port, the resolution of names, and the number of
    connections, for which a plain user may not have the files. One thread leaves a small machine to the gateways.
    """
    lines: list[str] = []
    for line in DEPLOYED.read_text(encoding="utf-8").partition("\nresolvers ")[0].splitlines():
        number = re.search(r"gateway-(\d)", line)
        if number is None or line.startswith("#"):
            lines.append(line)
        elif len(nodes) >= int(number[1]):
            name, address = list(nodes.items())[int(number[1]) - 1]
            lines.append(line.replace(f"{number[0]}:8000", address).replace(number[0], name))
    text = "\n".join(lines).replace("bind :8000", f"bind 127.0.0.1:{port}")
    text = text.replace("maxconn 20000", "maxconn 2000").replace("global\n", "global\n    nbthread 1\n", 1)
    return text.replace(" init-addr last,libc,none resolvers docker", "") + "\n"


@contextmanager
def in_front_of(nodes: Mapping[str, str]) -> Generator[Proxy]:
    """Run HAProxy in front of gateways, given by the names of their nodes and their URLs.

    Raises:
        NoHaproxy: it is not installed.
    """
    path, port = installed("haproxy", NoHaproxy), free_port()
    with tempfile.TemporaryDirectory(prefix="parley-haproxy-") as folder:
        file, log = Path(folder) / "haproxy.cfg", Path(folder) / "log"
        file.write_text(configured(port, {name: urlsplit(url).netloc for name, url in nodes.items()}), encoding="utf-8")
        with log.open("wb") as output:
            process = subprocess.Popen([path, "-db", "-f", file], stdout=output, stderr=output)
        try:
            _wait_for(process, port, log)
            yield Proxy(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _wait_for(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError(f"haproxy does not start: {log.read_text(encoding='utf-8')}")
