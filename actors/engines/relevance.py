"""The question in a message, as chats and MB_Recall understand it."""

from actors.engines import dialogue_acts
from actors.retrieval.question import Question
from actors.slices import Steps
from actors.text import answer_kinds, tokenizer

_AT_A_TIME = 4  # sentences that are read in one step


def asked_terms(text: str) -> Steps[list[str]]:
    """Return the terms of the question in a message, where nothing else of the message is needed."""
    if len(text) <= tokenizer.SLICE_CHARS:
        said = dialogue_acts.spoken(text)
        if len(dialogue_acts.passages(said)) < 2:
            words = tokenizer.split(said)
            return answer_kinds.asked_for(words) + tokenizer.terms(words)
    message = yield from dialogue_acts.analysing(text)
    return (yield from terms_asked_for(message, dialogue_acts.passages(message.text)))


def asking(text: str, name: str = "") -> Steps[Question]:
    """Return the question in a message, as a chat with the agent of this name understands it."""
    message = yield from dialogue_acts.analysing(text)
    terms_of_name = frozenset(tokenizer.terms(tokenizer.split(name)) if name else ())
    return Question((yield from terms_asked_for(message, dialogue_acts.passages(message.text), terms_of_name)))


def terms_asked_for(
    message: dialogue_acts.Analysis, sentences: list[str], name: frozenset[str] = frozenset()
) -> Steps[list[str]]:
    """Return the terms of the sentences that ask, or of all if those have too few; without the agent's name.

    The kinds of answers that they ask for come first.
    """
    terms: list[str] = []
    kinds: list[str] = []
    if len(sentences) > 1:
        for number, sentence in enumerate(sentences, 1):
            split = tokenizer.split(sentence)
            if dialogue_acts.asks(sentence, split):
                terms += tokenizer.terms(split)
                kinds += answer_kinds.asked_for(split)
            if not number % _AT_A_TIME:
                yield
    else:
        kinds = answer_kinds.asked_for(message.words)
    terms = terms or message.terms
    if name.isdisjoint(terms):
        return kinds + terms
    return kinds + ([term for term in terms if term not in name] or terms)
