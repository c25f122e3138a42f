"""What a model's reply draws on: the memories that it was given and used, and what it may repeat of earlier replies.

A model doesn't say what it used, so shared words have to tell. A word too many costs a source that was not needed;
one too few would let a censored text live on in a reply.
"""

from collections.abc import Iterator

from actors.engines import speech, words
from actors.engines.engine import Echo, Memory, Recalled, Source, Utterance
from actors.engines.tools import ToolAnswer

_MOST = 0.5  # share of a memory's words from which on a reply says it again, whatever was asked


def drawn(
    reply: str, message: str, memories: tuple[Memory, ...], utterances: tuple[Utterance, ...]
) -> Iterator[Source | Echo]:
    """Yield the sources of a reply to a message, best memory first, and the agents' messages that it may repeat."""
    said = _terms(reply)
    asked = _terms(message)
    for memory in memories:
        told = _terms(f"{memory.name}\n{memory.text}")
        if _uses(said, told, asked):
            yield Source("bank", memory.bank, memory.name, _best_passage(memory.text, said))
    for utterance in utterances:
        if utterance.role == "agent" and _uses(said, _terms(utterance.content), asked):
            yield Echo(utterance.seq)


def recalled(reply: str, message: str, answers: list[ToolAnswer]) -> Iterator[Recalled]:
    """Yield the memories that tools brought in and a reply to a message may hold words of."""
    said, asked = _terms(reply), _terms(message)
    for answer in answers:
        if answer.quoted and _uses(said, _terms(answer.text), asked):
            yield from map(Recalled, answer.quoted)


def _terms(text: str) -> set[str]:
    return set(words.terms(words.split(text)))


def _uses(said: set[str], told: set[str], asked: set[str]) -> bool:
    shared = said & told
    return bool(shared - asked) or (bool(shared) and len(shared) >= _MOST * len(told))


def _best_passage(text: str, said: set[str]) -> str:
    """The sentence of a memory that a reply shares most with; the first of equals."""
    passages = speech.passages(text)
    return max(passages, key=lambda passage: len(_terms(passage) & said), default=text[: speech.MAX_QUOTE])
