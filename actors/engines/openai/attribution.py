"""Attribution of a model's reply: the memories that it uses, and the earlier replies that it may repeat.

A model does not name its sources, so they are inferred from shared words. A false match only adds a needless source;
a missed one would keep a censored text alive in a reply.
"""

from actors.engines import dialogue_acts
from actors.engines.message import Source, Utterance
from actors.engines.openai.tools import ToolAnswer
from actors.engines.turn import Echo, Memory, Recalled
from actors.slices import Steps
from actors.text import tokenizer

_MOST = 0.5  # a reply with this share of a memory's words repeats it, whatever the question


def attributions(
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


def tool_attributions(reply: str, message: str, answers: list[ToolAnswer]) -> Steps[list[Recalled]]:
    """List the memories from tools' answers that a reply to a message may repeat."""
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
    """Return the sentence of a memory that shares most terms with a reply; the first among equals."""
    best, most = text[: dialogue_acts.MAX_QUOTE], -1
    for passage in dialogue_acts.passages(text):
        shared = len((yield from _terms(passage)) & said)
        if shared > most:
            best, most = passage, shared
    return best
