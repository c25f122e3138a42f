"""Look-ups are shared fairly, and bounded."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator

import pytest

from actors.egress.lookups import Found, Lookups


class Server:
    """Resolves names in place of the system's resolver; `hung` ones block their thread until released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []
        self.changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def ask(self, host: str, family: int) -> list[Found]:
        self._loop.call_soon_threadsafe(self._note, host)
        if host.startswith("hung"):
            self.released.wait()
        if host.startswith("gone"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [Found(socket.AF_INET, 0, "192.0.2.1")]

    def _note(self, host: str) -> None:
        self.asked.append(host)
        self.changed.set()

    async def has_been_asked(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.asked) < count:
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.released.set()


def hang(lookups: Lookups, user: str, count: int) -> "list[asyncio.Task[list[Found]]]":
    return [asyncio.create_task(lookups.addresses(user, f"hung-{user}-{number}")) for number in range(count)]


async def test_one_user_has_no_more_than_its_share(server: Server):
    lookups = Lookups(server.ask, per_user=3)
    hung = hang(lookups, "mallory", 50)
    await server.has_been_asked(3)
    assert (await lookups.addresses("ada", "fine"))[0].address == "192.0.2.1"
    assert server.asked == ["hung-mallory-0", "hung-mallory-1", "hung-mallory-2", "fine"]
    server.released.set()
    assert len(await asyncio.gather(*hung)) == 50


async def test_where_all_places_hang_they_are_given_to_others_after_a_while(server: Server):
    lookups = Lookups(server.ask, slots=8, per_user=2, overdue_s=0.02)
    hung = [task for user in range(4) for task in hang(lookups, f"mallory-{user}", 20)]
    await server.has_been_asked(8)
    async with asyncio.timeout(30):
        await lookups.addresses("ada", "fine")
    assert len(server.asked) == 9  # a user with the maximum of overdue look-ups gets no other
    server.released.set()
    await asyncio.gather(*hung)


async def test_there_are_never_more_threads_than_the_bound(server: Server):
    lookups = Lookups(server.ask, slots=4, per_user=2, overdue_s=0.001, most_threads=10)
    hung = [task for user in range(20) for task in hang(lookups, f"user-{user}", 2)]
    await server.has_been_asked(10)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):  # while it waits, no other look-up starts
            await lookups.addresses("ada", "fine")
    assert len(server.asked) == 10
    server.released.set()
    await asyncio.gather(*hung)
    assert len(server.asked) == 40
    assert await lookups.addresses("ada", "fine")


async def test_users_with_many_names_take_turns(server: Server):
    lookups = Lookups(server.ask, slots=1, per_user=1)
    (first,) = hang(lookups, "grace", 1)
    many = [asyncio.create_task(lookups.addresses("ada", f"ada-{number}")) for number in range(5)]
    await asyncio.sleep(0)
    few = [asyncio.create_task(lookups.addresses("bob", f"bob-{number}")) for number in range(2)]
    await server.has_been_asked(1)
    server.released.set()
    await asyncio.gather(first, *many, *few)
    await server.has_been_asked(8)
    assert server.asked[1:] == ["ada-0", "bob-0", "ada-1", "bob-1", "ada-2", "ada-3", "ada-4"]


async def test_a_name_that_nobody_waits_for_any_more_is_not_asked(server: Server):
    lookups = Lookups(server.ask, per_user=1)
    (hung,) = hang(lookups, "ada", 1)
    await server.has_been_asked(1)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await lookups.addresses("ada", "given-up")
    server.released.set()
    await hung
    await lookups.addresses("ada", "fine")
    assert server.asked == ["hung-ada-0", "fine"]


async def test_one_that_gives_up_leaves_the_others_their_answer(server: Server):
    lookups = Lookups(server.ask)
    first, second = hang(lookups, "ada", 1) + hang(lookups, "ada", 1)
    await server.has_been_asked(1)
    first.cancel()
    server.released.set()
    assert await second
    assert server.asked == ["hung-ada-0"]


async def test_addresses_are_remembered_for_all_and_failures_are_not(server: Server):
    lookups = Lookups(server.ask)
    for user in ("ada", "bob"):
        assert await lookups.addresses(user, "fine")
        with pytest.raises(OSError, match="no such name"):
            await lookups.addresses(user, "gone")
    assert server.asked == ["fine", "gone", "gone"]


@pytest.mark.parametrize(("host", "family"), [("192.0.2.7", socket.AF_INET), ("2001:db8::7", socket.AF_INET6)])
async def test_an_address_is_not_looked_up(server: Server, host: str, family: int):
    (found,) = await Lookups(server.ask).addresses("ada", host)
    assert (found.address, found.family) == (host, family)
    assert server.asked == []
