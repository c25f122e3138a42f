"""Faults of receivers: the state, the error's code and the next due time after each, with a movable clock."""

import asyncio
import base64
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from actors.core import Core, CoreOptions, WebhookOptions
from actors.egress.aiohttp_session import open_session
from actors.egress.outbound import Outbound
from actors.errors import StateConflict, StorageUnavailable
from actors.ids import system_clock
from actors.jobs.delivering import forget_old_events
from actors.webhooks import due, endpoints, recoveries
from actors.webhooks.messages import (
    DISPATCHER,
    DISPATCHER_KEY,
    ChangeEndpoint,
    CreateEndpoint,
    FindRecoveries,
    ListEndpoints,
    Recover,
    RecoveredMeanwhile,
    RetryDelivery,
    SendTest,
    Wake,
    Woken,
)
from actors.webhooks.sender import Sender
from persistence import deliveries, delivery_log, users
from persistence.delivery_log import AttemptRow, DeliveryRow
from persistence.events import EventRow
from persistence.events import insert as insert_event
from persistence.store import Query, Unit, Write
from persistence.users import UserRow
from tests.support.core import open_core
from tests.support.name_server import asking, name_server
from tests.support.receiver import Authority, Received, raw_server, receiving, status, thanks

USER = "usr_1"
DELAYS_S = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 36000.0)
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@dataclass
class MovableClock:
    """The machine's time plus an offset set by the test."""

    ahead_ms: int = 0

    def __call__(self) -> int:
        return system_clock() + self.ahead_ms

    def move(self, ms: int) -> None:
        self.ahead_ms += ms


@dataclass
class Bench:
    """A core with one user and a movable clock."""

    core: Core
    clock: MovableClock
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def ask(self, message: Any) -> Any:
        return await self.core.directory.ask("webhooks", USER, message)

    async def endpoint(self, url: str, *events: str) -> str:
        """Make an endpoint; return its id."""
        return (await self.ask(CreateEndpoint(url, events or ("webhook.test",), True, None)))["id"]

    async def test_event(self, kind: str = "webhook.test", **data: Any) -> None:
        await self.ask(SendTest(kind, data))
        await self.wake()

    async def wake(self) -> None:
        await self.core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake())

    async def listed(self, state: str | None = None, endpoint: int | None = None) -> list[DeliveryRow]:
        query = delivery_log.listed_for(USER, endpoint, None, state, 2**62, 1000)
        return await self.core.store.fetch(query)

    async def only(self) -> DeliveryRow:
        (row,) = await self.listed()
        return row

    async def attempts(self, *rows: DeliveryRow) -> list[AttemptRow]:
        return await self.core.store.fetch(delivery_log.attempts_of([row.position for row in rows]))

    async def until(self, reached: Callable[[], Any]) -> Any:
        """Poll until a condition holds."""
        async with asyncio.timeout(30):
            while not (found := await reached()):
                await asyncio.sleep(0.005)
            return found

    async def attempted(self, count: int = 1) -> tuple[DeliveryRow, AttemptRow]:
        """Wait until the only delivery has this number of stored attempts; return it with the last one."""

        async def reached() -> list[AttemptRow]:
            found = await self.attempts(await self.only())
            return found if len(found) >= count else []

        attempts = await self.until(reached)
        assert len(attempts) == count
        return await self.only(), attempts[-1]

    async def endpoint_record(self) -> dict[str, Any]:
        return (await self.ask(ListEndpoints()))[0]


@asynccontextmanager
async def bench(
    folder: Path,
    *,
    delays_s: tuple[float, ...] = DELAYS_S,
    timeout_s: float = 15,
    outbound: Outbound | None = None,
    before_commit: Callable[[], None] | None = None,
) -> AsyncIterator[Bench]:
    """Run a core."""
    clock = MovableClock()
    options = WebhookOptions(
        outbound=outbound or Outbound(allow_insecure=True), retry_delays_s=delays_s, timeout_s=timeout_s
    )
    async with open_core(folder, clock, CoreOptions(webhooks=options), before_commit) as core:
        if not await core.store.fetch(users.by_id(USER)):
            user = UserRow(USER, "lovelace", None, None, "", "free", None, clock())
            await core.store.commit(Unit((users.insert(user),)))
        running = Bench(core, clock)
        await running.wake()
        yield running


