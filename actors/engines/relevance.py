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
            words = tokenizer.split(dialogue_acts.direct(said))
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
        for kinds_of_one, terms_of_one in (yield from _asked_by_each(sentences)):
            kinds += kinds_of_one
            terms += terms_of_one
    else:
        kinds = answer_kinds.asked_for(message.words)
    return kinds + _without(name, terms or message.terms)


def questions_apart(sentences: list[str], name: frozenset[str]) -> Steps[list[Question]]:
    """Return the question of each sentence that asks, if several do, without the agent's name.

    Those that consist of words that say little are left out: "Do you need it?" asks for anything.
    """
    asked = (yield from _asked_by_each(sentences)) if len(sentences) > 1 else []
    if len(asked) < 2:
        return []
    questions = [Question(kinds + _without(name, terms)) for kinds, terms in asked]
    return [question for question in questions if question.tells_subject]


def _asked_by_each(sentences: list[str]) -> Steps[list[tuple[list[str], list[str]]]]:
    """Return the kinds of answers and the terms that each sentence asks for, of those that ask."""
    asked: list[tuple[list[str], list[str]]] = []
    for number, sentence in enumerate(sentences, 1):
        words = tokenizer.split(sentence)
        if dialogue_acts.asks(sentence, words):
            words = tokenizer.split(dialogue_acts.direct(sentence))
            asked.append((answer_kinds.asked_for(words), tokenizer.terms(words)))
        if not number % _AT_A_TIME:
            yield
    return asked


def _without(name: frozenset[str], terms: list[str]) -> list[str]:
    if name.isdisjoint(terms):
        return terms
    return [term for term in terms if term not in name] or terms
