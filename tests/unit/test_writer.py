"""The writer, through its store: group commit, a savepoint per unit, refusals, fencing, merged runs."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.errors import NameTaken, StorageUnavailable
from actors.runtime.directory import Kind
from actors.runtime.local_directory import LocalDirectory
from persistence import conversations
from persistence.batches import in_rows, planned
from persistence.conversations import MessageRow
from persistence.store import FOREIGN_KEY, ROWS, Fenced, Query, Settled, Store, StoreUnavailable, Unit, Write, not_null
from tests.support.disk import Counter, Disk, Increment, ReadCount, open_store, rows, spin, value
from tests.support.stores import ON_POSTGRES

Outcome = Exception | None

NOTE = "INSERT INTO notes (id, text, number) VALUES (?, ?, ?)"
NOTE_MANY = (
    "INSERT INTO notes (id, text, number) SELECT id, text, number FROM"
    " @rows(?, id bigint, text text, number bigint) AS given"
)

TYPES = "@sqlite(typeof(text), typeof(number))@postgres(0, 0)"
"""PostgreSQL's columns have one type."""


class NoSuchNote(Exception):
    """A refusal defined by the tests."""


@pytest.fixture
async def store(tmp_path: Path, disk: Disk) -> AsyncIterator[Store]:
    async with open_store(tmp_path, disk) as store:
        await store.commit(
            Unit(
                (
                    Write(
                        "@sqlite(CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, number INTEGER) STRICT)"
                        "@postgres(CREATE TABLE notes (id bigint PRIMARY KEY, text text, number bigint))",
                        (),
                    ),
                    Write(
                        "CREATE TABLE seen (@sqlite(place INTEGER PRIMARY KEY AUTOINCREMENT)"
                        "@postgres(place bigint GENERATED ALWAYS AS IDENTITY), id INTEGER NOT NULL)",
                        (),
                    ),
                    Write("CREATE TABLE replies (note BIGINT NOT NULL REFERENCES notes (id))", ()),
                )
            )
        )
        yield store


def note(id: int, text: str | None = "", number: int | None = None, *, many: bool = False) -> Write:
    return Write(NOTE, (id, text, number), many=NOTE_MANY if many else None)


def unit(*writes: Write, by: int | tuple[int, ...] = (), **constraint_errors: Callable[[], Exception]) -> Unit:
    return Unit(tuple(writes), (by,) if isinstance(by, int) else by, constraint_errors)


class Submitted:
    """Submitted units and their outcomes."""

    def __init__(self, store: Store, units: Sequence[Unit]) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.order: list[int] = []
        self._all = asyncio.Event()
        self._count = len(units)
        for number, submitted in enumerate(units):
            store.submit(submitted, self._settler(number))

    def _settler(self, number: int) -> Settled:
        def settled(outcome: Outcome) -> None:
            assert number not in self.outcomes, "settled twice"
            self.outcomes[number] = outcome
            self.order.append(number)
            if len(self.order) == self._count:
                self._all.set()

        return settled

    async def all(self) -> list[Outcome]:
        """Wait for all; return their outcomes in order of submission."""
        await asyncio.wait_for(self._all.wait(), 60)
        return [self.outcomes[number] for number in range(self._count)]


def kinds(outcomes: Sequence[Outcome]) -> list[type[Exception] | None]:
    return [None if outcome is None else type(outcome) for outcome in outcomes]


async def in_one_batch(store: Store, disk: Disk, units: Sequence[Unit]) -> list[Outcome]:
    """Submit units as one transaction, by queuing them behind a blocked batch."""
    disk.hold()
    ahead = Submitted(store, [unit(Write("UPDATE health SET checks = checks + 1", ()))])
    await disk.reached()
    batches = store.stats().batches
    submitted = Submitted(store, units)
    disk.let_go()
    await ahead.all()
    outcomes = await submitted.all()
    assert store.stats().batches == batches + 2
    return outcomes


async def ids(store: Store) -> list[int]:
    return [id for (id,) in await rows(store, "SELECT id FROM notes ORDER BY id")]


# Order


