"""The question in a message, as chats and MB_Recall understand it."""

import re

from actors.engines import dialogue_acts
from actors.retrieval.question import Question
from actors.slices import Steps
from actors.text import answer_kinds, tokenizer
from actors.text.tokenizer import lexicon

_AT_A_TIME = 4  # sentences that are read in one step
_NEAR = 8  # sentences, the last of which may refer to the one before: "I miss Bernie's will. Where did I put it?"
_MAX_NAMED = 3  # terms
_PRONOUNS = lexicon(
    """he she they him her his hers them their theirs er sie ihn ihm ihr ihnen seine seinen ihre ihren
    il elle ils elles lui leur sa ses él ellos ellas su sus"""
)
_IT = lexicon("it its es")
_NAME = re.compile(r"(?<=[ ,;:])[A-ZÄÖÜÀ-ÝŁ][\w-]+(?:['\u2019]s \w+)?")


def asked_terms(text: str) -> Steps[list[str]]:
    """Return the terms of the question in a message, where nothing else of the message is needed."""
    if len(text) <= tokenizer.SLICE_CHARS:
        said = dialogue_acts.spoken(text)
        if len(dialogue_acts.passages(said)) < 2:
            said = dialogue_acts.direct(said)
            words = tokenizer.split(said)
            kinds, terms = _asked_in(words)
            return kinds + terms
    message = yield from dialogue_acts.analysing(text)
    return (yield from terms_asked_for(message, dialogue_acts.passages(message.text)))


def asking(text: str, name: str = "") -> Steps[Question]:
    """Return the question in a message, as a chat with the agent of this name understands it."""
    return (yield from question_in((yield from dialogue_acts.analysing(text)), name))


def question_in(message: dialogue_acts.Analysis, name: str = "") -> Steps[Question]:
    """Return the question in a message that was analysed; see `asking`."""
    terms_of_name = frozenset(tokenizer.terms(tokenizer.split(name)) if name else ())
    return Question((yield from terms_asked_for(message, dialogue_acts.passages(message.text), terms_of_name)))


def terms_asked_for(
    message: dialogue_acts.Analysis, sentences: list[str], name: frozenset[str] = frozenset()
) -> Steps[list[str]]:
    """Return the terms of the sentences that ask, or of all if those have too few; without the agent's name.

    The kinds of answers that they ask for come first.
    """
    if len(sentences) < 2:
        kinds, terms = _asked_in(message.words, message.terms)
        return kinds + _without(name, terms or message.terms)
    asked = yield from _that_ask(sentences)
    if len(asked) == 1:
        (words,) = asked
        kinds, terms = _asked_in(words)
        if terms and not (_PRONOUNS if Question(terms).tells_subject else _PRONOUNS | _IT).isdisjoint(words):
            terms += [term for term in _named_before(words, sentences) if term not in terms]
    else:
        kinds = [kind for words in asked for kind in answer_kinds.asked_for(words)]
        terms = [term for words in asked for term in tokenizer.terms(words)]
    return kinds + _without(name, terms or message.terms)


def _named_before(words: list[str], sentences: list[str]) -> list[str]:
    """Return the terms of what the sentence before one with these words names, if that is little."""
    before = ""
    for sentence in sentences[:_NEAR]:
        if before and tokenizer.split(sentence) == words:
            named = [word for name in _NAME.findall(before) for word in tokenizer.split(name)]
            terms = tokenizer.terms(named)
            return terms if len(terms) <= _MAX_NAMED else []
        before = sentence
    return []


def questions_apart(text: str, name: frozenset[str]) -> Steps[list[Question]]:
    """Return the question of each sentence that asks, if several do with a mark, without the agent's name.

    Left out are sentences that ask only by their mark ("The butcher?"), and those of words that say little.
    """
    if text.count("?") < 2:
        return []
    asked = yield from _that_ask([sentence.rstrip("?! ") for sentence in dialogue_acts.passages(text)])
    questions: list[Question] = []
    for words in asked:
        kinds, terms = _asked_in(words)
        questions.append(Question(kinds + _without(name, terms)))
    return [question for question in questions if question.tells_subject]


def _that_ask(sentences: list[str]) -> Steps[list[list[str]]]:
    """Return the words of the sentences that ask, of indirect questions those of the direct ones."""
    asked: list[list[str]] = []
    for number, sentence in enumerate(sentences, 1):
        words = tokenizer.split(sentence)
        if dialogue_acts.asks(sentence, words):
            direct = dialogue_acts.direct(sentence)
            asked.append(words if direct is sentence else tokenizer.split(direct))
        if not number % _AT_A_TIME:
            yield
    return asked


def _asked_in(words: list[str], terms: list[str] | None = None) -> tuple[list[str], list[str]]:
    """Return the kinds of answers that a question asks for, and the terms of its subject; `terms` are all, if known."""
    kinds = answer_kinds.asked_for(words)
    if answer_kinds.AGE in kinds and len(words) <= tokenizer.SLICE_CHARS:
        return kinds, tokenizer.terms(answer_kinds.subject(words))
    return kinds, tokenizer.terms(words) if terms is None else terms


def _without(name: frozenset[str], terms: list[str]) -> list[str]:
    if name.isdisjoint(terms):
        return terms
    return [term for term in terms if term not in name] or terms
