"""The runtime: mailboxes, answers, failures and lifecycles of actors on the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pykka
import pytest

from actors.errors import InternalError, NameTaken, NotFound, Overloaded, StateConflict, StorageUnavailable
from actors.runtime.actor import BURST, Actor, handles
from actors.runtime.directory import Kind
from actors.runtime.durable import in_turn
from actors.runtime.future import AsyncFuture
from actors.runtime.local_directory import LocalDirectory
from actors.runtime.mailbox import MAILBOX_LIMIT, Ask, Envelope, Tell
from actors.runtime.notices import Announced, Reload
from persistence.store import Store, StoreUnavailable, Write
from tests.support.disk import (
    Counter,
    Disk,
    Incarnation,
    Increment,
    ReadCount,
    RefuseWithCount,
    TakeName,
    rows,
    spin,
    value,
)


class Say(Ask[list[str]], frozen=True):
    """Record a word; answered with all recorded words."""

    word: str


class Hear(Tell, frozen=True):
    """Record a word."""

    word: str


class Later(Ask[str], frozen=True):
    """Answered when the test resolves the actor's future of that name."""

    name: str


class Refuse(Ask[None], frozen=True):
    """Answered with an error of the product's."""


class Stumble(Ask[None], frozen=True):
    """Fails with an unexpected exception."""


class Trip(Tell, frozen=True):
    """Fails with an unexpected exception while nobody waits for it."""


class TalkToSelf(Ask[int], frozen=True):
    """Makes the actor tell itself a number of words; answered with the waiting messages."""

    words: int


class Unheard(Ask[None], frozen=True):
    """No actor has a handler for it."""


class Scribe(Actor):
    """Records words, and checks that it handles one message at a time."""

    kind = "scribe"
    made: int = 0

    def __init__(self, key: str, gate: asyncio.Event | None = None) -> None:
        super().__init__(key)
        self.gate = gate
        self.words: list[str] = []
        self.futures: dict[str, AsyncFuture[str]] = {}
        self.inside = 0
        self.life_story: list[str] = []

    async def on_begin(self) -> None:
        self.life_story.append("begins")
        if self.gate is not None:
            await self.gate.wait()
        self.life_story.append("has begun")

    async def on_end(self) -> None:
        self.life_story.append("ends")
        await asyncio.sleep(0)
        self.life_story.append("has ended")

    def on_receive(self, message: Any) -> Any:
        assert self.inside == 0, "two messages at a time"
        self.inside += 1
        try:
            return super().on_receive(message)
        finally:
            self.inside -= 1

    @handles(Say)
    def _say(self, message: Say) -> list[str]:
        self.words.append(message.word)
        self.life_story.append(message.word)
        return list(self.words)

    @handles(Hear)
    def _hear(self, message: Hear) -> None:
        self.words.append(message.word)

    @handles(Later)
    def _later(self, message: Later) -> AsyncFuture[str]:
        return self.futures.setdefault(message.name, AsyncFuture())

    @handles(Refuse)
    def _refuse(self, _: Refuse) -> None:
        raise StateConflict("not now")

    @handles(Stumble)
    def _stumble(self, _: Stumble) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    @handles(Trip)
    def _trip(self, _: Trip) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    @handles(TalkToSelf)
    def _talk_to_self(self, message: TalkToSelf) -> int:
        for number in range(message.words):
            self.tell_self(Hear(f"own {number}"))
        return self.waiting  # pyright: ignore[reportArgumentType]


class Troupe:
    """A directory with its actors in order of activation."""

    def __init__(self, make: Callable[[str], Actor]) -> None:
        self.made: list[Any] = []
        self.kind = "scribe"

        def factory(key: str) -> Actor:
            self.made.append(make(key))
            return self.made[-1]

        self.directory = LocalDirectory({"scribe": Kind(factory), "counter": Kind(factory)})

    async def ask(self, message: Ask[Any], key: str = "a", **options: Any) -> Any:
        return await self.directory.ask(self.kind, key, message, **options)

    def asking(self, message: Ask[Any], key: str = "a", **options: Any) -> "asyncio.Task[Any]":
        return asyncio.create_task(self.ask(message, key, **options))

    def tell(self, message: Tell, key: str = "a") -> None:
        self.directory.tell(self.kind, key, message)

    @property
    def last(self) -> Any:
        return self.made[-1]