def next_due(row: DeliveryRow, attempt: AttemptRow) -> float:
    """Return the seconds from the attempt's end to the next due time."""
    assert row.due is not None
    return (row.due - attempt.at - attempt.latency_ms) / 1000


def about(seconds: float) -> Any:
    """Allow the jitter of 20 percent, and the second that the attempt's end is stored later."""
    return pytest.approx(seconds, rel=0.2, abs=2 if seconds < 60 else 12)


async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(1_000_000)
    await asyncio.sleep(600)


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(100)


async def slow_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1_000_000)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: of it\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"\x00\x01 what do you want?\r\n\r\n")
    await writer.drain()


def endless_body(code: int) -> Any:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000_000)
        writer.write(b"HTTP/1.1 %d X\r\nContent-Type: text/plain\r\n\r\n" % code)
        while True:
            writer.write(b"and on and on " * 1000)
            await writer.drain()

    return serve


def endless(head: bytes, piece: bytes, taken: list[int] | None = None) -> Any:
    """Answer with a head, then with a piece over and over, up to `ENOUGH` bytes; tell how many were taken."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000_000)
        writer.write(head)
        sent = 0
        try:
            while sent < ENOUGH:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
        finally:
            if taken is not None:
                taken.append(sent)

    return serve


ENOUGH = 67_108_864
"""Much more than the system holds of what nobody reads."""
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" * 2_600

RAW_FAULTS = [
    (hang, "timeout", None),
    (reset, "connection_reset", None),
    (hang_up, "connection_reset", None),
    (slow_headers, "timeout", None),
    (nonsense, "invalid_response", None),
    (endless_body(500), "http_status", 500),
    (endless(b"", INTERIM), "invalid_response", None),
    (endless(b"", INTERIM.replace(b"\r", b"")), "invalid_response", None),
]


@pytest.mark.parametrize(("serve", "error", "code"), RAW_FAULTS)
async def test_a_connection_that_goes_wrong_is_a_failure_with_a_code(
    tmp_path: Path, serve: Any, error: str, code: int | None
):
    timeout_s = 0.6 if error == "timeout" else 30  # a slow machine finds the other faults later
    async with raw_server(serve) as port, bench(tmp_path, timeout_s=timeout_s) as core:
        await core.endpoint(f"http://127.0.0.1:{port}/hook")
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, attempt.error, attempt.status) == ("retrying", error, code)
        assert next_due(row, attempt) == about(5)
        assert len(attempt.response or "") <= 1024


async def test_an_endless_body_after_success_is_a_success_and_costs_its_connection(tmp_path: Path):
    async with raw_server(endless_body(200)) as port, bench(tmp_path) as core:
        await core.endpoint(f"http://127.0.0.1:{port}/hook")
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, row.due, attempt.error, attempt.status) == ("succeeded", None, None, 200)
        assert (attempt.response or "").startswith("and on and on")
        assert len(attempt.response or "") == 1024


async def test_an_endless_chunk_extension_is_not_read_on_and_on(tmp_path: Path):
    taken: list[int] = []
    serve = endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 65_536, taken)
    async with raw_server(serve) as port, bench(tmp_path) as core:
        await core.endpoint(f"http://127.0.0.1:{port}/hook")
        await core.test_event()
        assert (await core.attempted())[1].status == 200
    assert 0 < taken[0] < ENOUGH


async def test_a_connection_may_bring_many_long_answers(tmp_path: Path):
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(0)
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60_000)

    async with raw_server(serve) as port:
        sender = Sender(Outbound(allow_insecure=True), timeout_s=30)
        for _ in range(4):
            assert (await sender.post(USER, f"http://127.0.0.1:{port}/hook", {}, b"")).status == 200
        await sender.close()
    assert len(connections) == 1


MALFORMED_BODIES = [
    b"\r\n",
    b"Content-Length: 6\r\n\r\nthanks",
    b"Content-Length: 2\r\n\r\nthanks",
    b"Content-Length: 100\r\n\r\nthanks",
    b"Transfer-Encoding: chunked\r\n\r\nno size\r\nthanks\r\n",
]


@pytest.mark.parametrize("rest", MALFORMED_BODIES)
@pytest.mark.parametrize(
    ("code", "state", "error"), [(204, "succeeded", None), (200, "succeeded", None), (500, "retrying", "http_status")]
)
async def test_the_status_decides_even_if_a_malformed_body_comes_with_it(
    tmp_path: Path, rest: bytes, code: int, state: str, error: str | None
):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000_000)
        writer.write(b"HTTP/1.1 %d X\r\n" % code + rest)
        await writer.drain()

    async with raw_server(serve) as port, bench(tmp_path) as core:
        await core.endpoint(f"http://127.0.0.1:{port}/hook")
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, attempt.status, attempt.error) == (state, code, error)


@contextmanager
def refusing() -> Iterator[int]:
    """Hold a port on which nobody listens, so that no other server of the tests is given it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


