"""What leaves a window: it stays in memory, and is found, until its rows of the index are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.engines import dialogue_acts
from actors.engines.message import Source, Utterance
from actors.engines.statements import OlderStatements
from actors.engines.window import MAX_LEFT, Window
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.slices import Steps, whole
from actors.text.tokenizer import SLICE_CHARS


def said(seq: int, content: str, *sources: Source) -> Utterance:
    return Utterance(f"msg_{seq}", "agent" if sources else "user", "ada", content, seq, seq, sources)


def numbered(count: int, capacity: int = 4) -> Window:
    return Window((said(seq, f"Locker {seq} holds tea.") for seq in range(1, count + 1)), capacity, keeps_left=True)


def archive(window: Window, upto_seq: int, *, keep: int = 0, room: int = 1_000) -> None:
    whole(window.archiving(upto_seq))
    window.drop_archived(keep=keep, room=room)


def found(window: Window, *terms: str) -> list[int]:
    return [one.utterance.seq for one in window.sure(Question(terms), 50)]


@pytest.mark.parametrize("indexed_first", [True, False])
def test_what_left_is_not_shown_but_found_until_it_is_dropped(indexed_first: bool):
    window = numbered(0)
    if indexed_first:
        whole(window.indexing())
    for seq in range(1, 11):
        window.append(said(seq, f"Locker {seq} holds tea."))
    assert [utterance.seq for utterance in window] == [7, 8, 9, 10]
    assert (len(window), window.left, window.last_seq) == (4, 6, 10)
    assert found(window, "2") == [2]
    archive(window, 3)
    assert window.left == 3
    assert (found(window, "2"), found(window, "4"), found(window, "9")) == ([], [4], [9])
    archive(window, 100)
    assert (window.left, [utterance.seq for utterance in window]) == (0, [7, 8, 9, 10])
    assert (found(window, "4"), found(window, "9")) == ([], [9])


@pytest.mark.parametrize("indexed_first", [True, False])
def test_of_those_that_are_archived_the_newest_can_be_kept(indexed_first: bool):
    window = numbered(0)
    if indexed_first:
        whole(window.indexing())
    for seq in range(1, 11):
        window.append(said(seq, f"Locker {seq} holds tea."))
    archive(window, 4, keep=2)
    assert (window.left, window.archived, window.oldest_seq, window.leaving_seq) == (2, 2, 3, 5)
    assert (found(window, "2"), found(window, "3"), found(window, "5")) == ([], [3], [5])
    assert [utterance.seq for utterance, _ in whole(window.leaving(10, 10_000))] == [5, 6]
    window.append(said(11, "Locker 11 holds tea."))
    archive(window, 6, keep=2)
    assert (window.left, window.archived, window.oldest_seq, window.leaving_seq) == (1, 2, 5, 7)
    assert [utterance.seq for utterance in window.statements()] == [11, 10, 9, 8, 7, 6, 5]
    archive(window, 6)
    assert (window.left, window.archived, window.oldest_seq, window.leaving_seq) == (1, 0, 7, 7)


def test_what_is_kept_of_those_that_are_archived_is_bounded_by_its_length():
    window = numbered(0)
    for seq in range(1, 11):
        window.append(said(seq, "long " * 250 if seq == 3 else f"short {seq}"))
    archive(window, 5, keep=4, room=8)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (3, 8, 3)
    archive(window, 6, keep=4, room=8)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (3, 3, 4)
    archive(window, 6, keep=1, room=8)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (1, 1, 6)
    archive(window, 6, keep=1, room=0)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (0, 0, 7)


@pytest.mark.parametrize("indexed_first", [True, False])
def test_of_those_that_are_archived_only_statements_take_room(indexed_first: bool):
    window = numbered(0)
    if indexed_first:
        whole(window.indexing())
    for seq in range(1, 3_001):
        window.append(said(seq, f"Locker {seq} holds tea." if seq in (2, 900) else "What is in locker 2?"))
        if window.left == 100:
            archive(window, seq, keep=2, room=2)
    archive(window, 3_000, keep=2, room=2)
    assert (window.left, window.archived, window.archived_weight) == (0, 2, 2)
    assert (window.oldest_seq, window.leaving_seq) == (1, 2_997)
    assert (found(window, "2"), found(window, "900")) == ([2], [900])
    for seq in range(3_001, 3_006):
        window.append(said(seq, "Locker 7 holds tea."))
    archive(window, 3_001, keep=2, room=2)
    assert (window.archived, window.oldest_seq) == (2, 3)
    assert (found(window, "2"), found(window, "900")) == ([], [900])


TEXTS = ["Tea is in the box.", "Is tea in the box?", "Milk, milk and milk!", "Noted.", "tea " * SLICE_CHARS]
STEPS = st.one_of(
    st.tuples(st.sampled_from(TEXTS)),
    st.tuples(st.just("archive"), st.integers(0, 6), st.integers(0, 4)),
    st.sampled_from([("search",), ("compact",), ("steps", 1), ("steps", 3)]),
)


@given(st.lists(STEPS, max_size=40), st.integers(1, 4))
def test_a_window_finds_the_same_whenever_it_is_indexed_archived_and_compacted(
    steps: list[tuple[str | int, ...]], capacity: int
):
    """It is compared with a window that is built of what should be in memory."""
    window, held, archived, lost = Window(capacity=capacity, keeps_left=True), list[Utterance](), 0, 0
    under_way = window.indexing()
    for step, *numbers in steps:
        match step:
            case "archive":
                left, keep = (int(number) for number in numbers)
                upto = min(archived + left, len(held) - capacity)
                archive(window, upto, keep=keep)
                archived = max(archived, upto)
                lost = max([lost, *[one.seq for one in states(held[:archived])][: -keep or None]])
            case "search":
                window.search(Question(["tea"]), 5)
            case "compact":
                window.compact()
            case "steps":
                for _ in range(int(numbers[0])):
                    if next(under_way, "ended") == "ended":
                        under_way = window.indexing()
            case text:
                held.append(said(len(held) + 1, str(text)))
                window.append(held[-1])
    assert window.oldest_seq == (lost + 1 if held else 0)
    assert window.archived == len([one for one in states(held[:archived]) if one.seq > lost])
    anew = Window(held[lost:], 100)
    assert window.search(Question(["tea", "milk"]), 50) == anew.search(Question(["tea", "milk"]), 50)
    assert list(window.statements()) == list(anew.statements())
    assert list(window) == held[-capacity:]


LONG = "Locker 1 holds gold. " * SLICE_CHARS


def begun(window: Window) -> Steps[Index]:
    """Begin to index a window whose first utterance is long, and stop within that one."""
    steps = window.indexing()
    for _ in range(5):
        next(steps)
    return steps


@pytest.mark.parametrize("keep", [0, 1])
def test_an_utterance_that_is_archived_while_it_is_indexed_is_found_if_it_is_kept(keep: int):
    window = numbered(0)
    for seq in range(1, 7):
        window.append(said(seq, LONG if seq == 1 else f"Locker {seq} holds tea."))
    steps = begun(window)
    archive(window, 1, keep=keep, room=10_000_000)
    whole(steps)
    assert found(window, "gold") == [1] * keep
    assert found(window, "2") == [2]


def test_an_index_that_is_dropped_while_it_is_made_is_made_anew():
    window = numbered(0)
    for seq in range(1, 7):
        window.append(said(seq, LONG if seq == 1 else f"Locker {seq} holds tea."))
    steps = begun(window)
    window.compact()
    others = begun(window)
    assert whole(steps) is whole(others)
    assert (found(window, "gold"), found(window, "2")) == ([1], [2])


def test_an_utterance_that_is_dropped_while_it_is_archived_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("actors.engines.window.MAX_LEFT", 2)
    window = numbered(0)
    for seq in range(1, 7):
        window.append(said(seq, LONG if seq == 2 else f"Locker {seq} holds tea."))
    steps = window.archiving(2)
    for _ in range(5):  # stops within the long one
        next(steps)
    for seq in range(7, 11):
        window.append(said(seq, f"Locker {seq} holds tea."))
    whole(steps)
    assert (window.left, window.archived, window.leaving_seq) == (2, 1, 5)
    window.drop_archived()
    assert window.oldest_seq == 5
    assert (found(window, "gold"), found(window, "5")) == ([], [5])


def states(utterances: list[Utterance]) -> list[Utterance]:
    return [one for one in utterances if whole(dialogue_acts.finding_facts(one))]


@pytest.mark.parametrize("indexed_first", [True, False])
def test_those_that_left_come_with_the_terms_that_the_index_takes(indexed_first: bool):
    texts = [
        "Tea, tea and more tea in locker 4.",
        "What is in locker 4?",
        "You said so.",
        "word " * SLICE_CHARS,
        "The locker is green.",
    ]
    window = Window(capacity=1, keeps_left=True)
    if indexed_first:
        whole(window.indexing())
    utterances = [said(seq, text) for seq, text in enumerate(texts, 1)]
    utterances[2] = said(3, texts[2], Source("conversation", "scout", "msg_1", "Tea"))
    for utterance in (*utterances, said(6, "The last one.")):
        window.append(utterance)
    if indexed_first:
        whole(window.indexing())
    leaving = whole(window.leaving(4, 100_000))
    assert [utterance for utterance, _ in leaving] == utterances[:4]
    for utterance, terms in leaving:
        assert list(terms) == whole(dialogue_acts.finding_facts(utterance))
    assert [bool(terms) for _, terms in leaving] == [True, False, False, True]


def test_a_copy_of_the_window_has_nothing_that_left():
    copy = numbered(10).before(9)
    assert ([utterance.seq for utterance in copy], copy.left) == ([7, 8], 0)
    assert found(copy, "2") == []


def test_of_too_many_that_left_the_oldest_are_dropped():
    window = numbered(MAX_LEFT + 10, capacity=4)
    assert window.left == MAX_LEFT
    assert found(window, "6") == []
    assert found(window, "7") == [7]


def test_the_words_of_more_messages_count_for_those_beside_them_in_a_search_as_of_a_bank():
    texts = ["My locker is open.", "It is large.", "There is tea.", *["So it goes."] * 4] * 10
    window = Window(said(seq, text) for seq, text in enumerate(texts, 1))
    usual, more = (window.answers(Question(["locker", "tea"]), 5, as_bank=wide) for wide in (False, True))
    assert {one.utterance.content for one in more} == {"There is tea."}
    assert min(one.score for one in more) > max(one.score for one in usual)


def test_an_empty_window_has_no_seqs():
    assert (Window().last_seq, Window().oldest_seq) == (0, 0)


def test_long_utterances_leave_in_small_batches():
    window = Window((said(seq, "word " * 2_000) for seq in range(1, 12)), 1, keeps_left=True)
    assert [len(whole(window.leaving(64, chars))) for chars in (1, 10_000, 10_001, 1_000_000)] == [1, 1, 2, 10]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["Tea is in locker 4.", "Where is it?", "source"]))),
    st.integers(0, 40),
    st.integers(0, 20),
)
def test_the_next_statement_is_the_users_next_one_that_is_in_memory(
    steps: list[tuple[int, str]], archived: int, kept: int
):
    window, seq = Window(capacity=3, keeps_left=True), 0
    utterances: list[Utterance] = []
    for step, text in steps:  # a zone's messages have gaps between their numbers
        seq += step
        sources = (Source("conversation", "scout", "msg_1", "Tea"),) if text == "source" else ()
        utterances.append(said(seq, text, *sources))
        window.append(utterances[-1])
    archive(window, archived, keep=kept)
    whole(window.indexing())
    stated = [one for one in states(utterances) if one.role == "user" and one.seq >= window.oldest_seq]
    for utterance in utterances:
        later = [one for one in stated if utterance.seq < one.seq <= utterance.seq + 16]
        assert window.next_statement(utterance) == (later[0] if later else None)


def talk(seq: int) -> Utterance:
    """Return a message of a talk in which every third one states nothing."""
    return said(seq, f"Where is locker {seq}?" if seq % 3 == 2 else f"Locker {seq} of hall {seq % 7} holds tea.")


def seen(window: Window, upto_seq: int) -> list[object]:
    """Return what a window shows of the messages up to a seq, and what searches find there."""
    questions = [Question([str(number), "hall", "locker"]) for number in range(1, upto_seq + 1)]
    return [
        (window.left, window.archived, window.archived_weight, window.oldest_seq, window.last_seq),
        [utterance.seq for utterance in window.statements()],
        [[(one.utterance.seq, one.share, one.answers) for one in window.search(asked, 3)] for asked in questions],
        [[one.utterance.seq for one in window.sure(asked, 3)] for asked in questions],
        [window.next_statement(talk(seq)) for seq in range(1, upto_seq + 1)],
    ]


@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("archived_first", [True, False])
@pytest.mark.parametrize("first", [2, 3, 30, 45])
def test_a_window_with_older_statements_is_as_one_that_kept_all(
    first: int, archived_first: bool, few: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("actors.engines.window._FEW", few)
    kept = Window(map(talk, range(1, 51)), 4, keeps_left=True)
    read = Window(map(talk, range(first, 51)), 4, keeps_left=True)
    older = OlderStatements(a_turn=1)
    whole(older.adding(map(talk, range(1, min(first, 10)))))
    whole(older.adding(map(talk, range(min(first, 10), first))))
    for window in kept, read:
        archive(window, max(40, first - 1) if archived_first else first - 1, keep=1_000)
    read.take_older(older)
    assert seen(read, 50) == seen(kept, 50)
    for seq in range(51, 61):
        kept.append(talk(seq))
        read.append(talk(seq))
        assert seen(read, seq) == seen(kept, seq)
    for keep in (20, 18, 3):
        for window in kept, read:
            archive(window, 52, keep=keep)
        assert seen(read, 60) == seen(kept, 60)
