import asyncio
import random
from itertools import pairwise
from sys import getrefcount

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import slices
from actors.banks.loading import memory_terms
from actors.engines import dialogue_acts
from actors.engines.message import Utterance
from actors.engines.window import Window
from actors.retrieval.question import Question
from actors.slices import LARGE, Steps, Work, let_go, sliced, whole
from actors.text import tokenizer


def counting(steps: int, log: list[str], name: str) -> Steps[str]:
    for _ in range(steps):
        log.append(name)
        yield
    return name


async def test_work_that_is_done_in_the_first_slice_takes_no_turn_of_the_loop() -> None:
    turns: list[str] = []
    asyncio.get_running_loop().call_soon(turns.append, "turn")
    assert await sliced(counting(3, [], "a")) == "a"
    assert not turns


async def test_of_several_long_works_each_has_its_turn() -> None:
    log: list[str] = []
    works = [Work(counting(3, log, name)) for name in "abc"]
    for work in works:
        assert not work.slice(0)
    log.clear()

    async def rest(work: Work[str]) -> str:
        while not work.slice(0):
            await asyncio.sleep(0)
        return work.result

    assert await asyncio.gather(*map(rest, works)) == ["a", "b", "c"]
    assert log == ["a", "b", "c", "a", "b", "c"]


async def test_others_have_a_turn_between_two_slices_of_the_rest() -> None:
    turns = 0

    def burning() -> Steps[int]:
        while turns < 3:
            yield
        return turns

    async def others() -> None:
        nonlocal turns
        while turns < 3:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    assert await sliced(burning()) == 3
    await other


async def test_work_that_fails_fails_whoever_waits_for_it() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await sliced(failing())


class Counted:
    alive = 0

    def __init__(self) -> None:
        Counted.alive += 1

    def __del__(self) -> None:
        Counted.alive -= 1


def dict_of(size: int) -> dict[int, Counted]:
    return {number: Counted() for number in range(size)}


@pytest.fixture
def shortest_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FREEING_S", 0.0)


@pytest.mark.usefixtures("shortest_slices")
async def test_large_dicts_that_nothing_uses_are_freed_a_slice_in_each_turn() -> None:
    let_go(dict_of(LARGE), dict_of(10))
    await asyncio.sleep(0)
    let_go(dict_of(LARGE))
    counts = [Counted.alive]
    while Counted.alive:
        await asyncio.sleep(0)
        counts.append(Counted.alive)
    assert counts[0] == 2 * LARGE + 10 - 64
    assert max(before - after for before, after in pairwise(counts)) <= 64


async def test_small_dicts_are_freed_at_once() -> None:
    let_go(dict_of(LARGE - 1))
    assert not Counted.alive


def test_without_a_loop_large_dicts_are_freed_at_once() -> None:
    let_go(dict_of(LARGE))
    assert not Counted.alive


def references(texts: list[str]) -> list[int]:
    return [getrefcount(text) for text in texts]


@pytest.mark.usefixtures("shortest_slices")
@pytest.mark.parametrize("too_long", [False, True])
async def test_a_long_conversation_leaves_memory_in_slices(*, too_long: bool) -> None:
    ids = [f"msg_{seq}" for seq in range(1, LARGE + 301)]
    unused = references(ids)
    window = Window(keeps_left=True)
    for seq in range(1, len(ids) + 1):
        window.append(Utterance(ids[seq - 1], "user", "ada", f"Box {seq} holds {seq} apples.", seq, seq))
        whole(window.archiving(seq - 200))
    whole(window.indexing())

    def in_memory() -> int:
        return sum(count > least for count, least in zip(references(ids), unused, strict=True))

    left = [in_memory()]
    assert left == [len(ids)]
    if too_long:
        window.drop_archived(keep=100, room=LARGE)
    else:
        del window
    for _ in range(300):
        left.append(in_memory())
        await asyncio.sleep(0)
    assert max(before - after for before, after in pairwise(left)) <= 200 + 64
    assert left[-1] == (300 if too_long else 0)


PARTS = """my name is ich heisse Zürich 漢字 東京都民 的 ひらがな カタカナ don't 3.5 é . 。 ! 한국어 ไทย tests cities"""
spoken = st.lists(st.sampled_from([*PARTS.split(), "\n"]), min_size=200, max_size=900)


@given(spoken, st.sampled_from([" ", "", "\n"]))
def test_a_long_text_has_the_same_words_and_terms_in_pieces_as_in_one(parts: list[str], between: str) -> None:
    text = between.join(parts)
    if not between:  # a word may end at a break only, otherwise its parts would be words
        text = "。".join("".join(parts[start : start + 40]) for start in range(0, len(parts), 40))
    said = tokenizer.split(text)
    assert whole(tokenizer.splitting(text)) == said
    assert whole(tokenizer.terming(said)) == tokenizer.terms(said)
    assert set(whole(tokenizer.reading(text))) == set(tokenizer.terms(said))


def test_unspaced_text_has_the_same_pairs_in_pieces_as_in_one() -> None:
    generator = random.Random(1)
    text = "".join(chr(generator.randint(0x4E00, 0x9FFF)) for _ in range(10_000))
    assert whole(tokenizer.splitting(text)) == tokenizer.split(text)
    assert whole(memory_terms("a", text)) == tuple(tokenizer.terms(tokenizer.split(text)))


def test_a_word_without_end_is_read_in_pieces() -> None:
    assert 30 <= len(whole(tokenizer.splitting("x" * 32_000))) <= 70


def said(text: str, seq: int) -> Utterance:
    return Utterance(f"msg_{seq}", "user", "ada", text, seq, seq)


def test_a_window_with_long_utterances_finds_what_one_indexed_at_once_finds() -> None:
    generator = random.Random(2)
    followed, fresh = Window(capacity=8), Window(capacity=8)
    whole(followed.indexing())
    for seq in range(30):
        length = generator.choice((3, 400))
        utterance = said(" ".join(f"w{generator.randint(0, 99)}" for _ in range(length)), seq)
        followed.append(utterance)
        fresh.append(utterance)
        if generator.random() < 0.3:
            whole(followed.indexing())
        fresh.compact()
        query = {f"w{n}" for n in range(0, 99, 7)}
        assert followed.search(Question(query), 6) == fresh.search(Question(query), 6)


def test_a_window_that_moves_on_while_it_is_indexed_ends_up_right() -> None:
    window = Window((said(f"text {n} " * 300, n) for n in range(4)), capacity=4)
    steps, others = window.indexing(), window.indexing()
    for seq in range(4, 12):
        next(steps)
        window.append(said(f"text {seq} " * 300, seq))
        next(others)
    index = whole(steps)
    assert whole(others) is index
    fresh = Window(window, capacity=4)
    assert window.search(Question(["text", "11"]), 4) == fresh.search(Question(["text", "11"]), 4)
    assert [utterance.seq for utterance in window.statements()] == [11, 10, 9, 8]


def test_the_facts_of_a_long_question_are_those_of_its_sentences_that_tell() -> None:
    text = "My dog is called Rex. " + "What is my dog called? " * 80
    assert len(text) > tokenizer.SLICE_CHARS
    assert whole(dialogue_acts.finding_facts(said(text, 1))) == tokenizer.terms(tokenizer.split("My dog is called Rex"))