@pytest.fixture
async def scribes() -> AsyncIterator[Troupe]:
    troupe = Troupe(Scribe)
    yield troupe
    await troupe.directory.close(0)


@pytest.fixture
def gate() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def slow_scribes(gate: asyncio.Event) -> AsyncIterator[Troupe]:
    """Scribes that start when the gate opens."""
    troupe = Troupe(lambda key: Scribe(key, gate))
    yield troupe
    gate.set()
    await troupe.directory.close(0)


@pytest.fixture
async def counters(store: Store, disk: Disk) -> AsyncIterator[Troupe]:
    troupe = Troupe(lambda key: Counter(key, store))
    troupe.kind = "counter"
    yield troupe
    disk.let_go()
    await troupe.directory.close(1)


async def errors_of(*tasks: "asyncio.Task[Any]") -> list[type[BaseException]]:
    """Wait for failing tasks; return their exceptions."""
    return [type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)]


# Messages


async def test_messages_are_handled_one_at_a_time_in_the_order_sent(scribes: Troupe):
    await scribes.ask(Say("first"))
    asks: list[asyncio.Task[Any]] = []
    for number in range(300):
        asks.append(scribes.asking(Say(f"asked {number}")))
        if number % 3 == 0:
            await asyncio.sleep(0)
            scribes.tell(Hear(f"told {number}"))
    await asyncio.gather(*asks)
    await spin()
    words = scribes.last.words
    assert [word for word in words if word.startswith("asked")] == [f"asked {number}" for number in range(300)]
    assert [word for word in words if word.startswith("told")] == [f"told {number}" for number in range(0, 300, 3)]
    assert len(words) == 401


async def test_an_ask_does_not_overtake_a_message_that_waits(scribes: Troupe):
    await scribes.ask(Say("first"))
    scribes.tell(Hear("told"))
    assert await scribes.ask(Say("asked")) == ["first", "told", "asked"]


async def test_an_ask_of_an_actor_with_nothing_to_do_is_answered_within_the_asker_s_step(scribes: Troupe):
    await scribes.ask(Say("first"))
    step = scribes.ask(Say("second"))
    with pytest.raises(StopIteration) as answered:
        step.send(None)
    assert answered.value.value == ["first", "second"]


async def test_a_burst_of_messages_lets_others_have_their_turn(scribes: Troupe):
    await scribes.ask(Say("first"))
    for number in range(900):
        scribes.tell(Hear(f"{number}"))
    steps = 0
    while len(scribes.last.words) < 901:
        before = len(scribes.last.words)
        await asyncio.sleep(0)
        assert len(scribes.last.words) - before < 450
        steps += 1
        assert steps < 1_000
    assert steps > 2


async def test_what_an_actor_does_on_an_answer_waits_until_the_handler_is_done(scribes: Troupe):
    await scribes.ask(Say("first"))
    first, second = scribes.asking(Later("x")), scribes.asking(Later("x"))
    await spin()
    scribes.last.futures["x"].then(lambda _: scribes.tell(Hear("in the callback")))
    scribes.last.futures["x"].set("done")
    assert await asyncio.gather(first, second) == ["done", "done"]
    assert await scribes.ask(Say("last")) == ["first", "in the callback", "last"]


async def test_a_returned_future_is_answered_when_it_resolves_and_the_mailbox_goes_on_meanwhile(scribes: Troupe):
    waiting = scribes.asking(Later("x"))
    assert await scribes.ask(Say("meanwhile")) == ["meanwhile"]
    assert await scribes.ask(Say("still")) == ["meanwhile", "still"]
    assert not waiting.done()
    scribes.last.futures["x"].set("at last")
    assert await waiting == "at last"