async def test_a_refused_connection_is_a_failure(tmp_path: Path):
    with refusing() as port:
        async with bench(tmp_path) as core:
            await core.endpoint(f"http://127.0.0.1:{port}/hook")
            await core.test_event()
            row, attempt = await core.attempted()
            assert (row.state, attempt.error, attempt.status) == ("retrying", "connection_refused", None)
            assert next_due(row, attempt) == about(5)


async def test_a_name_that_does_not_resolve_is_a_failure(tmp_path: Path):
    async with bench(tmp_path) as core:
        await core.endpoint("https://no-such-name.invalid/hook")
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, attempt.error, attempt.status) == ("retrying", "dns_failure", None)
        assert next_due(row, attempt) == about(5)


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_of_another_name_or_authority_is_a_failure(tmp_path: Path, trusted: bool):
    authority = Authority(tmp_path)
    tls = authority.context("elsewhere.example" if trusted else "localhost")
    outbound = Outbound(allow_insecure=True, ca_file=authority.file if trusted else None)
    async with receiving(tls=tls) as receiver, bench(tmp_path, outbound=outbound) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, attempt.error, attempt.status) == ("retrying", "tls_error", None)
        assert receiver.received == []


STATUSES: list[tuple[int, dict[str, str], str, float]] = [
    (301, {"Location": "https://example.com/"}, "redirect", 5),
    (307, {"Location": "http://127.0.0.1:1/"}, "redirect", 5),
    (300, {}, "http_status", 5),
    (304, {}, "http_status", 5),
    (400, {}, "http_status", 5),
    (404, {}, "http_status", 5),
    (429, {}, "http_status", 5),
    (429, {"Retry_After": "120"}, "http_status", 120),
    (429, {"Retry_After": "1"}, "http_status", 5),
    (429, {"Retry_After": "999999"}, "http_status", 36_000),
    (429, {"Retry_After": "soon"}, "http_status", 5),
    (500, {"Retry_After": "120"}, "http_status", 5),
    (503, {}, "http_status", 5),
    (503, {"Retry_After": "3600"}, "http_status", 3600),
]


@pytest.mark.parametrize(("code", "headers", "error", "wait"), STATUSES)
async def test_each_status_but_2xx_is_a_failure(
    tmp_path: Path, code: int, headers: dict[str, str], error: str, wait: float
):
    async with receiving(status(code, **headers)) as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        row, attempt = await core.attempted()
        assert (row.state, attempt.error, attempt.status) == ("retrying", error, code)
        assert attempt.response == (None if code == 304 else f"status {code}")  # it has no body
        assert next_due(row, attempt) == about(wait)
        assert len(receiver.received) == 1