async def test_units_commit_and_are_answered_in_the_order_of_submission(store: Store):
    count = 2_500
    submitted = Submitted(store, [unit(Write("INSERT INTO seen (id) VALUES (?)", (id,))) for id in range(count)])
    assert kinds(await submitted.all()) == [None] * count
    assert submitted.order == list(range(count))
    assert [id for (id,) in await rows(store, "SELECT id FROM seen ORDER BY place")] == list(range(count))
    assert store.stats().waiting == 0
    assert store.stats().batches < 100


async def test_units_of_many_tasks_share_transactions(store: Store):
    before = store.stats()
    await asyncio.gather(*(store.commit(unit(note(id))) for id in range(400)))
    after = store.stats()
    assert after.units - before.units == 400
    assert after.batches - before.batches < 40


async def test_a_unit_is_settled_only_when_readers_see_it(store: Store):
    for id in range(50):
        await store.commit(unit(note(id), note(id + 1_000)))
        assert await value(store, "SELECT count(*) FROM notes") == 2 * (id + 1)


async def test_a_unit_s_caller_that_fails_on_its_outcome_takes_nothing_from_others(store: Store):
    def fails(_: Outcome) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    store.submit(unit(note(1)), fails)
    assert kinds(await Submitted(store, [unit(note(2))]).all()) == [None]
    assert await ids(store) == [1, 2]


async def test_what_a_unit_s_caller_submits_on_its_outcome_is_committed_too(store: Store):
    ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    store.submit(unit(note(1)), lambda _: store.submit(unit(note(2)), ended.set_result))
    assert await asyncio.wait_for(ended, 30) is None
    assert await ids(store) == [1, 2]


# Savepoints and refusals


async def test_a_unit_that_is_refused_leaves_nothing_and_hurts_no_other_in_its_batch(store: Store, disk: Disk):
    await store.commit(unit(note(50)))
    outcomes = await in_one_batch(
        store, disk, [unit(note(1), note(2)), unit(note(3), note(50), note(4)), unit(note(5)), unit(note(6), note(7))]
    )
    assert kinds(outcomes) == [None, StoreUnavailable, None, None]
    assert await ids(store) == [1, 2, 5, 6, 7, 50]


@pytest.mark.parametrize(
    ("constraint", "write"),
    [
        ("notes.id", note(50)),
        (FOREIGN_KEY, Write("INSERT INTO replies (note) VALUES (?)", (99,))),
        (not_null("replies.note"), Write("INSERT INTO replies (note) VALUES (NULL)", ())),
        (ROWS, Write("UPDATE notes SET text = '' WHERE id = ?", (99,), rows=1)),
    ],
)
async def test_an_expected_refusal_becomes_its_error_and_fences_nobody(
    store: Store, disk: Disk, constraint: str, write: Write
):
    await store.commit(unit(note(50)))
    constraint_errors: dict[str, Callable[[], Exception]] = {constraint: lambda: NoSuchNote("expected")}
    refused = Unit((note(1), write, note(2)), (7,), constraint_errors)
    outcomes = await in_one_batch(store, disk, [refused, unit(note(3), by=7), refused, unit(note(4), by=7)])
    assert kinds(outcomes) == [NoSuchNote, None, NoSuchNote, None]
    assert kinds(await Submitted(store, [unit(note(5), by=7)]).all()) == [None]
    assert await ids(store) == [3, 4, 5, 50]


async def test_an_error_that_can_not_be_made_costs_its_unit_alone(
    store: Store, disk: Disk, caplog: pytest.LogCaptureFixture
):
    def fails() -> Exception:
        raise ZeroDivisionError("nobody foresaw this")

    await store.commit(unit(note(1)))
    refused = Unit((note(2), note(1)), (7,), {"notes.id": fails})
    outcomes = await in_one_batch(store, disk, [unit(note(3)), refused, unit(note(4), by=7)])
    assert kinds(outcomes) == [None, StoreUnavailable, None]
    assert await ids(store) == [1, 3, 4]
    assert kinds(await Submitted(store, [refused]).all()) == [StoreUnavailable]  # alone in its batch
    assert kinds(await Submitted(store, [unit(note(5), by=7)]).all()) == [None]
    assert "nobody foresaw this" in caplog.text


async def test_the_log_tells_which_write_has_touched_another_number_of_rows(
    store: Store, caplog: pytest.LogCaptureFixture
):
    lost = Write("UPDATE notes SET text = '' WHERE id = ?", (99,), rows=1)
    assert kinds(await Submitted(store, [Unit((note(1), lost), (7,))]).all()) == [StoreUnavailable]
    assert "a unit failed: 0 rows touched instead of 1: UPDATE notes SET" in caplog.text


