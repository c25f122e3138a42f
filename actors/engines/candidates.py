"""The candidates for an answer of the engine `recall`, and the rank of messages of the conversation among them."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import structs

from actors.engines import dialogue_acts
from actors.engines.continuation import continuation, next_statement
from actors.engines.message import FoundUtterance, Utterance
from actors.engines.turn import Memory, Turn
from actors.engines.updates import newer_statement
from actors.retrieval.numbers import best_placed, numbers_in
from actors.retrieval.question import SURE, Question
from actors.text import answer_kinds, tokenizer
from actors.text.answer_kinds import ASKS, is_kind, is_told
from actors.text.tokenizer import lexicon

_REPEATS = 0.7  # the part of its share that a message keeps that has no word but the question's
_I = lexicon("i ich je yo")
_CORRECTS = re.compile(
    r"(?:actually|no|nope|sorry|oops|correction|wait|rather|i meant|i mean|make (?:it|that)|eigentlich|nein|doch"
    r"|korrektur|entschuldigung|ich meinte?|en fait|non|pardon|je voulais dire|en realidad|perdón|mejor dicho"
    r"|quería decir)\b",
    re.IGNORECASE,
)
_RETRACTS = re.compile(
    r"""(?:(?:no|nein|non)\b[\s,]+)?(?:hold\ on|hang\ on|scratch\ that|strike\ that|my\ mistake|my\ bad|i\ was\ wrong
    |nee|moment|halt|quatsch|stimmt\ nicht|attends|attendez|je\ me\ suis\ trompée?|perdona|espera|me\ equivoqué)
    \s*[,.:;!\u2013\u2014-]+\s*(?=\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_MEANT = lexicon("it its it's that meant mean make es das meine meinte c ce voulais era es eso quería")
_SHORT = 4  # words


class Candidate(NamedTuple):
    """A possible answer; its best passage is chosen from `text` only if it is quoted."""

    share: float  # of the question's terms, 0 to 1
    kind: Literal["bank", "conversation", "profile"]
    of: str
    id: str
    lead: str
    text: str
    echo: int = 0
    """The seq of a message of an agent, which may repeat memories without a source."""
    later: bool = False
    """Whether it may change or complete the candidate before it, so that it is quoted whatever its subject is."""


class _Hit(NamedTuple):
    """A message that may answer, by rank; of about equal ones the newest is the best."""

    share: float
    of_self: bool
    """Whether it says "I", as the question does: "Where do I live?" asks for nobody else's home."""
    score: float
    seq: int
    utterance: Utterance


def in_conversation(
    turn: Turn, query: Question, hits: Sequence[FoundUtterance], *, sure: bool = False
) -> list[Candidate]:
    """Return the messages with the largest share, best first, each after those that correct it.

    `sure`: only those without doubt, as they are. Those that only repeat words of the question come after the others.
    """
    if not hits:
        return []
    found: list[_Hit] = []
    leaders: dict[frozenset[str], float] = {}
    numbers = numbers_in(query)
    owners: set[str] = set()
    if named := answer_kinds.owners(turn.message):
        owners = set(tokenizer.terms(named))
        hits = _of_these(owners, query, hits)
    if numbers and len(hits) > 1:
        hits = best_placed(hits, [numbers.placed(hit.terms) for hit in hits])
    for utterance, score, share, answers, known in hits:
        if not (share >= SURE if sure else answers) or utterance.content == turn.message:
            continue
        if ASKS in known and dialogue_acts.only_asks(utterance.content):
            continue
        matched = frozenset(filter(query.terms.__contains__, known))
        # "Locker code, please." is no answer, but may stand beside one; "Ada is ill." is one to "Is Ada ill?"
        repeats = all(is_kind(term) for term in known if term not in matched)
        repeats = repeats and not dialogue_acts.asks_whether(tokenizer.first_words(turn.message))
        part = share * _REPEATS if repeats else share
        part = numbers.share(part, known) if numbers else part
        leader = leaders.setdefault(matched, score)
        found.append(_Hit(part, False, leader if score > leader * 0.7 else score, utterance.seq, utterance))
    if len(found) > 1 and not sure and turn.older is None and is_told(hits[0].utterance.content):
        return _as_ranked(turn, found)
    if len(found) > 1:
        if not _I.isdisjoint(tokenizer.last_words(turn.message)):
            found = [hit._replace(of_self=_says_i(hit.utterance)) for hit in found]
        found.sort(key=_by_rank, reverse=True)
    if sure or not found:
        return [of_utterance(turn, hit.share, hit.utterance) for hit in found]
    best = found[0].utterance
    candidates = [of_utterance(turn, hit.share, hit.utterance) for hit in _corrected(turn, found)]
    hit = next(hit for hit in hits if hit.utterance is best)
    if newer := newer_statement(turn, query, owners, hit):
        return _followed(candidates, "Later", of_utterance(turn, found[0].share, newer))
    following = continuation(turn, query, hit) if candidates[0].id == best.id else None
    return _followed(candidates, "Then", of_utterance(turn, found[0].share, following)) if following else candidates


def _followed(candidates: list[Candidate], when: str, later: Candidate) -> list[Candidate]:
    """Put what was said later behind the best candidate, unless it is the best already."""
    if candidates[0].id == later.id:
        return candidates
    lead = "you said" if later.lead == "You said" else later.lead
    return behind_best(candidates, later._replace(lead=f"{when} {lead}"))


def behind_best(candidates: list[Candidate], later: Candidate) -> list[Candidate]:
    """Put what changes or completes the best candidate right behind it, where it stands only once."""
    best, *others = candidates
    return [best, later._replace(later=True), *[one for one in others if (one.of, one.id) != (later.of, later.id)]]


def _of_these(owners: set[str], query: Question, hits: Sequence[FoundUtterance]) -> Sequence[FoundUtterance]:
    """Leave out what tells of the same of others than these: "My shoe size is 39." for "What is Ada's shoe size?".

    With it goes what was found only by the words of messages beside it.
    """
    left = [
        hit
        for hit in hits
        if not owners.isdisjoint(hit.terms)
        or query.terms.keys().isdisjoint(tokenizer.terms(answer_kinds.owned(hit.utterance.content)))
    ]
    return hits if len(left) == len(hits) else [hit for hit in left if not query.terms.keys().isdisjoint(hit.terms)]


def by_numbers(query: Question, memories: list[Memory]) -> list[Memory]:
    """Sort memories, best first, anew by the numbers that a question names, as messages are; some are left out."""
    numbers = numbers_in(query)
    if numbers is None:
        return memories
    read: list[Memory] = []
    placed: list[int] = []
    for memory in memories:
        terms = tokenizer.terms(tokenizer.split(memory.text[: tokenizer.SLICE_CHARS]))
        is_short = len(memory.text) <= tokenizer.SLICE_CHARS
        read.append(structs.replace(memory, share=numbers.share(memory.share, terms)) if is_short else memory)
        placed.append(numbers.placed(terms))
    return sorted(best_placed(read, placed), key=lambda memory: memory.share, reverse=True)


def _as_ranked(turn: Turn, found: list[_Hit]) -> list[Candidate]:
    """Return the turns of a dialogue that was told in the order of the search; none ranks below one that follows."""
    candidates: list[Candidate] = []
    best = 0.0
    for hit in reversed(found):
        best = max(best, hit.share)
        candidates.append(of_utterance(turn, best, hit.utterance))
    return candidates[::-1]


def _by_rank(hit: _Hit) -> tuple[float, bool, float, int]:
    return hit[:4]


def _says_i(utterance: Utterance) -> bool:
    return not _I.isdisjoint(tokenizer.first_words(utterance.content))


def _corrected(turn: Turn, found: list[_Hit]) -> list[_Hit]:
    """Put the next statement before a message if it corrects it, whoever says so: "Actually it's redfox13."."""
    seen: set[int] = set()
    complete: list[_Hit] = []
    for hit in found:
        if hit.seq in seen:
            continue
        newest_last = [hit]
        correction = next_statement(turn, hit.utterance)
        while correction is not None and correction.seq not in seen and _corrects(correction.content):
            newest_last.append(hit._replace(seq=correction.seq, utterance=correction))
            correction = next_statement(turn, correction)
        seen.update(one.seq for one in newest_last)
        complete += reversed(newest_last)
    return complete


def _corrects(text: str) -> bool:
    """Return whether a statement corrects the one before it, without a subject of its own."""
    if retracting := _RETRACTS.match(text):  # "No, hang on, the 22nd. The 25th was the labels."
        text, *_ = dialogue_acts.passages(text[retracting.end() :])
    elif not _CORRECTS.match(text):
        return False
    words = tokenizer.first_words(text)
    return len(words) <= _SHORT or not _MEANT.isdisjoint(words)


def of_utterance(turn: Turn, share: float, utterance: Utterance) -> Candidate:
    """Return a message as a candidate with this share of the question's terms."""
    name = utterance.name
    if utterance.role == "user":
        lead = "You said" if turn.speaker in ("", name) else f"{name} said"
    else:
        lead = "I said" if name == turn.persona.name else f"{name} said"
    echo = utterance.seq if utterance.role == "agent" else 0
    return Candidate(share, "conversation", turn.label, utterance.id, lead, utterance.content, echo)