async def test_a_returned_future_that_fails_is_answered_with_its_error(scribes: Troupe):
    waiting = scribes.asking(Later("x"))
    await scribes.ask(Say("meanwhile"))
    scribes.last.futures["x"].fail(NotFound("gone"))
    with pytest.raises(NotFound, match="gone"):
        await waiting
    assert len(scribes.made) == 1


async def test_a_message_without_a_handler_is_a_fault(scribes: Troupe):
    with pytest.raises(InternalError):
        await scribes.ask(Unheard())


async def test_an_asker_that_went_away_takes_nothing_from_others(scribes: Troupe):
    gone, stays = scribes.asking(Later("x")), scribes.asking(Later("x"))
    await spin()
    gone.cancel()
    await spin()
    scribes.last.futures["x"].set("for who stayed")
    assert await stays == "for who stayed"
    assert gone.cancelled()


# Faults


async def test_a_refusal_is_answered_and_the_actor_goes_on(scribes: Troupe):
    await scribes.ask(Say("first"))
    with pytest.raises(StateConflict, match="not now"):
        await scribes.ask(Refuse())
    assert await scribes.ask(Say("second")) == ["first", "second"]
    assert len(scribes.made) == 1


async def test_an_unforeseen_fault_is_answered_5000_and_the_next_ask_starts_anew(scribes: Troupe):
    await scribes.ask(Say("first"))
    with pytest.raises(InternalError) as error:
        await scribes.ask(Stumble())
    assert error.value.internal_code == 5000
    assert "nobody foresaw" not in error.value.note
    assert await scribes.ask(Say("second")) == ["second"]
    assert len(scribes.made) == 2
    assert scribes.made[0].incarnation < scribes.made[1].incarnation


async def test_messages_behind_a_fault_are_handled_by_the_next_incarnation_in_order(slow_scribes: Troupe, gate):
    before = slow_scribes.asking(Say("before"))
    fault = slow_scribes.asking(Stumble())
    after = [slow_scribes.asking(Say(f"after {number}")) for number in range(5)]
    await spin()
    gate.set()
    assert await before == ["before"]
    assert await errors_of(fault) == [InternalError]
    assert (await asyncio.gather(*after))[-1] == [f"after {number}" for number in range(5)]
    assert len(slow_scribes.made) == 2


async def test_a_fault_on_a_tell_stops_the_actor_too(scribes: Troupe):
    await scribes.ask(Say("first"))
    scribes.tell(Unheard())  # pyright: ignore[reportArgumentType]
    await spin()
    assert await scribes.ask(Say("second")) == ["second"]


# Mailboxes


async def test_a_full_mailbox_refuses_at_once_and_forgets_nothing(slow_scribes: Troupe, gate: asyncio.Event):
    waiting = [slow_scribes.asking(Say(f"{number}")) for number in range(MAILBOX_LIMIT)]
    await spin(2)
    with pytest.raises(Overloaded) as error:
        await slow_scribes.ask(Say("one too many"))
    assert error.value.internal_code == 5003
    assert error.value.retry_after
    gate.set()
    answers = await asyncio.gather(*waiting)
    assert answers[-1] == [f"{number}" for number in range(MAILBOX_LIMIT)]
    assert "one too many" not in await slow_scribes.ask(Say("last"))


async def test_a_kind_of_actor_may_have_a_smaller_mailbox(gate: asyncio.Event):
    class Choosy(Scribe):
        mailbox_limit = 3

    troupe = Troupe(lambda key: Choosy(key, gate))
    waiting = [troupe.asking(Say(f"{number}")) for number in range(3)]
    await spin(2)
    refused = troupe.asking(Say("one too many"))
    await spin()
    gate.set()
    assert await errors_of(refused) == [Overloaded]
    assert len(await asyncio.gather(*waiting)) == 3
    await troupe.directory.close(1)


