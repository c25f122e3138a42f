"""The sentence of a text that the engine `recall` quotes."""

import re

from actors.engines import dialogue_acts
from actors.retrieval.question import Question
from actors.slices import Steps
from actors.text import tokenizer

_AT_A_TIME = 4  # sentences that are read in one step
_LABEL = re.compile(r"[^\W\d][^:.!?\n]{0,39}: ")


def best_passage(text: str, passages: list[str], query: Question) -> Steps[str]:
    """Return the passage with the largest share, statements before questions, the first of equals.

    A label that the text begins with ("Imogen: ") says who speaks, or of what, in every passage.
    A quoted question (from a memory of questions and answers) takes along the passage after it, its answer.
    """
    if not passages:
        return ""
    best, highest = 0, (-1.0, False)
    label = _LABEL.match(passages[0])
    of_label = tokenizer.terms(tokenizer.split(label.group())) if label else []
    for number, passage in enumerate(passages):
        words = tokenizer.split(passage)
        share, _ = yield from query.weighing(of_label + tokenizer.terms(words))
        rank = (share, dialogue_acts.is_statement(passage, words))
        if rank > highest:
            best, highest = number, rank
        if number % _AT_A_TIME == _AT_A_TIME - 1:
            yield
    quote = passages[best]
    if not highest[1] and best + 1 < len(passages):
        following = passages[best + 1]
        start = text.index(quote)
        end = text.index(following, start + len(quote)) + len(following)
        if end - start <= dialogue_acts.MAX_QUOTE:
            return text[start:end]
    return quote
