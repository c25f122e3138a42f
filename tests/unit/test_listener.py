"""Listening sockets that can't be opened."""

import socket
from typing import Any

import pytest

from routes.listener import CannotListen, Listener


async def test_on_a_machine_without_ipv6_the_address_of_both_families_is_refused_with_advice(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(socket, "has_ipv6", False)
    nothing: Any = None  # no application is reached
    with pytest.raises(CannotListen, match="has no IPv6: set PARLEY_HOST to an IPv4 address"):
        await Listener.open(nothing, "::", 0)