async def test_an_actor_may_tell_itself_more_than_its_mailbox_takes(scribes: Troupe):
    await scribes.ask(Say("first"))
    more = MAILBOX_LIMIT + 2 * BURST
    assert await scribes.ask(TalkToSelf(more)) == more
    with pytest.raises(Overloaded):
        await scribes.ask(Say("too much"))
    while scribes.last.waiting:
        await asyncio.sleep(0)
    words = await scribes.ask(Say("last"))
    assert words == ["first", *(f"own {number}" for number in range(more)), "last"]


async def test_an_ask_whose_actor_fails_on_what_was_ahead_is_answered_by_the_next_incarnation(scribes: Troupe):
    await scribes.ask(Say("first"))
    for message in (Hear("ahead"), Trip(), Hear("behind")):
        scribes.tell(message)
    assert await scribes.ask(Say("last")) == ["behind", "last"]
    assert [actor.words for actor in scribes.made] == [["first", "ahead"], ["behind", "last"]]


async def test_a_tell_that_finds_the_mailbox_full_stops_the_actor_because_it_missed_something(scribes: Troupe):
    await scribes.ask(Say("first"))
    for number in range(MAILBOX_LIMIT):
        scribes.tell(Hear(f"{number}"))
    scribes.tell(Hear("missed"))
    assert len(scribes.made) == 2
    while len(scribes.last.words) < MAILBOX_LIMIT:
        await asyncio.sleep(0)
    assert (await scribes.ask(Say("anew")))[-1] == "anew"


# Deadlines


async def test_an_ask_that_waits_too_long_is_answered_and_never_carried_out(slow_scribes: Troupe, gate: asyncio.Event):
    hurried = slow_scribes.asking(Say("hurried"), timeout=0.01)
    patient = slow_scribes.asking(Say("patient"), timeout=30)
    assert await errors_of(hurried) == [Overloaded]
    assert not patient.done()
    gate.set()
    assert await patient == ["patient"]


async def test_an_ask_whose_future_never_resolves_is_answered_when_its_time_is_up(scribes: Troupe):
    with pytest.raises(Overloaded, match="may still be carried out"):
        await scribes.ask(Later("never"), timeout=0.5)  # enough for its turn to come on a busy machine
    assert await scribes.ask(Say("the actor goes on")) == ["the actor goes on"]


# Lives


async def test_nothing_is_handled_before_the_actor_has_begun_or_after_it_ends(slow_scribes: Troupe, gate):
    asked = slow_scribes.asking(Say("a word"))
    await spin()
    scribe = slow_scribes.last
    assert scribe.life_story == ["begins"]
    gate.set()
    await asked
    slow_scribes.directory.deliver([Reload("scribe", ("a",))])
    await scribe.stopped
    assert scribe.life_story == ["begins", "has begun", "a word", "ends", "has ended"]


@pytest.mark.parametrize(("raised", "answered"), [(NotFound("gone"), NotFound), (OSError("broken"), InternalError)])
async def test_an_actor_that_can_not_load_answers_all_that_waited_with_its_error(
    gate: asyncio.Event, raised: Exception, answered: type[Exception]
):
    class Unloadable(Scribe):
        async def on_begin(self) -> None:
            await gate.wait()
            raise raised

    troupe = Troupe(Unloadable)
    waiting = [troupe.asking(Say(f"{number}")) for number in range(50)]
    await spin()
    gate.set()
    assert await errors_of(*waiting) == [answered] * 50
    assert len(troupe.made) == 1
    with pytest.raises(answered):
        await troupe.ask(Say("again"))
    assert len(troupe.made) == 2
    assert len(troupe.directory) == 0
    await troupe.directory.close(0)