async def test_each_wait_is_longer_until_the_delivery_is_exhausted(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        for count, delay_s in enumerate(DELAYS_S, start=1):
            row, attempt = await core.attempted(count)
            assert row.state == "retrying"
            assert next_due(row, attempt) == about(delay_s)
            core.clock.move(round(delay_s * 1200))
            await core.wake()
        row, _ = await core.attempted(len(DELAYS_S) + 1)
        assert (row.state, row.due) == ("exhausted", None)
        ids = {received.delivery_id for received in receiver.received}
        timestamps = {received.headers["webhook-timestamp"] for received in receiver.received}
        assert ids == {row.id}
        assert len(timestamps) == len(receiver.received) == 8  # signed anew each time


async def test_a_retry_that_succeeds_ends_the_delivery(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        await core.test_event(n=1)
        await core.attempted()
        receiver.answer = thanks
        core.clock.move(7_000)
        await core.wake()
        row, attempt = await core.attempted(2)
        assert (row.state, row.due, attempt.status) == ("succeeded", None, 200)
        assert receiver.received[0].body == receiver.received[1].body


async def test_gone_disables_the_endpoint_and_the_others_are_told(tmp_path: Path):
    async with receiving(status(410)) as gone, receiving() as other, bench(tmp_path) as core:
        id = await core.endpoint(gone.url)
        await core.endpoint(other.url, "webhook.endpoint.*")
        await core.test_event()
        (told,) = [received.event for received in await other.got(1, "webhook.endpoint.updated")]
        assert told["data"]["endpoint_id"] == id
        assert told["data"]["active"] is False
        assert "410" in told["data"]["reason"]
        record = await core.endpoint_record()
        assert (record["id"], record["active"]) == (id, False)
        assert record["disabled_reason"] == told["data"]["reason"]
        (row,) = await core.until(lambda: core.listed("cancelled"))
        assert row.endpoint_id == id
        (attempt,) = await core.until(lambda: core.attempts(row))
        assert (attempt.status, attempt.error) == (410, "http_status")
        assert gone.received[-1].type == "webhook.test"


async def test_gone_disables_endpoints_whose_owner_changes_them_just_then(tmp_path: Path):
    release = asyncio.Event()

    async def slow(received: Received) -> web.StreamResponse:
        await release.wait()
        return await status(410)(received)

    async with receiving(slow) as gone, receiving() as other, bench(tmp_path) as core:
        ids = [await core.endpoint(f"{gone.url}?{number}") for number in range(40)]
        moved = await core.endpoint(f"{gone.url}?moved")
        await core.test_event()
        await gone.got(41)
        await core.ask(ChangeEndpoint(moved, url=other.url))
        changes = [asyncio.create_task(core.ask(ChangeEndpoint(id, description="The same."))) for id in ids]
        release.set()
        await asyncio.gather(*changes)

        async def disabled() -> bool:
            return [endpoint["id"] for endpoint in await core.ask(ListEndpoints()) if endpoint["active"]] == [moved]

        await core.until(disabled)
        assert len(await core.until(lambda: core.listed("cancelled"))) <= 40
        core.clock.move(10_000)
        await core.wake()
        await other.got(1)


async def test_five_days_of_nothing_but_failure_disable_the_endpoint(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path, delays_s=(DAY / 1000,) * 10) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        for count in range(1, 6):
            row, _ = await core.attempted(count)
            assert row.state == "retrying"
            core.clock.move(round(1.2 * DAY))
            await core.wake()
        row, _ = await core.attempted(6)
        assert (row.state, row.due) == ("cancelled", None)
        assert "five days" in (await core.endpoint_record())["disabled_reason"]


async def test_one_success_in_five_days_keeps_the_endpoint(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path, delays_s=(DAY / 1000,) * 20) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        for count in range(1, 4):
            await core.attempted(count)
            core.clock.move(round(1.2 * DAY))
            await core.wake()
        first, _ = await core.attempted(4)
        receiver.answer = thanks
        await core.test_event()
        await core.until(lambda: core.listed("succeeded"))
        receiver.answer = status(500)
        core.clock.move(round(1.2 * DAY))
        await core.wake()

        async def tried_again() -> bool:
            return len(await core.attempts(first)) == 5

        await core.until(tried_again)
        assert (await core.endpoint_record())["active"]


async def test_ten_failures_in_a_row_open_the_breaker_and_waiting_uses_up_no_attempt(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path, delays_s=(100_000,)) as core:
        await core.endpoint(receiver.url)
        for number in range(40):
            await core.ask(SendTest("webhook.test", {"n": number}))
        await core.wake()
        await core.until(lambda: core.listed("retrying"))

        async def breaker_is_open() -> bool:
            return bool(open_until()) and not in_flight()

        def lane() -> dict[str, Any]:
            found = core.core.directory.inspect(DISPATCHER, DISPATCHER_KEY)
            assert found
            return found[1]["lanes"][0]

        def open_until() -> str | None:
            return lane()["breaker_open_until"]

        def in_flight() -> int:
            return lane()["open"]

        await core.until(breaker_is_open)
        tried = len(receiver.received)
        assert 10 <= tried < 10 + 16
        waiting = await core.listed("pending")
        assert len(waiting) == 40 - tried
        assert await core.attempts(*waiting) == []
        core.clock.move(31_000)
        await core.wake()
        await receiver.got(tried + 1)  # one probe, which fails

        async def probed() -> bool:
            return lane()["failures_in_row"] == tried + 1 and not in_flight()

        await core.until(probed)
        assert len(receiver.received) == tried + 1
        receiver.answer = thanks
        core.clock.move(31_000)
        await core.wake()

        async def all_sent() -> bool:
            return len(await core.listed("succeeded")) == 40 - tried - 1

        await core.until(all_sent)


async def test_an_open_breaker_does_not_stay_open_when_the_clock_is_set_back(tmp_path: Path):
    async with receiving(status(500)) as receiver, bench(tmp_path, delays_s=(100_000,)) as core:
        await core.endpoint(receiver.url)
        for number in range(12):
            await core.test_event(n=number)
        await receiver.got(10)

        async def breaker_is_open() -> bool:
            found = core.core.directory.inspect(DISPATCHER, DISPATCHER_KEY)
            assert found
            (lane,) = found[1]["lanes"]
            return bool(lane["breaker_open_until"]) and not lane["open"]

        await core.until(breaker_is_open)
        core.clock.move(-HOUR)
        receiver.answer = thanks
        await core.test_event(n=12)

        async def sent() -> bool:
            return len(await core.listed("succeeded")) == 1

        await core.until(sent)


async def test_at_most_sixteen_attempts_of_an_endpoint_are_in_flight(tmp_path: Path):
    at_once, most, release = 0, 0, asyncio.Event()

    async def slow(_: Received) -> web.StreamResponse:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if len(receiver.received) > 20:
            await release.wait()
        at_once -= 1
        return web.Response()

    async with receiving(slow) as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        for number in range(100):
            await core.ask(SendTest("webhook.test", {"n": number}))
        await receiver.got(20 + 16)
        for _ in range(20):
            await core.wake()
        assert len(receiver.received) == 36
        release.set()

        async def all_sent() -> bool:
            return len(await core.listed("succeeded")) == 100

        await core.until(all_sent)
        assert most == 16
        assert sorted(received.event["data"]["n"] for received in receiver.received) == list(range(100))


async def test_a_receiver_that_hangs_and_one_that_refuses_hold_up_nobody(tmp_path: Path):
    """The two have three times more deliveries than the healthy one, which gets all its own before their time-outs."""
    with refusing() as refused:
        async with raw_server(hang) as hanging, receiving() as healthy, bench(tmp_path, timeout_s=3600) as core:
            await core.endpoint(f"http://127.0.0.1:{hanging}/hook", "webhook.test", "quota.*")
            await core.endpoint(f"http://127.0.0.1:{refused}/hook", "webhook.test", "quota.*")
            for number in range(100):
                await core.ask(SendTest("quota.threshold.reached", {"n": number}))
            await core.endpoint(healthy.url)
            for number in range(50):
                await core.ask(SendTest("webhook.test", {"n": number}))
            assert len(await healthy.got(50)) == 50
            assert len(await core.listed("succeeded")) <= 50


async def test_pending_deliveries_of_a_disabled_endpoint_are_cancelled_and_enabling_does_not_bring_them_back(
    tmp_path: Path,
):
    async with receiving(status(500)) as receiver, bench(tmp_path) as core:
        id = await core.endpoint(receiver.url)
        await core.test_event()
        await core.attempted()
        await core.ask(ChangeEndpoint(id, active=False))
        row = await core.only()
        assert (row.state, row.due) == ("cancelled", None)
        with pytest.raises(StateConflict):
            await core.ask(RetryDelivery(row))
        await core.test_event()
        assert len(await core.listed()) == 1  # an inactive endpoint gets no deliveries
        receiver.answer = thanks
        await core.ask(ChangeEndpoint(id, active=True))
        core.clock.move(DAY)
        await core.wake()
        assert [row.state for row in await core.listed()] == ["cancelled"]
        await core.ask(RetryDelivery(row))
        (again,) = await core.until(lambda: core.listed("succeeded"))
        assert (again.event_id, again.endpoint_id) == (row.event_id, row.endpoint_id)
        assert again.id != row.id


async def test_a_success_that_came_after_the_endpoint_was_disabled_is_told_as_such(tmp_path: Path):
    release = asyncio.Event()

    async def slow(_: Received) -> web.StreamResponse:
        await release.wait()
        return web.Response()

    async with receiving(slow) as receiver, bench(tmp_path) as core:
        id = await core.endpoint(receiver.url)
        await core.test_event()
        await receiver.got(1)
        await core.ask(ChangeEndpoint(id, active=False))
        assert (await core.only()).state == "cancelled"
        release.set()
        row, attempt = await core.attempted()
        assert (row.state, attempt.status) == ("succeeded", 200)


async def test_recovery_queues_again_what_failed_and_goes_on_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recoveries, "CHUNK", 7)  # as if thousands had failed
    async with receiving(status(500)) as receiver:
        async with bench(tmp_path, delays_s=()) as core:
            id = await core.endpoint(receiver.url)
            for number in range(30):
                await core.ask(SendTest("webhook.test", {"n": number}))
                core.clock.move(31_000)  # past the breaker

            async def all_failed() -> bool:
                core.clock.move(31_000)
                await core.wake()
                return len(await core.listed("exhausted")) == 30

            await core.until(all_failed)
            (first, *_) = await core.listed()
            ((count, upto),) = await core.core.store.fetch(deliveries.failed_since(first.endpoint, 0))
            assert count == 30
        receiver.answer = thanks
        receiver.received.clear()
        async with bench(tmp_path, delays_s=()) as core:
            core.clock.move(DAY)
            number = first.endpoint
            await core.core.store.commit(Unit((deliveries.begin_recovery(number, 0, upto),)))  # as before a crash
        async with bench(tmp_path, delays_s=()) as core:
            core.clock.move(2 * DAY)
            await core.until(lambda: all_recovered(core))
            assert sorted(received.event["data"]["n"] for received in receiver.received) == list(range(30))
            assert await core.core.store.fetch(deliveries.failed_since(number, 0)) == [(0, 0)]
            assert await core.core.store.fetch(deliveries.next_recovery()) == []
            assert await core.ask(Recover(id, 0, upto, 0)) == 0


async def test_recoveries_close_together_queue_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recoveries, "CHUNK", 7)
    async with receiving(status(500)) as receiver, bench(tmp_path, delays_s=()) as core:
        id = await core.endpoint(receiver.url)
        for number in range(30):
            await core.ask(SendTest("webhook.test", {"n": number}))

        async def all_failed() -> bool:
            core.clock.move(31_000)  # past the breaker
            await core.wake()
            return len(await core.listed("exhausted")) == 30

        await core.until(all_failed)
        upto = (await core.listed())[0].position
        receiver.answer = thanks
        receiver.received.clear()
        core.clock.move(DAY)
        counted_at = await core.ask(FindRecoveries())
        assert await core.ask(Recover(id, 0, upto, 30, counted_at)) == 30
        with pytest.raises(RecoveredMeanwhile):  # it counted what is queued by now
            await core.ask(Recover(id, 0, upto, 30, counted_at))
        assert await core.ask(FindRecoveries()) != counted_at
        for _ in range(8):
            await core.ask(Recover(id, 0, upto, 30))
        await core.until(lambda: all_recovered(core))
        assert len(await core.listed()) == 60

        async def recovered() -> bool:
            return await core.core.store.fetch(deliveries.next_recovery()) == []

        await core.until(recovered)
        assert sorted(received.event["data"]["n"] for received in receiver.received) == list(range(30))


