"""The search in all conversations of a user (CV_Search).

Messages that are not indexed are read: a conversation's newest ones, which its agent keeps in memory, and all of a
short conversation. So are conversations of a moderate length, because an index has only what states something, and a
question of long ago is to be found, too. Longer ones are searched through their indexes. Both are scored by the same
formula, with the frequencies of both. The work is bounded whatever a user has: see the constants.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from actors.conversations.stored import from_row
from actors.engines import dialogue_acts
from actors.engines.message import A_PRIVATE_TURN, turn_of
from actors.engines.relevance import question_in
from actors.retrieval import stored
from actors.retrieval.question import Question
from actors.retrieval.scan import Scan
from actors.retrieval.stored import MAX_LOOKED_UP, OtherTexts
from actors.slices import Steps, sliced
from actors.text.answer_kinds import is_kind
from persistence import conversation_search, search_index
from persistence.conversation_search import Searched, Stretch
from persistence.conversations import MessageRow
from persistence.kept_to import Ids
from persistence.search_index import Collection
from persistence.store import Reads, Store, rows_of

MAX_CONVERSATIONS = 5_000
"""The number of conversations that a search looks at, the most recently used ones."""

MAX_SCANNED = 10_000
"""The number of messages without index that a search reads, those of the most recently used conversations."""

MAX_READ_WHOLE = 2_000
"""The number of messages up to which indexed ones are read, too, those of the most recently used conversations."""

MAX_SCANNED_CHARS = 4_000_000
"""The number of characters of such messages after which no further are read."""

AT_ONCE_OF_USER = 2
"""The number of searches of one user at a time; others of its wait, so that they hold up nobody else's requests."""

MAX_INDEXES = 64
"""The number of conversations whose indexes are searched, the most recently used ones."""

STATES_NOTHING = 0.5
"""The weight of a question, a greeting, or a reply that only quotes, beside a message that states something."""

_READ_AT_ONCE = 250  # messages

_Place = tuple[int, int]
"""A conversation's number and a message's seq."""


class FoundMessage(NamedTuple):
    """A message that was found, with the number of its conversation and the id of the agent there."""

    conversation: int
    agent_id: str
    row: MessageRow


