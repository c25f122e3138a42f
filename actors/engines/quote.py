"""The sentence of a text that the engine `recall` quotes."""

import re

from actors.engines import dialogue_acts
from actors.retrieval.question import Question
from actors.slices import Steps
from actors.text import answer_kinds, tokenizer

MAX_SOURCES = 3
"""The largest number of sources of a reply."""

_AT_A_TIME = 4  # sentences that are read in one step
_LABEL = re.compile(r"[^\W\d][^:.!?\n]{0,39}: ")


def best_passage(text: str, passages: list[str], query: Question) -> Steps[str]:
    """Return the passage with the largest share, the first of equals.

    Of equals those with the kind of answer that is asked for come before others, and statements before questions.

    A label that the text begins with ("Imogen: ") says who speaks, or of what, in every passage.
    A passage takes along the one beside it that has words of the question which it lacks, and a quoted question (from a
    memory of questions and answers) the passage after it, its answer. A text that was found by the texts beside it, not
    by its own words, is quoted from its beginning.
    """
    if not passages:
        return ""
    best, highest = 0, (-1.0, False, False)
    label = _LABEL.match(passages[0])
    of_label = tokenizer.terms(tokenizer.split(label.group())) if label else []
    for number, passage in enumerate(passages):
        words = tokenizer.split(passage)
        share, _ = yield from query.weighing(of_label + tokenizer.terms(words))
        fits = not query.needs or query.fits(0.0, answer_kinds.held(passage, words))
        rank = (share, fits, dialogue_acts.is_statement(passage, words))
        if rank > highest:
            best, highest = number, rank
        if number % _AT_A_TIME == _AT_A_TIME - 1:
            yield
    share, _, states = highest
    if not states and best + 1 < len(passages):
        return _span(text, passages[best : best + 2]) or passages[best]
    if share < 1:
        if share <= (yield from query.weighing(of_label))[0]:
            return _opening(text, passages)
        for first in (best, max(best - 1, 0)):  # with the passage after it, or the one before
            pair = passages[first : first + 2]
            together, _ = yield from query.weighing(of_label + tokenizer.terms(tokenizer.split(" ".join(pair))))
            if together > share and (span := _span(text, pair)):
                return span
    return passages[best]


def _opening(text: str, passages: list[str]) -> str:
    """Return the first passages of a text, as many as a quote has room for."""
    quote = passages[0]
    for count in range(2, len(passages) + 1):
        span = _span(text, passages[:count])
        if not span:
            break
        quote = span
    return quote


def _span(text: str, passages: list[str]) -> str:
    """Return the part of a text from the first of these passages to the last; "" if it is too long for a quote."""
    start = text.index(passages[0])
    end = start
    for passage in passages:
        end = text.index(passage, end) + len(passage)
    return text[start:end] if end - start <= dialogue_acts.MAX_QUOTE else ""