async def test_an_actor_that_stops_hands_back_what_it_did_not_handle(gate: asyncio.Event):
    scribe, handed_back = Scribe("a", gate), list[Envelope]()
    scribe.begin(None, lambda _, leftovers: handed_back.extend(leftovers))
    futures: list[AsyncFuture[Any]] = [AsyncFuture() for _ in range(3)]
    for number, future in enumerate(futures):
        scribe.deliver(Envelope(Say(f"{number}"), future))
    scribe.retire()
    gate.set()
    await scribe.stopped
    assert [envelope.message for envelope in handed_back] == [Say("0"), Say("1"), Say("2")]
    assert [envelope.reply_to for envelope in handed_back] == futures
    assert not any(future.done() for future in futures)


async def test_an_actor_that_nobody_supervises_answers_what_it_did_not_handle(gate: asyncio.Event):
    scribe, future = Scribe("a", gate), AsyncFuture[Any]()
    scribe.begin(None, None)
    scribe.deliver(Envelope(Say("0"), future))
    scribe.retire()
    gate.set()
    await scribe.stopped
    assert isinstance(future.error, Overloaded)


async def test_what_an_actor_told_itself_ends_with_its_incarnation(scribes: Troupe):
    await scribes.ask(Say("first"))
    await scribes.ask(TalkToSelf(3))
    scribes.directory.deliver([Reload("scribe", ("a",))])
    assert await scribes.ask(Say("of the next")) == ["of the next"]


async def test_an_actor_that_is_stopped_while_it_begins_still_lets_go_of_what_it_took(slow_scribes: Troupe, gate):
    asked = slow_scribes.asking(Say("a word"))
    await spin()
    slow_scribes.directory.deliver([Reload("scribe", ("a",))])
    gate.set()
    assert await asked == ["a word"]
    await slow_scribes.made[0].stopped
    assert slow_scribes.made[0].life_story == ["begins", "has begun", "ends", "has ended"]


async def test_a_fault_in_on_end_does_not_keep_the_key_from_starting_anew():
    class BadLoser(Scribe):
        async def on_end(self) -> None:
            raise OSError("will not go")

    troupe = Troupe(BadLoser)
    await troupe.ask(Say("first"))
    troupe.directory.deliver([Reload("scribe", ("a",))])
    assert await troupe.ask(Say("second")) == ["second"]
    await troupe.directory.close(1)


async def test_a_last_state_that_the_store_does_not_take_is_told_in_one_line(caplog: pytest.LogCaptureFixture):
    class Touching(Scribe):
        async def on_end(self) -> None:
            raise StoreUnavailable("the database can't be reached")

    troupe = Troupe(Touching)
    await troupe.ask(Say("first"))
    await troupe.directory.close(1)
    (record,) = [record for record in caplog.records if "ended without its last state" in record.message]
    assert record.message.endswith(": the database can't be reached")
    assert record.exc_info is None


# Futures and pykka's own references


async def test_a_future_keeps_its_first_resolution_and_calls_back_in_order():
    future: AsyncFuture[int] = AsyncFuture()
    calls: list[str] = []
    future.then(lambda done: calls.append(f"first {done.get()}"))
    future.then(lambda done: calls.append(f"second {done.get()}"))
    with pytest.raises(pykka.Timeout):
        future.get()
    future.set(1)
    future.set(2)
    future.fail(NotFound("too late"))
    future.then(lambda done: calls.append(f"third {done.get()}"))
    assert calls == ["first 1", "second 1", "third 1"]
    assert await future == future.get() == 1


async def test_a_callback_that_fails_keeps_no_later_one_from_being_called_and_its_error_reaches_the_resolver():
    future: AsyncFuture[int] = AsyncFuture()
    calls: list[int] = []

    def fails(_: object) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    future.then(fails)
    future.then(lambda done: calls.append(done.get()))
    with pytest.raises(ZeroDivisionError):
        future.set(1)
    assert calls == [1]


async def answer_to(reference: pykka.ActorRef[Any], message: Any) -> Any:
    """Ask through pykka's reference, with a time limit."""
    future = reference.ask(message, block=False)
    assert isinstance(future, AsyncFuture)
    async with asyncio.timeout(30):
        return await future


