"""Loading: the memories that a load makes, and the writes that replace memories of the same names."""

import re
from collections.abc import Iterable, Sequence

from actors.banks.attachments import LEVELS, Attachments
from actors.banks.messages import LoadMemory, MemoryMoved
from actors.engines import dialogue_acts
from actors.errors import NotPermitted, StateConflict
from actors.ids import new_id, new_number
from actors.slices import Steps
from actors.text import answer_kinds, tokenizer
from persistence import documents, memories, quotes, search_index
from persistence.banks import BankRow
from persistence.memories import MemoryRow, Part
from persistence.search_index import CountedTerms, IndexedText, counted
from persistence.store import Write

_MAX_DIGITS = 15
_STAMP = re.compile(r"[\[(][^\])]{1,60}[\])]")


def moved() -> MemoryMoved:
    """Make the error for a load whose memories have changed since they were read."""
    return MemoryMoved("Another request changes this memory at the same time; try again.")


def part_names(name: str, texts: tuple[str, ...]) -> list[str]:
    """Name the memories that a load makes: one for each text."""
    return [name] if len(texts) == 1 else [f"{name}/{number}" for number in range(1, len(texts) + 1)]


def whole_and_part(name: str) -> tuple[str, int]:
    """Return what a memory's name says of its place: of `x/n`, x and n; of any other, the name and 0."""
    whole, slash, part = name.rpartition("/")
    if whole and slash and len(part) <= _MAX_DIGITS and part.isascii() and part.isdecimal():
        return whole, int(part)
    return name, 0


def indexed(memory: MemoryRow, terms: Sequence[str] | CountedTerms) -> IndexedText:
    """Return a memory as the index takes it; `terms` are those of `memory_terms`, which may be counted."""
    return IndexedText(memory.position, *whole_and_part(memory.name), terms)


def _words_of_stamp(text: str) -> int:
    """Count the words of the stamp that a turn may begin with ("[2023-05-20 02:21] Ada: ..."); it answers nothing."""
    stamp = _STAMP.match(text) if text.startswith(("[", "(")) else None
    return len(tokenizer.split(stamp.group())) if stamp else 0


def memory_terms(name: str, text: str) -> Steps[tuple[str, ...]]:
    """List the terms by which a memory is found: of its name, twice, of its text, and of the kinds of answers in it."""
    named = tokenizer.terms(tokenizer.split(name))
    words = yield from tokenizer.splitting(text)
    stated = yield from tokenizer.terming(words)
    said = words[_words_of_stamp(text) :][: tokenizer.SLICE_CHARS]
    kinds = answer_kinds.held(text, said) + answer_kinds.of_oneself(said) + answer_kinds.said_by(text, words)
    if len(text) <= tokenizer.SLICE_CHARS:
        kinds += dialogue_acts.questions_in(text)
    return (*named, *named, *stated, *tokenizer.months(f"{name} {text}"), *kinds)


def all_memory_terms(memories: Iterable[tuple[str, str]]) -> Steps[tuple[CountedTerms, ...]]:
    """Count the terms of memories, each given by its name and text."""
    found: list[CountedTerms] = []
    for name, text in memories:
        found.append(counted((yield from memory_terms(name, text))))
        yield
    return tuple(found)


def let_go(terms: Iterable[CountedTerms]) -> Steps[None]:
    """Free the terms of stored memories, one after the other: those of a long document take as long as some slices."""
    for _, times in terms:
        times.clear()
        yield


def require_may_load(message: LoadMemory, bank: BankRow, attachments: Attachments) -> bool:
    """Refuse an agent that may not write; return whether it is to be attached.

    Raises:
        NotPermitted: the agent is not the caller's own, or may not write in this bank.
    """
    viewer_id = message.viewer.user_id
    if message.agent_owner_id != viewer_id:
        raise NotPermitted("Memories are loaded by your own agents: name one as target.agent.")
    held = attachments.attached.get(message.agent_id)
    if bank.owner_id == viewer_id:
        return held is None
    if held is None or LEVELS[held.permission] < LEVELS["write"]:
        offered = attachments.offered.get(message.agent_id)
        advice = "one who may grants it with MB_Permissions"
        if offered is not None and LEVELS[offered.permission] >= LEVELS["write"]:
            advice = "accept what it is offered with MB_Accept"
        raise NotPermitted(f"{message.agent_name} may not write in {bank.name}; {advice}.")
    return False


def replacing(bank: BankRow, message: LoadMemory, now: int) -> tuple[tuple[MemoryRow, ...], list[Write]]:
    """Make the memories of a load, and the writes that replace memories of the same names.

    Raises:
        StateConflict: one of them is censored.
    """
    if any(memory.censored for memory in message.before):
        raise StateConflict("The memory of this name is censored for good; take another name, or delete it first.")
    before = {memory.name: memory for memory in message.before}
    names = part_names(message.name, message.texts)
    loaded: list[MemoryRow] = []
    texts: list[IndexedText] = []
    writes = [memories.are_replaced(bank.id, message.name, names, len(before))]
    if message.document_id is not None:
        writes.append(documents.still_whole(message.document_id))
    for number, (name, text, terms) in enumerate(zip(names, message.texts, message.terms, strict=True), 1):
        replaced = before.pop(name, None)
        memory = MemoryRow(
            position=new_number() if replaced is None else replaced.position,
            id=new_id("mem", near=bank.id) if replaced is None else replaced.id,
            name=name,
            text=text,
            author_id=message.agent_id,
            author=message.agent_name,
            author_owner_id=message.agent_owner_id,
            censored=0,
            created_at=now if replaced is None else replaced.created_at,
            updated_at=now,
        )
        loaded.append(memory)
        texts.append(indexed(memory, terms))
        part = None
        if message.document_id is not None:
            part = Part(message.document_id, number, message.name if len(names) > 1 else None)
        if replaced is None:
            writes.append(memories.add(bank.id, memory, part))
        else:
            writes.append(memories.replace(memory, part))
    writes += search_index.add(bank.collection, texts)
    removed = [memory.position for memory in before.values()]
    if removed:
        writes += quotes.pass_on(removed, loaded[0].position)
    writes += map(memories.remove_uncensored, removed)
    return tuple(loaded), writes