async def search(
    store: Store, user_id: str, text: str, limit: int, *, agent_ids: Ids = None, conversation: int | None = None
) -> list[FoundMessage]:
    """Find the messages of a user's conversations that match a text best, best first; of equals the newest first.

    A question is also answered by what was said just before or after its words; other texts only by their own words.

    Args:
        store: where they are.
        user_id: whose conversations are searched.
        text: the words to find, or a question.
        limit: the number of messages to find.
        agent_ids: searches only the conversations with these agents.
        conversation: searches only this one, by its number.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    message = await sliced(dialogue_acts.analysing(text))
    question = await sliced(question_in(message))
    if not question.terms:
        return []
    searched = await store.fetch(conversation_search.searched(user_id, agent_ids, conversation, MAX_CONVERSATIONS))
    # First the messages without index: one that is indexed in between is then found twice, and never missed.
    stretches = _stretches(searched)
    scan, places = await _scanned(store, stretches)
    indexes = _indexes(searched, stretches)
    scanned = OtherTexts(len(scan), scan.frequencies(_looked_up(question)))
    found, elsewhere = await store.read(_in_indexes(indexes, question, limit, scanned, beside=message.asks))
    for score, number in await sliced(scan.searching(question, limit, elsewhere, beside=message.asks)):
        found[places[number]] = score
    used = {one.number: -rank for rank, one in enumerate(searched)}
    ranked = sorted(found, key=lambda place: (found[place], used[place[0]], place[1]), reverse=True)[:limit]
    rows = await store.fetch(conversation_search.messages_at(user_id, ranked))
    messages = {(number, row.seq): FoundMessage(number, agent, row) for number, agent, row in rows}
    return [messages[place] for place in ranked if place in messages]


def _in_indexes(
    indexes: Sequence[tuple[int, Collection]], question: Question, limit: int, scanned: OtherTexts, *, beside: bool
) -> Reads[tuple[dict[_Place, float], OtherTexts]]:
    """Find indexed messages and their scores; also return the frequencies of the terms in all of these indexes."""
    asked = _looked_up(question)
    having: list[dict[str, int]] = []
    for _, collection in indexes:
        known = yield from rows_of(search_index.frequencies(collection.number, asked))
        having.append({term: documents for term, _, documents in known})
    in_all = {term: sum(counts.get(term, 0) for counts in having) for term in asked}
    texts = sum(collection.texts for _, collection in indexes)
    found: dict[_Place, float] = {}
    for (number, collection), counts in zip(indexes, having, strict=True):
        others = {term: in_all[term] - counts.get(term, 0) + scanned.frequencies.get(term, 0) for term in asked}
        elsewhere = OtherTexts(texts - collection.texts + scanned.texts, others)
        for hit in (yield from stored.search(collection, question, limit, elsewhere, beside=beside)):
            found[number, hit.document] = hit.score
    return found, OtherTexts(texts, in_all)


def _looked_up(question: Question) -> list[str]:
    return list(islice(question.terms, MAX_LOOKED_UP))


# without index


def _stretches(searched: Sequence[Searched]) -> list[Stretch]:
    """List what is read of the conversations: all that is not indexed, and the rest where it is not too much."""
    after: dict[int, int] = {}
    left = MAX_SCANNED
    for one in searched:
        read = min(one.last_seq - _reached(one), left)
        left -= read
        after[one.number] = one.last_seq - read
    left = MAX_READ_WHOLE - (MAX_SCANNED - left)
    for one in searched:
        if after[one.number] <= left:
            left -= after[one.number]
            after[one.number] = 0
    return [Stretch(one.number, after[one.number], one.last_seq) for one in searched]


def _reached(one: Searched) -> int:
    return min(one.collection.reached, one.last_seq) if one.collection else 0


def _indexes(searched: Sequence[Searched], stretches: Sequence[Stretch]) -> list[tuple[int, Collection]]:
    """List the indexes of the conversations that are not read whole."""
    pairs = zip(searched, stretches, strict=True)
    indexes = ((one.number, one.collection) for one, read in pairs if one.collection and read.after)
    return list(islice(indexes, MAX_INDEXES))


async def _scanned(store: Store, stretches: Sequence[Stretch]) -> tuple[Scan, list[_Place]]:
    """Read messages, and return them with their places in the same order; of too much text only the first."""
    scan, places, chars = Scan(), list[_Place](), 0
    for portion in _portions(stretches):
        rows = await store.fetch(conversation_search.messages_of(portion))
        await sliced(_scanning(scan, rows))
        places += [(number, row.seq) for number, row in rows]
        chars += sum(len(row.content) for _, row in rows)
        if chars >= MAX_SCANNED_CHARS:
            break
    return scan, places


def _portions(stretches: Iterable[Stretch]) -> Iterator[list[Stretch]]:
    """Divide stretches into portions of `_READ_AT_ONCE` messages, in their order, each from its end on."""
    portion, room = list[Stretch](), _READ_AT_ONCE
    for number, first, last in stretches:
        upto = last
        while upto > first:
            after = max(first, upto - room)
            portion.append(Stretch(number, after, upto))
            room -= upto - after
            upto = after
            if not room:
                yield portion
                portion, room = [], _READ_AT_ONCE
    if portion:
        yield portion


def _scanning(scan: Scan, rows: Sequence[tuple[int, MessageRow]]) -> Steps[None]:
    for conversation, row in rows:
        message = yield from dialogue_acts.analysing(row.content)
        states = yield from dialogue_acts.finding_facts(from_row(row))
        if states:
            place = conversation, turn_of(row.seq, A_PRIVATE_TURN)
            scan.add([*message.terms, *filter(is_kind, states)], place=place)
        else:
            scan.add(message.terms, STATES_NOTHING)
        yield