async def test_pykka_s_own_reference_asks_and_tells():
    scribe = Scribe("by pykka")
    scribe.begin(None, None)
    reference = scribe.actor_ref
    reference.tell(Hear("told"))
    assert await answer_to(reference, Say("asked")) == ["told", "asked"]
    reference.tell(Hear("told again"))
    await spin()
    assert scribe.words == ["told", "asked", "told again"]
    assert await answer_to(reference, Say("last")) == ["told", "asked", "told again", "last"]
    with pytest.raises(StateConflict):
        await answer_to(reference, Refuse())
    assert reference.is_alive()
    assert reference.actor_urn == "urn:parley:scribe:by pykka"
    scribe.retire()
    await scribe.stopped


async def test_pykka_s_own_start_makes_an_actor_that_answers():
    reference = Scribe.start("by pykka")
    assert await answer_to(reference, Say("asked")) == ["asked"]


async def test_pykka_s_own_reference_refuses_a_dead_actor():
    scribe = Scribe("by pykka")
    scribe.begin(None, None)
    await spin()
    scribe.retire()
    assert not scribe.actor_ref.is_alive()
    with pytest.raises(pykka.ActorDeadError):
        scribe.actor_ref.tell(Hear("to nobody"))
    with pytest.raises(pykka.ActorDeadError):
        await answer_to(scribe.actor_ref, Say("to nobody"))


# Durable actors


async def test_a_change_is_answered_when_it_is_stored(counters: Troupe, store: Store, disk: Disk):
    await counters.ask(ReadCount())
    disk.hold()
    change = counters.asking(Increment())
    await disk.reached()
    await spin()
    assert not change.done()
    assert await rows(store, "SELECT * FROM increments") == []
    disk.let_go()
    assert await change == 1
    assert await rows(store, "SELECT key, n FROM counters") == [("a", 1)]


async def test_a_read_that_saw_unstored_state_is_answered_after_the_commit(counters: Troupe, disk: Disk):
    await counters.ask(ReadCount())
    disk.hold()
    change = counters.asking(Increment())
    await disk.reached()
    read, refusal = counters.asking(ReadCount()), counters.asking(RefuseWithCount())
    await spin()
    assert not read.done()
    assert not refusal.done()
    disk.let_go()
    assert await read == 1
    with pytest.raises(NotFound, match="there are 1"):
        await refusal
    assert change.done()


async def test_a_read_of_what_a_later_batch_holds_waits_for_that_one(counters: Troupe, store: Store, disk: Disk):
    await counters.ask(ReadCount())
    disk.hold()
    first = counters.asking(Increment())
    await disk.reached()
    second = counters.asking(Increment())
    read = counters.asking(ReadCount())
    read.add_done_callback(lambda _: stored_then.append(first.done() and second.done()))
    stored_then: list[bool] = []
    await spin()
    disk.let_go()
    assert await asyncio.gather(first, second, read) == [1, 2, 2]
    assert stored_then == [True]


async def test_a_read_that_saw_unstored_state_fails_with_the_commit(counters: Troupe, store: Store, disk: Disk):
    assert await counters.ask(Increment()) == 1
    disk.hold()
    change = counters.asking(Increment())
    await disk.reached()
    read, refusal = counters.asking(ReadCount()), counters.asking(RefuseWithCount())
    await spin()
    disk.let_go(failing=True)
    assert await errors_of(change, read, refusal) == [StorageUnavailable] * 3
    assert await counters.ask(ReadCount()) == 1
    assert await value(store, "SELECT n FROM counters") == 1
    assert len(counters.made) == 2


async def test_changes_queued_behind_a_failed_one_fail_too_and_the_next_incarnation_starts_from_the_store(
    counters: Troupe, store: Store, disk: Disk
):
    assert await counters.ask(Increment()) == 1
    disk.hold()
    first = counters.asking(Increment())
    await disk.reached()
    behind = [counters.asking(Increment()) for _ in range(10)]
    await spin()
    disk.let_go(failing=True)
    assert await errors_of(first, *behind) == [StorageUnavailable] * 11
    assert await counters.ask(Increment()) == 2
    assert await rows(store, "SELECT n FROM counters") == [(2,)]
    assert await value(store, "SELECT count(*) FROM increments") == 2


