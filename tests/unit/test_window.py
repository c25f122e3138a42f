"""What leaves a window: it stays in memory, and is found, until its rows of the index are stored."""

import pytest

from actors.engines import dialogue_acts
from actors.engines.message import Source, Utterance
from actors.engines.window import MAX_LEFT, Window
from actors.retrieval.question import Question
from actors.slices import whole
from actors.text.tokenizer import SLICE_CHARS


def said(seq: int, content: str, *sources: Source) -> Utterance:
    return Utterance(f"msg_{seq}", "agent" if sources else "user", "ada", content, seq, seq, sources)


def numbered(count: int, capacity: int = 4) -> Window:
    return Window((said(seq, f"Locker {seq} holds tea.") for seq in range(1, count + 1)), capacity, keeps_left=True)


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
    assert (len(window), window.left, window.first_seq, window.last_seq) == (4, 6, 7, 10)
    assert found(window, "2") == [2]
    window.drop_left(3)
    assert window.left == 3
    assert (found(window, "2"), found(window, "4"), found(window, "9")) == ([], [4], [9])
    window.drop_left(100)
    assert (window.left, [utterance.seq for utterance in window]) == (0, [7, 8, 9, 10])
    assert (found(window, "4"), found(window, "9")) == ([], [9])


@pytest.mark.parametrize("indexed_first", [True, False])
def test_of_those_that_are_archived_the_newest_can_be_kept(indexed_first: bool):
    window = numbered(0)
    if indexed_first:
        whole(window.indexing())
    for seq in range(1, 11):
        window.append(said(seq, f"Locker {seq} holds tea."))
    window.drop_left(4, keep=2)
    assert (window.left, window.archived, window.oldest_seq, window.leaving_seq) == (4, 2, 3, 5)
    assert (found(window, "2"), found(window, "3"), found(window, "5")) == ([], [3], [5])
    assert [utterance.seq for utterance, _ in whole(window.leaving(10, 10_000))] == [5, 6]
    window.append(said(11, "Locker 11 holds tea."))
    window.drop_left(6, keep=2)
    assert (window.left, window.archived, window.oldest_seq, window.leaving_seq) == (3, 2, 5, 7)
    window.drop_left(6)
    assert (window.left, window.archived, window.leaving_seq) == (1, 0, 7)


def test_what_is_kept_of_those_that_are_archived_is_bounded_by_its_length():
    window = numbered(0)
    for seq in range(1, 11):
        window.append(said(seq, "long " * 1_000 if seq == 3 else "short"))
    window.drop_left(5, keep=4, room=8)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (3, 8, 3)
    window.drop_left(6, keep=4, room=8)
    assert (window.archived, window.archived_weight, window.oldest_seq) == (3, 3, 4)
    window.drop_left(4, keep=4, room=8)
    assert (window.archived, window.archived_weight, window.left) == (1, 1, 3)
    window.drop_left(6)
    assert (window.archived, window.archived_weight, window.left) == (0, 0, 0)


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


def test_an_empty_window_has_no_seqs():
    assert (Window().first_seq, Window().last_seq) == (0, 0)


def test_long_utterances_leave_in_small_batches():
    window = Window((said(seq, "word " * 2_000) for seq in range(1, 12)), 1, keeps_left=True)
    assert [len(whole(window.leaving(64, chars))) for chars in (1, 10_000, 10_001, 1_000_000)] == [1, 1, 2, 10]