# finding what is due


async def insert(core: Bench, endpoint: str, place: int) -> None:
    """Store a delivery at a place, without a notice."""
    now = core.clock()
    await core.core.store.commit(
        Unit(
            (
                insert_event(EventRow(f"event-{place}", USER, "webhook.test", {"n": place}, now)),
                Write(
                    """
                    INSERT INTO deliveries (place, id, user_id, endpoint, event, state, due, created_at)
                    SELECT ?1, 'dlv_' || CAST(?1 AS text), endpoints.user_id, number, events.place, 'pending',
                           @typed(?2, bigint), @typed(?2, bigint)
                    FROM endpoints JOIN events ON events.id = 'event-' || CAST(@typed(?1, bigint) AS text)
                    WHERE endpoints.id = ?3
                    """,
                    (place, now, endpoint),
                    rows=1,
                ),
            )
        )
    )


@pytest.mark.parametrize("noticed", [True, False])
async def test_deliveries_that_appear_out_of_the_order_of_their_places_all_arrive(tmp_path: Path, noticed: bool):
    async with receiving() as receiver, bench(tmp_path) as core:
        id = await core.endpoint(receiver.url)
        places = [90, 50, 70, 10]
        for count, place in enumerate(places, start=1):
            await insert(core, id, place)
            if noticed:
                core.core.directory.tell(DISPATCHER, DISPATCHER_KEY, Woken(USER))
            else:  # as once a second
                await core.wake()
            await receiver.got(count)
        assert [received.event["data"]["n"] for received in receiver.received] == places