async def test_a_change_that_comes_while_a_failed_incarnation_ends_is_made_by_the_next(
    counters: Troupe, store: Store, disk: Disk
):
    await counters.ask(Increment())
    disk.hold()
    doomed = counters.asking(Increment())
    await disk.reached()
    follow_up: list[asyncio.Task[Any]] = []
    doomed.add_done_callback(lambda _: follow_up.append(counters.asking(Increment())))
    disk.let_go(failing=True)
    assert await errors_of(doomed) == [StorageUnavailable]
    await spin(1)
    assert await follow_up[0] == 2
    assert await value(store, "SELECT count(*) FROM increments") == 2


async def test_a_refused_name_is_answered_with_its_error_and_the_actor_goes_on(counters: Troupe, store: Store):
    await counters.ask(Increment(), "a")
    await counters.ask(Increment(), "b")
    await counters.ask(TakeName("rex"), "a")
    incarnation = await counters.ask(Incarnation(), "b")
    with pytest.raises(NameTaken):
        await counters.ask(TakeName("rex"), "b")
    assert await counters.ask(TakeName("fido"), "b") == ("fido", 1)
    assert await counters.ask(Incarnation(), "b") == incarnation
    assert await rows(store, "SELECT name, key FROM names ORDER BY name") == [("fido", "b"), ("rex", "a")]


async def test_the_answer_of_a_change_that_may_be_refused_does_not_show_what_an_earlier_unit_failed_to_store(
    counters: Troupe, store: Store, disk: Disk
):
    await counters.ask(Increment())
    disk.hold()
    doomed = counters.asking(Increment())
    await disk.reached()
    naming = counters.asking(TakeName("rex"))
    await spin()
    disk.let_go(failing=True)
    assert await errors_of(doomed) == [StorageUnavailable]
    (answer,) = await asyncio.gather(naming, return_exceptions=True)
    # An error says that nothing was done, so it must be true.
    stored = await rows(store, "SELECT name FROM names") == [("rex",)]
    assert answer == ("rex", 1) if stored else isinstance(answer, StorageUnavailable), answer
    assert await value(store, "SELECT n FROM counters") == 1


async def test_the_answer_of_a_change_that_may_be_refused_does_not_show_what_a_later_unit_fails_to_store(
    counters: Troupe, store: Store, disk: Disk
):
    await counters.ask(Increment())
    disk.hold()
    naming = counters.asking(TakeName("rex"))
    await disk.reached()
    doomed = counters.asking(Increment())
    await spin()
    failures = iter([False, True])
    disk.fails = lambda: next(failures, False)
    disk.let_go()
    assert await errors_of(doomed) == [StorageUnavailable]
    (answer,) = await asyncio.gather(naming, return_exceptions=True)
    # An error says that nothing was done, so it must be true.
    stored = await rows(store, "SELECT name FROM names") == [("rex",)]
    assert answer == ("rex", 1) if stored else isinstance(answer, StorageUnavailable), answer
    assert await value(store, "SELECT n FROM counters") == 1


