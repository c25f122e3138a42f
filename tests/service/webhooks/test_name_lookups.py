"""Look-ups of users' names reveal nothing of internal names, and hanging ones delay nobody else."""

import asyncio
import re
import socket
import threading
from urllib.parse import urlsplit

import httpcore2
import pytest

from actors.egress.httpx_transport import GuardedBackend
from actors.egress.lookups import PER_USER, Found, Lookups
from actors.egress.outbound import Outbound
from actors.webhooks.sender import Sender
from tests.support.name_server import asking, name_server
from tests.support.receiver import receiving

USER = "usr_1"


async def test_what_internal_name_servers_answer_is_told_to_the_operator_alone(caplog: pytest.LogCaptureFixture):
    """No attempt and no error of a tool server reveals the existence or address of an internal name."""
    told: set[tuple[str | None, int | None, str | None]] = set()
    for address in ("", "10.20.30.40", "169.254.169.254", "0.0.0.0", "224.0.0.1"):
        async with name_server(address) as (_, dns):
            outbound = Outbound(lookups=asking(dns))
            sender = Sender(outbound, 15)
            outcome = await sender.post(USER, "https://db.corp.example/hook", {}, b"{}")
            await sender.close()
            told.add((outcome.error, outcome.status, outcome.response))
            with pytest.raises(httpcore2.ConnectError, match=r"^db.corp.example has no address that may be called$"):
                await GuardedBackend(outbound, USER).connect_tcp("db.corp.example", 443, timeout=5)
        assert not address or f"db.corp.example is refused for user {USER}: {address} is " in caplog.text
    assert told == {("dns_failure", None, None)}


async def test_a_refusal_does_not_tell_to_which_address_a_name_resolves(caplog: pytest.LogCaptureFixture):
    notes: set[str | None] = {await Outbound().refusal(USER, "https://printer.internal/hook")}
    for address in ("10.20.30.40", "127.0.0.1", "169.254.169.254", "100.64.0.1"):
        async with name_server(address) as (_, dns):
            notes.add(await Outbound(lookups=asking(dns)).refusal(USER, "https://db.corp.example/hook"))
        assert f"db.corp.example is refused for user {USER}: {address} is " in caplog.text
    (note,) = notes
    assert note is not None
    assert note.startswith("its host must be a public name")
    assert not re.search(r"[0-9]|corp|loopback|private|internal", note)
    async with name_server("") as (
        _,
        dns,
    ):  # accepted, and resolved again by each attempt (docs/contract.md, "Events and endpoints")
        assert await Outbound(lookups=asking(dns)).refusal(USER, "https://db.corp.example/hook") is None


async def test_names_that_hang_hold_up_no_other_user_s_deliveries_and_checks():
    """A name server that never answers, and 200 names of one user there."""
    async with receiving() as receiver:
        port = urlsplit(receiver.url).port

        def ask(host: str, _: int) -> list[Found]:
            if host != "fine.example":
                at_once.append(host)
                most.append(len(at_once))
                released.wait()
                at_once.remove(host)
                raise socket.gaierror(socket.EAI_AGAIN, "nobody answers")
            return [Found(socket.AF_INET, 0, "127.0.0.1")]

        released = threading.Event()
        at_once: list[str] = []
        most: list[int] = []
        outbound = Outbound(allow_insecure=True, lookups=Lookups(ask))
        sender = Sender(outbound, 60)
        hung = [
            asyncio.create_task(sender.post("usr_mallory", f"http://hung-{n}.example:{port}/", {}, b""))
            for n in range(200)
        ]
        # It waits behind its own user's names, and no other user's look-up of the same name joins it.
        hung.append(asyncio.create_task(sender.post("usr_mallory", f"http://fine.example:{port}/", {}, b"")))
        checks = Outbound(lookups=outbound.lookups)
        hung_checks = [
            asyncio.create_task(checks.refusal("usr_mallory", f"https://hung-{n}.example/")) for n in range(100, 300)
        ]
        await asyncio.sleep(0)
        try:
            refusal = await checks.refusal("usr_ada", "https://fine.example/")
            assert refusal is not None
            assert refusal.startswith("its host must be a public name")
            outcome = await sender.post("usr_ada", receiver.url.replace("127.0.0.1", "fine.example"), {}, b"{}")
            assert outcome.status == 200
            assert not any(task.done() for task in hung[:200])
        finally:
            released.set()
            await asyncio.gather(*hung, *hung_checks)
            await sender.close()
        assert max(most) <= PER_USER


async def test_the_system_resolver_finds_this_machine():
    found = await Lookups().addresses(USER, "localhost", socket.AF_INET)
    assert {entry.address for entry in found} == {"127.0.0.1"}
    with pytest.raises(OSError, match=r".+"):
        await Lookups().addresses(USER, "no-such-name.invalid")