async def test_a_refusal_that_the_unit_did_not_name_is_a_failure(store: Store):
    await store.commit(unit(note(50)))
    constraint_errors: dict[str, Callable[[], Exception]] = {"notes.text": lambda: NoSuchNote("another constraint")}
    outcomes = await Submitted(store, [Unit((note(50),), (7,), constraint_errors), unit(note(1), by=7)]).all()
    assert kinds(outcomes) == [StoreUnavailable, Fenced]


async def test_a_write_that_touches_as_many_rows_as_it_names_is_stored(store: Store):
    await store.commit(unit(note(1), note(2), Write("UPDATE notes SET text = 'both'", (), rows=2)))
    assert await rows(store, "SELECT text FROM notes") == [("both",), ("both",)]


async def test_commit_raises_what_the_unit_was_refused_with(store: Store):
    await store.commit(unit(note(1)))
    constraint_errors: dict[str, Callable[[], Exception]] = {"notes.id": lambda: NameTaken("taken")}
    with pytest.raises(NameTaken):
        await store.commit(Unit((note(1),), constraint_errors=constraint_errors))
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(note(1)))
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ())))
    await store.commit(unit(note(2)))


async def test_a_read_that_fails_says_so_and_the_next_one_works(store: Store):
    with pytest.raises(StoreUnavailable):
        await rows(store, "SELECT * FROM nothing_of_that_name")
    with pytest.raises(StoreUnavailable):
        await store.fetch(Query("SELECT ?", (1, 2), lambda row: row))
    assert await value(store, "SELECT 1") == 1


async def test_readers_can_not_write(store: Store):
    with pytest.raises(StoreUnavailable):
        await rows(store, "INSERT INTO notes (id) VALUES (1) RETURNING id")
    assert await ids(store) == []


# Fencing


async def test_after_a_failure_later_units_of_the_incarnation_are_refused_in_the_same_batch(store: Store, disk: Disk):
    await store.commit(unit(note(50)))
    units = [unit(note(1), by=7), unit(note(50), by=7), unit(note(2), by=7), unit(note(3), by=8), unit(note(4))]
    outcomes = await in_one_batch(store, disk, units)
    assert kinds(outcomes) == [None, StoreUnavailable, Fenced, None, None]
    assert await ids(store) == [1, 3, 4, 50]


async def test_after_a_failure_later_units_of_the_incarnation_are_refused_in_later_batches(store: Store):
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ()), by=7))
    for id in range(3):
        with pytest.raises(Fenced):
            await store.commit(unit(note(id), by=7))
    await store.commit(unit(note(10), by=8))
    assert await ids(store) == [10]


async def test_a_unit_of_several_incarnations_fences_all_and_is_fenced_by_any(store: Store):
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ()), by=(7, 8)))
    with pytest.raises(Fenced):
        await store.commit(unit(note(1), by=8))
    with pytest.raises(Fenced):
        await store.commit(unit(note(1), by=(9, 7)))
    await store.commit(unit(note(2), by=10))
    assert await ids(store) == [2]


async def test_a_unit_that_was_refused_for_one_fenced_incarnation_fences_the_others_that_it_carries(
    store: Store,
):
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ()), by=7))
    with pytest.raises(Fenced):
        await store.commit(unit(note(1), by=(7, 9)))
    with pytest.raises(Fenced):
        await store.commit(unit(note(2), by=9))  # its memory holds the value that the failed unit did not store


async def test_a_failed_batch_fails_all_its_units_and_fences_their_incarnations(store: Store, disk: Disk):
    disk.hold()
    doomed = Submitted(store, [unit(note(1), by=7), unit(note(2), by=8), unit(note(3))])
    await disk.reached()
    behind = Submitted(store, [unit(note(4), by=7), unit(note(5), by=9), unit(note(6), by=8), unit(note(7))])
    disk.let_go(failing=True)
    assert kinds(await doomed.all()) == [StoreUnavailable] * 3
    assert kinds(await behind.all()) == [Fenced, None, Fenced, None]
    assert await ids(store) == [5, 7]


