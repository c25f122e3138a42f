"""The messages of a conversation or zone as the index of its archive takes and finds them."""

from collections.abc import Sequence

from actors.conversations.stored import from_row
from actors.engines import dialogue_acts
from actors.engines.message import FoundUtterance, Utterance, turn_of
from actors.retrieval.found import Found
from actors.slices import Steps
from persistence.conversations import MessageRow
from persistence.search_index import IndexedText


def found_messages(found: list[tuple[MessageRow, Found]]) -> Steps[list[FoundUtterance]]:
    """Make what engines get of rows that were found; of those read with them (score 0) only what states something."""
    complete: list[FoundUtterance] = []
    for row, one in found:
        utterance = from_row(row)
        terms = (yield from dialogue_acts.finding_facts(utterance)) if one.answers or not one.score else ()
        if terms or one.score:
            complete.append(FoundUtterance(utterance, one.score, one.share, one.answers, tuple(dict.fromkeys(terms))))
        yield
    return complete


def is_indexed(utterance: Utterance, terms: Sequence[str]) -> bool:
    """Return whether a message with these terms (of `dialogue_acts.facts`) gets a row in the index."""
    return bool(terms) and "\0" not in utterance.content  # which the store can't compare


def indexed_message(utterance: Utterance, terms: Sequence[str], a_turn: int) -> IndexedText:
    """Return a message as the index takes it; for `a_turn` see `turn_of`."""
    return IndexedText(utterance.seq, "", turn_of(utterance.seq, a_turn), terms)