@pytest.mark.parametrize("where", ["applied", "reply", "on_stored"])
async def test_a_fault_after_the_commit_is_answered_and_leaves_no_actor_that_never_answers(
    counters: Troupe, store: Store, where: str
):
    class Trip(Ask[None], frozen=True):
        pass

    class Clumsy(Counter):
        @handles(Trip)
        def _trip(self, _: Trip) -> AsyncFuture[None]:
            def trips() -> None:
                raise ZeroDivisionError("nobody foresaw this")

            self.n += 1
            notices = (Announced(Hear("stored")),)
            if where == "applied":
                return self.commit(applied=trips, notices=notices)
            return self.commit(reply=trips, notices=notices) if where == "reply" else self.commit(notices=notices)

        def on_stored(self) -> None:
            if where == "on_stored":
                raise ZeroDivisionError("nobody foresaw this")

    troupe = Troupe(lambda key: Clumsy(key, store))
    troupe.kind = "counter"
    heard: list[Hear] = []
    troupe.directory.listen(Hear, heard.append)
    with pytest.raises(InternalError):
        await troupe.ask(Trip(), timeout=2)
    # a `reply` is made before the unit is submitted
    assert heard == ([] if where == "reply" else [Hear("stored")])
    assert await troupe.ask(ReadCount(), timeout=2) == 0
    await troupe.directory.close(1)


async def test_a_stopping_durable_actor_is_gone_only_when_its_units_are_answered(counters: Troupe, disk: Disk):
    await counters.ask(Increment())
    disk.hold()
    change = counters.asking(Increment())
    await disk.reached()
    first = counters.last
    counters.directory.deliver([Reload("counter", ("a",))])
    read = counters.asking(ReadCount())
    await spin()
    assert not first.stopped.done()
    assert not read.done()
    disk.let_go()
    assert await change == 2
    assert await read == 2
    assert first.stopped.done()
    assert counters.last is not first


class ShowNames(Ask[str], frozen=True):
    """Store a name; answered with all names in memory before."""

    name: str


class Namer(Counter):
    """Takes names in turn."""

    names = ""

    @handles(ShowNames)
    @in_turn
    def _show(self, message: ShowNames) -> AsyncFuture[str]:
        def applied() -> None:
            self.names += message.name

        shown = self.names
        return self.commit_or_refuse(
            Write("INSERT INTO names (name, key) VALUES (?, ?)", (message.name, self.key)),
            reply=lambda: shown,
            applied=applied,
            constraint_errors={"names.name": lambda: NameTaken("it is taken")},
        )


@pytest.fixture
async def namers(store: Store, disk: Disk) -> AsyncIterator[Troupe]:
    troupe = Troupe(lambda key: Namer(key, store))
    troupe.kind = "counter"
    await troupe.ask(Increment())
    yield troupe
    disk.let_go()
    await troupe.directory.close(1)


async def test_changes_in_turn_are_made_in_the_order_sent_and_know_all_that_were_stored(namers: Troupe, disk: Disk):
    disk.hold()
    changes = [namers.asking(ShowNames(name)) for name in "abbcbd"]
    await disk.reached()
    assert await namers.ask(ReadCount()) == 1  # meanwhile
    assert namers.last.waiting == 5
    disk.let_go()
    answers = await asyncio.gather(*changes, return_exceptions=True)
    assert [answer for answer in answers if isinstance(answer, str)] == ["", "a", "ab", "abc"]
    assert [type(answer) for answer in answers if not isinstance(answer, str)] == [NameTaken] * 2
    assert namers.last.waiting == namers.last.changing == 0


async def test_as_many_changes_may_wait_for_their_turn_as_a_mailbox_holds(namers: Troupe, disk: Disk):
    disk.hold()
    changes = [namers.asking(ShowNames(f"{number} ")) for number in range(MAILBOX_LIMIT + 2)]
    await disk.reached()
    disk.let_go()
    answers = await asyncio.gather(*changes, return_exceptions=True)
    assert [type(answer) for answer in answers] == [str] * (MAILBOX_LIMIT + 1) + [Overloaded]


async def test_a_change_that_waits_for_its_turn_is_made_by_the_next_incarnation(namers: Troupe, disk: Disk):
    disk.hold()
    first, second = namers.asking(ShowNames("a")), namers.asking(ShowNames("b"))
    await disk.reached()
    namers.directory.deliver([Reload("counter", ("a",))])
    disk.let_go()
    assert await asyncio.gather(first, second) == ["", ""]
    assert namers.made[0].names == "a"
    assert namers.last.names == "b"