async def test_endpoints_are_looked_at_in_pages_at_the_start_and_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(due, "PAGE", 2)
    async with receiving(status(500)) as receiver:
        async with bench(tmp_path, delays_s=(3600,)) as core:
            ids = [await core.endpoint(f"{receiver.url}?{number}") for number in range(7)]
            await core.test_event()

            async def all_failed() -> bool:
                return len(await core.listed("retrying")) == len(ids)

            await core.until(all_failed)
        receiver.received.clear()
        async with bench(tmp_path) as core:  # nothing is due for an hour
            assert receiver.received == []
            receiver.answer = thanks
            for place, id in enumerate(ids, start=1000):
                await insert(core, id, place)

            async def all_succeeded() -> bool:
                await core.wake()
                return len(await core.listed("succeeded")) == len(ids)

            await core.until(all_succeeded)
        async with bench(tmp_path) as core:
            core.clock.move(2 * HOUR)
            core.core.directory.tell(DISPATCHER, DISPATCHER_KEY, Woken("usr_other"))  # looks at no page
            await receiver.got(2 * len(ids))
        assert len({received.delivery_id for received in receiver.received}) == 2 * len(ids)


async def test_an_endpoint_whose_secrets_can_t_be_opened_is_tried_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with receiving() as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        ((secrets,),) = await core.core.store.fetch(Query("SELECT secrets FROM endpoints", (), tuple))
        await core.core.store.commit(Unit((Write("UPDATE endpoints SET secrets = ?", (b"\0",)),)))
        await core.test_event()

        async def told(times: int) -> bool:
            return caplog.text.count("can't be opened") == times

        await core.until(lambda: told(1))
        for _ in range(5):
            await core.test_event()
        await asyncio.sleep(0.2)
        assert await told(1)
        core.clock.move(MINUTE)
        await core.wake()
        await core.until(lambda: told(2))
        await core.core.store.commit(Unit((Write("UPDATE endpoints SET secrets = ?", (secrets,)),)))
        core.clock.move(MINUTE)
        await core.wake()
        assert len(await receiver.got(6)) == 6