async def test_a_refusal_in_a_failed_batch_counts_as_a_failure_of_the_batch(store: Store, disk: Disk):
    await store.commit(unit(note(50)))
    constraint_errors: dict[str, Callable[[], Exception]] = {"notes.id": lambda: NoSuchNote("expected")}
    disk.hold()
    submitted = Submitted(store, [unit(note(1)), Unit((note(50),), (7,), constraint_errors)])
    await disk.reached()
    disk.let_go(failing=True)
    assert kinds(await submitted.all()) == [StoreUnavailable] * 2
    assert await ids(store) == [50]


async def test_an_incarnation_that_is_forgotten_is_fenced_no_more(store: Store):
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ()), by=7))
    store.forget(7)
    await store.commit(unit(note(1), by=7))


async def test_a_store_whose_every_batch_fails_works_again_when_its_disk_does(store: Store, disk: Disk):
    disk.fail_next(3)
    assert [await store.writable() for _ in range(4)] == [False, False, False, True]
    await store.commit(unit(note(1)))
    assert await ids(store) == [1]


# The classic bug: a change queued behind a failing batch, committed on top of a value that was rolled back


class Unfenced:
    """A store that ignores the incarnations of units: the bug that fencing prevents."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, unit: Unit, settled: Settled) -> None:
        self._store.submit(Unit(unit.writes, (), unit.constraint_errors), settled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def count_under_failures(counting: Store, store: Store, disk: Disk, seed: int) -> tuple[int, list[str]]:
    """Increment on 30 actors while batches and units fail; return the acknowledged changes and every drift."""
    rng, disk_rng = random.Random(seed), random.Random(seed + 1)
    directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, counting))}, idle_s=0)
    keys = [f"{number}" for number in range(30)]
    drifts: list[str] = []
    acknowledged = failed = 0
    disk.fails = lambda: disk_rng.random() < 0.2

    async def stored(key: str) -> int:
        found = await rows(store, "SELECT n FROM counters WHERE key = ?", key)
        return found[0][0] if found else 0

    async def change() -> None:
        nonlocal acknowledged, failed
        for _ in range(60):
            key = rng.choice(keys)
            by_n = -1 if rng.random() < 0.05 else 1  # refused by the table's CHECK, which no unit names as a constraint
            try:
                answered = await directory.ask("counter", key, Increment(by_n))
            except StorageUnavailable:
                failed += 1
            else:
                acknowledged += 1
                if await stored(key) < answered:
                    drifts.append(f"{key} answered {answered}, which is not stored")

    async def read() -> None:
        for _ in range(60):
            key = rng.choice(keys)
            try:
                answered = await directory.ask("counter", key, ReadCount())
            except StorageUnavailable:
                continue
            if await stored(key) < answered:
                drifts.append(f"{key} showed {answered}, which is not stored")

    async def passivate() -> None:
        while True:
            await asyncio.sleep(0.005)
            await directory.passivate_idle()

    passivation = asyncio.create_task(passivate())
    await asyncio.gather(*(change() for _ in range(40)), *(read() for _ in range(20)))
    passivation.cancel()
    disk.fails = lambda: False
    await directory.close(10)

    for key, n, applied in await rows(
        store,
        "SELECT counters.key, n, count(increments.key) FROM counters JOIN increments USING (key) GROUP BY 1",
    ):
        if n != applied:
            drifts.append(f"{key} counts {n}, its rows are {applied}")
    assert failed > 100
    if await value(store, "SELECT count(*) FROM increments") != acknowledged:
        drifts.append("rows and acknowledged changes differ")
    return acknowledged, drifts


@pytest.mark.parametrize("seed", [*range(1), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 4))])
async def test_the_sum_of_the_counters_equals_the_rows_applied_whatever_fails(store: Store, disk: Disk, seed: int):
    acknowledged, drifts = await count_under_failures(store, store, disk, seed)
    assert drifts == []
    assert acknowledged == await value(store, "SELECT sum(n) FROM counters") > 100


async def test_that_check_finds_a_store_that_does_not_fence(store: Store, disk: Disk):
    _, drifts = await count_under_failures(cast(Store, Unfenced(store)), store, disk, 0)
    assert [drift for drift in drifts if "its rows are" in drift]


# Merged runs

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=30)
numbers = st.none() | st.integers(-(2**63), 2**63 - 1) | st.booleans()


@given(st.lists(st.tuples(st.none() | texts, numbers), min_size=2, max_size=30))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_a_merged_run_stores_the_same_rows_as_one_by_one(
    store: Store, disk: Disk, contents: list[tuple[str | None, int | None]]
):
    stored: list[list[Any]] = []
    for many in (False, True):
        await store.commit(unit(Write("DELETE FROM notes", ())))
        units = [unit(note(id, *content, many=many), by=id) for id, content in enumerate(contents)]
        assert kinds(await in_one_batch(store, disk, units)) == [None] * len(units)
        stored.append(
            await rows(
                store,
                f"SELECT id, text, number, {TYPES} FROM notes ORDER BY id",
            )
        )
    assert stored[0] == stored[1]
    assert len(stored[0]) == len(contents)


async def test_a_nul_in_a_text_is_stored_in_a_merged_run_just_if_it_is_by_itself(store: Store, disk: Disk):
    """SQLite takes it, PostgreSQL refuses it."""
    merged = await in_one_batch(store, disk, [unit(note(id, "before\0after", many=True)) for id in (1, 2)])
    alone = await Submitted(store, [unit(note(3, "before\0after"))]).all()
    assert kinds(merged) == kinds(alone) * 2 == [StoreUnavailable if ON_POSTGRES else None] * 2
    assert {text for (text,) in await rows(store, "SELECT text FROM notes")} == (
        set() if ON_POSTGRES else {"before\0after"}
    )


async def test_one_unit_of_a_merged_run_that_is_refused_hurts_no_other(store: Store, disk: Disk):
    await store.commit(unit(note(3)))
    units = [unit(note(id, many=True), note(id + 100, many=True), by=id) for id in range(1, 6)]
    units.append(unit(note(99, many=True), note(199, many=True), by=3))
    outcomes = await in_one_batch(store, disk, units)
    assert kinds(outcomes) == [None, None, StoreUnavailable, None, None, Fenced]
    assert await ids(store) == [1, 2, 3, 4, 5, 101, 102, 104, 105]


async def test_a_merged_run_of_more_rows_than_a_statement_takes_is_one_transaction(store: Store, disk: Disk):
    await store.commit(unit(note(300)))
    units = [unit(note(id, many=True), by=id) for id in range(1, 301)]
    assert kinds(await in_one_batch(store, disk, units)) == [None] * 299 + [StoreUnavailable]
    assert await ids(store) == list(range(1, 301))


async def test_a_merged_run_refuses_fenced_incarnations_only(store: Store, disk: Disk):
    with pytest.raises(StoreUnavailable):
        await store.commit(unit(Write("no SQL at all", ()), by=3))
    outcomes = await in_one_batch(store, disk, [unit(note(id, many=True), by=id) for id in range(1, 6)])
    assert kinds(outcomes) == [None, None, Fenced, None, None]
    assert await ids(store) == [1, 2, 4, 5]


async def test_a_unit_that_expects_a_refusal_has_it_amid_a_run_of_its_shape(store: Store, disk: Disk):
    await store.commit(unit(note(3)))
    constraint_errors: dict[str, Callable[[], Exception]] = {"notes.id": lambda: NoSuchNote("expected")}
    units = [Unit((note(id, many=True),), (id,), constraint_errors) for id in range(1, 6)]
    assert kinds(await in_one_batch(store, disk, units)) == [None, None, NoSuchNote, None, None]


async def test_units_that_are_rarely_refused_are_merged_and_a_refusal_fences_nobody(store: Store, disk: Disk):
    constraint_errors: dict[str, Callable[[], Exception]] = {"notes.id": lambda: NoSuchNote("expected")}

    def rarely(id: int, by: int) -> Unit:
        return Unit((note(id, many=True),), (by,), constraint_errors, rarely_refused=True)

    assert [len(step.statements) for step in planned([rarely(1, 7), rarely(2, 7)], in_rows)] == [1]
    await store.commit(unit(note(3)))
    outcomes = await in_one_batch(store, disk, [*(rarely(id, by=7) for id in range(1, 6)), unit(note(6), by=7)])
    assert kinds(outcomes) == [None, None, NoSuchNote, None, None, None]
    assert await ids(store) == [1, 2, 3, 4, 5, 6]


async def test_a_count_of_rows_holds_in_a_merged_run_too(store: Store, disk: Disk):
    await store.commit(unit(note(1), note(2)))
    retitle = "UPDATE notes SET text = ? WHERE id = ?"
    retitle_many = (
        "UPDATE notes SET text = given.text FROM @rows(?, text text, id bigint) AS given WHERE notes.id = given.id"
    )
    units = [unit(Write(retitle, ("new", id), rows=1, many=retitle_many), by=id) for id in (1, 99, 2)]
    assert kinds(await in_one_batch(store, disk, units)) == [None, StoreUnavailable, None]


async def test_a_merged_run_of_chats_stores_the_same_rows_as_one_by_one(store: Store, disk: Disk):
    await store.commit(
        Unit(
            (
                Write(
                    "INSERT INTO users (id, name, name_key, secret_hash, plan, created_at)"
                    " VALUES ('u', 'u', 'u', '', 'free', 0)",
                    (),
                ),
                Write(
                    "INSERT INTO agents (id, owner_id, name, name_key, description, access, created_at, updated_at)"
                    " VALUES ('x', 'u', 'x', 'x', '', 'agent', 0, 0), ('y', 'u', 'y', 'y', '', 'agent', 0, 0)",
                    (),
                ),
                conversations.begin(1, "u", "x"),
                conversations.begin(2, "u", "y"),
            )
        )
    )

    def chat(conversation: int, seq: int) -> Unit:
        said = MessageRow(seq, f"msg {seq}", "user", "u", 'Ärger "x" \\ 🦆 \n', None, seq * 1_000)
        answer = MessageRow(seq + 1, f"msg {seq + 1}", "agent", "x", "[1, 2]", '[{"profile": "x"}]', seq * 1_000)
        return Unit(
            (
                conversations.append(conversation, *said[:7]),
                conversations.append(conversation, *answer[:7]),
            ),
            (seq,),
        )

    for seq in range(1, 21, 2):
        await store.commit(chat(1, seq))
    assert kinds(await in_one_batch(store, disk, [chat(2, seq) for seq in range(1, 21, 2)])) == [None] * 10
    columns = "seq, id, role, name, content, sources, at, @sqlite(typeof(sources), typeof(at))@postgres(0, 0)"
    stored = f"SELECT {columns} FROM messages WHERE conversation_id = ? ORDER BY seq"
    assert await rows(store, stored, 2) == await rows(store, stored, 1)


# Callers that disconnect, and the end


async def test_a_cancelled_caller_leaves_its_unit_whole_and_others_alone(store: Store, disk: Disk):
    disk.hold()
    held = asyncio.create_task(store.commit(unit(note(1), note(2))))
    await disk.reached()
    queued = [asyncio.create_task(store.commit(unit(note(10 * id), note(10 * id + 1)))) for id in range(1, 6)]
    await spin()
    for task in (held, queued[0], queued[3]):
        task.cancel()
    await spin()
    disk.let_go()
    results = await asyncio.gather(held, *queued, return_exceptions=True)
    assert [type(result) for result in results if result] == [asyncio.CancelledError] * 3
    await store.commit(unit(note(100)))
    stored = set(await ids(store))
    assert {20, 21, 30, 31, 50, 51, 100} <= stored
    for first, second in ((1, 2), (10, 11), (40, 41)):
        assert (first in stored) == (second in stored)


async def test_a_cancelled_caller_of_a_failing_unit_leaves_no_error_behind(store: Store, disk: Disk):
    disk.hold()
    held = asyncio.create_task(store.commit(unit(note(1))))
    await disk.reached()
    held.cancel()
    await spin()
    disk.let_go(failing=True)
    await store.commit(unit(note(2)))
    assert held.cancelled()
    assert await ids(store) == [2]


async def test_closing_commits_what_waits_and_refuses_what_comes_after(tmp_path: Path):
    disk = Disk()
    async with open_store(tmp_path, disk) as store:
        disk.hold()
        counted = "INSERT INTO counters (key, n) VALUES (?, 0)"
        first = Submitted(store, [unit(Write(counted, ("first",)))])
        await disk.reached()
        waiting = Submitted(store, [unit(Write(counted, (f"{number}",))) for number in range(1_200)])
        closing = asyncio.create_task(store.close())
        await spin()
        late = Submitted(store, [unit(Write(counted, ("late",)))])
        assert kinds(await late.all()) == [StoreUnavailable]
        assert not closing.done()
        disk.let_go()
        await closing
        assert kinds(await first.all()) == [None]
        assert kinds(await waiting.all()) == [None] * 1_200
        with pytest.raises(StoreUnavailable):
            await store.commit(unit(Write(counted, ("later",))))
        assert not await store.writable()
    async with open_store(tmp_path) as store:
        assert await value(store, "SELECT count(*) FROM counters") == 1_201


async def test_a_closed_store_can_not_be_read(tmp_path: Path):
    async with open_store(tmp_path) as store:
        await store.close()
        with pytest.raises(StoreUnavailable):
            await rows(store, "SELECT 1")


async def test_a_failure_in_a_batch_keeps_later_units_of_the_incarnation_out_of_a_merged_run(store: Store, disk: Disk):
    await store.commit(unit(note(50)))
    units = [unit(note(50), by=7), Unit((note(1, many=True),), (7,)), Unit((note(2, many=True),), (7,))]
    assert kinds(await in_one_batch(store, disk, units)) == [StoreUnavailable, Fenced, Fenced]
    assert await ids(store) == [50]


async def test_units_of_two_kinds_are_all_stored_with_a_statement_for_each_kind(tmp_path: Path):
    seen_many = "INSERT INTO seen (id) SELECT id FROM @rows(?, id bigint) AS given"
    async with open_store(tmp_path) as store:  # without faults, as the gateway opens it
        await store.commit(unit(Write("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, number INTEGER)", ())))
        await store.commit(unit(Write("CREATE TABLE seen (id INTEGER PRIMARY KEY)", ())))
        batches = store.stats().batches
        seen = [unit(Write("INSERT INTO seen (id) VALUES (?)", (id,), many=seen_many)) for id in range(3)]
        submitted = Submitted(store, [seen[0], unit(note(1, many=True)), seen[1], unit(note(2, many=True)), seen[2]])
        assert kinds(await submitted.all()) == [None] * 5
        assert store.stats().batches == batches + 1
        assert await ids(store) == [1, 2]
        assert await value(store, "SELECT count(*) FROM seen") == 3


# Writes that depend on the number of touched rows


def counting(id: int, *writes: Write, **constraint_errors: Callable[[], Exception]) -> Unit:
    """A unit that records, under an id, the number of rows that its last write touched."""
    return Unit(writes, (id,), constraint_errors, then=lambda touched: (note(id, "touched", touched),))


async def counted(store: Store) -> list[tuple[Any, ...]]:
    return await rows(store, "SELECT id, number FROM notes WHERE text = 'touched' ORDER BY id")


async def test_a_unit_may_write_how_many_rows_it_touched(store: Store, disk: Disk):
    await store.commit(unit(*(note(id) for id in range(5))))
    clear = Write("DELETE FROM notes WHERE id < 5", ())
    await store.commit(counting(10, note(4_000), Write("UPDATE notes SET text = 'x' WHERE id < 3", ())))
    batch = [counting(11, clear), counting(12, clear), unit(note(13))]
    assert kinds(await in_one_batch(store, disk, batch)) == [None] * 3
    assert await counted(store) == [(10, 3), (11, 5), (12, 0)]


async def test_the_number_is_that_of_the_try_that_was_stored(store: Store, disk: Disk):
    """A joined statement of the batch fails, so the transaction starts again with each unit by itself."""
    await store.commit(unit(*(note(id) for id in range(5))))
    clear = Write("DELETE FROM notes WHERE id < 5", ())
    units = [counting(10, clear), unit(note(20, many=True)), unit(note(20, many=True)), counting(11, clear)]
    outcomes = await in_one_batch(store, disk, units)
    assert kinds(outcomes) == [None, None, StoreUnavailable, None]
    assert await counted(store) == [(10, 5), (11, 0)]


async def test_what_a_unit_writes_last_may_be_refused_and_takes_the_unit_with_it(store: Store):
    await store.commit(unit(note(1), note(10)))
    remove = Write("DELETE FROM notes WHERE id = 1", ())
    with pytest.raises(NameTaken):
        await store.commit(counting(10, remove, **{"notes.id": lambda: NameTaken("taken")}))
    assert await ids(store) == [1, 10]
