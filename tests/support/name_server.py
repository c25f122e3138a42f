"""A name server on this machine, and look-ups that use only it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from actors.egress.lookups import Found, Lookups


class NameServer(asyncio.DatagramProtocol):
    """A DNS server (RFC 1035) that answers every query for an A record with the next of its addresses.

    An empty address answers "no such name".
    """

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        address = self.addresses[min(self.asked, len(self.addresses) - 1)]
        self.asked += 1
        end = data.index(b"\0", 12) + 5
        if address:
            answer = data[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + data[12:end]
            answer += b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(address)
        else:
            answer = data[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + data[12:end]
        self.transport.sendto(answer, addr)


def asking(port: int) -> Lookups:
    """Return look-ups at one name server, without a cache."""

    def ask(host: str, _: int) -> list[Found]:
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as question:
            question.settimeout(10)
            question.sendto(b"\1\2\1\0\0\1\0\0\0\0\0\0" + name + b"\0\1\0\1", ("127.0.0.1", port))
            answer = question.recv(512)
        if not answer[7]:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [Found(socket.AF_INET, 0, socket.inet_ntoa(answer[-4:]))]

    return Lookups(ask, remembered_s=0)


@asynccontextmanager
async def name_server(*addresses: str) -> AsyncIterator[tuple[NameServer, int]]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: NameServer(*addresses), local_addr=("127.0.0.1", 0))
    try:
        yield server, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