async def all_recovered(core: Bench) -> bool:
    return len(await core.listed("succeeded")) == 30


async def test_the_log_is_kept_for_thirty_days(tmp_path: Path):
    async with receiving() as receiver, bench(tmp_path) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        row, _ = await core.attempted()
        core.clock.move(29 * DAY)
        await forget_old_events(core.core)
        assert len(await core.listed()) == 1
        core.clock.move(2 * DAY)
        receiver.answer = status(500)
        await core.test_event()  # younger
        await core.until(lambda: core.listed("retrying"))
        await forget_old_events(core.core)
        assert [row.state for row in await core.listed()] == ["retrying"]
        assert await core.attempts(row) == []


async def test_while_the_store_takes_no_writes_nothing_is_sent_over_and_over(tmp_path: Path):
    broken = False

    def before_commit() -> None:
        if broken:
            raise OSError("the disk is full")

    async def last_of_its_kind(_: Received) -> web.StreamResponse:
        nonlocal broken
        broken = True
        return web.Response()

    async with receiving(last_of_its_kind) as receiver, bench(tmp_path, before_commit=before_commit) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        await receiver.got(1)

        async def stopped() -> bool:
            return core.core.directory.inspect(DISPATCHER, DISPATCHER_KEY) is None

        await core.until(stopped)
        for _ in range(5):
            with pytest.raises(StorageUnavailable):
                await core.wake()
        assert len(receiver.received) == 1
        receiver.answer = thanks
        broken = False
        await core.wake()
        row, _ = await core.attempted()
        assert row.state == "succeeded"
        assert len(receiver.received) == 2


