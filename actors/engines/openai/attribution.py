"""What a model's reply draws on: the memories that it was given and used, and what it may repeat of earlier replies.

A model doesn't say what it used, so shared words have to tell. A word too many costs a source that was not needed;
one too few would let a censored text live on in a reply.
"""

from actors.engines import dialogue_acts
from actors.engines.message import Source, Utterance
from actors.engines.openai.tools import ToolAnswer
from actors.engines.turn import Echo, Memory, Recalled
from actors.slices import Steps
from actors.text import tokenizer

_MOST = 0.5  # share of a memory's words from which on a reply says it again, whatever was asked


def drawn(
    reply: str, message: str, memories: tuple[Memory, ...], utterances: tuple[Utterance, ...]
) -> Steps[list[Source | Echo]]:
    """List the sources of a reply to a message, best memory first, and the agents' messages that it may repeat."""
    found: list[Source | Echo] = []
    said = yield from _terms(reply)
    asked = yield from _terms(message)
    for memory in memories:
        told = yield from _terms(f"{memory.name}\n{memory.text}")
        if _uses(said, told, asked):
            found.append(Source("bank", memory.bank, memory.name, (yield from _best_passage(memory.text, said))))
    for utterance in utterances:
        if utterance.role != "agent":
            continue
        told = yield from _terms(utterance.content)
        if _uses(said, told, asked):
            found.append(Echo(utterance.seq))
    return found


def recalled(reply: str, message: str, answers: list[ToolAnswer]) -> Steps[list[Recalled]]:
    """List the memories that tools brought in and a reply to a message may hold words of."""
    found: list[Recalled] = []
    said = yield from _terms(reply)
    asked = yield from _terms(message)
    for answer in answers:
        if answer.quoted and _uses(said, (yield from _terms(answer.text)), asked):
            found += map(Recalled, answer.quoted)
    return found


def _terms(text: str) -> Steps[set[str]]:
    found: set[str] = set((yield from tokenizer.reading(text)))
    yield
    return found


def _uses(said: set[str], told: set[str], asked: set[str]) -> bool:
    shared = said & told
    return bool(shared - asked) or (bool(shared) and len(shared) >= _MOST * len(told))


def _best_passage(text: str, said: set[str]) -> Steps[str]:
    """The sentence of a memory that a reply shares most with; the first of equals."""
    best, most = text[: dialogue_acts.MAX_QUOTE], -1
    for passage in dialogue_acts.passages(text):
        shared = len((yield from _terms(passage)) & said)
        if shared > most:
            best, most = passage, shared
    return best
