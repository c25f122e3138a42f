"""Listening sockets that can't be opened, and one at its end."""

import errno
import select
import socket
from typing import Any

import pytest

from routes.listener import CannotListen, Listener, take_no_more


async def test_on_a_machine_without_ipv6_the_address_of_both_families_is_refused_with_advice(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(socket, "has_ipv6", False)
    nothing: Any = None  # no application is reached
    with pytest.raises(CannotListen, match="has no IPv6: set PARLEY_HOST to an IPv4 address"):
        await Listener.open(nothing, "::", 0)


def test_a_client_that_connects_just_before_the_close_is_refused_and_not_reset():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        address = listening.getsockname()
        take_no_more(listening)
        client.setblocking(False)
        assert client.connect_ex(address) == errno.EINPROGRESS
        assert select.select([], [client], [], 0.2)[1] == []
        listening.close()
        assert select.select([], [client], [], 30)[1] == [client]  # it asks again after a second
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        client.close()