async def test_a_sender_that_can_t_be_opened_is_opened_later_and_leaves_no_delivery_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    authorities = tmp_path / "authorities.pem"
    authorities.write_text("being replaced")
    outbound = Outbound(allow_insecure=True, ca_file=authorities)
    async with receiving() as receiver, bench(tmp_path, outbound=outbound) as core:
        await core.endpoint(receiver.url)
        await core.test_event()
        async with asyncio.timeout(30):
            while "the webhook sender can't be opened" not in caplog.text:
                await asyncio.sleep(0.005)
        assert receiver.received == []
        authorities.write_bytes(Authority(tmp_path).file.read_bytes())
        await core.wake()
        row, _ = await core.attempted()
        assert row.state == "succeeded"
        assert len(receiver.received) == 1


# the address of the connected socket


async def test_a_name_that_resolves_to_a_private_address_later_is_refused_at_the_attempt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """DNS rebinding: a public address when the endpoint is created, the gateway's own machine afterwards."""
    reached: list[bytes] = []

    async def trap(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        reached.append(await reader.read(10))

    async with raw_server(trap) as port, name_server("93.184.215.14", "127.0.0.1") as (server, dns):
        outbound = Outbound(lookups=asking(dns))
        url = f"https://rebinding.example.com:{port}/hook"
        assert await outbound.refusal(USER, url) is None
        async with bench(tmp_path, outbound=outbound) as core:
            await core.endpoint(url)
            await core.test_event()
            row, attempt = await core.attempted()
            assert (row.state, attempt.error, attempt.status) == ("retrying", "dns_failure", None)
        assert server.asked == 2
    assert reached == []
    assert f"rebinding.example.com is refused for user {USER}: 127.0.0.1 is loopback" in caplog.text


async def test_a_url_that_was_allowed_once_is_refused_at_the_attempt_when_it_no_longer_is(tmp_path: Path):
    async with receiving() as receiver:
        async with bench(tmp_path) as core:
            await core.endpoint(receiver.url)
        async with bench(tmp_path, outbound=Outbound()) as core:
            await core.test_event()
            row, attempt = await core.attempted()
            assert (row.state, attempt.error, attempt.status) == ("retrying", "address_refused", None)
        assert receiver.received == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"])
async def test_an_ip_literal_skips_resolvers_and_is_refused_where_the_socket_is_opened(host: str):
    outbound = Outbound()
    async with open_session(outbound, timeout_s=5) as session:
        with pytest.raises(OSError, match="not a globally routable"):
            await session.post(f"http://{host}:9/hook")


def test_secrets_are_whsec_and_32_bytes():
    secret = endpoints.signing.new_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


async def test_a_stop_while_the_dispatcher_starts_waits_for_nothing(tmp_path: Path):
    async with open_core(tmp_path, MovableClock()) as core:
        waking = asyncio.create_task(core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake()))
        await asyncio.sleep(0)
        (dispatcher,) = core.directory.statuses(DISPATCHER)
        assert dispatcher.life == "starting"
        assert await core.stop(20) == 0  # the number of actors that still had work when the time was over
        await waking
