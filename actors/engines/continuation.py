"""Finds the continuation of an answer: the next statement, where the answer stops before the point of the question.

"Dai came, it was a loose fan blade." and "He took £85." answer "What did Dai charge?" only together.
"""

from actors.engines.message import FoundUtterance, Utterance
from actors.engines.turn import Turn
from actors.retrieval.question import Question
from actors.text import answer_kinds, tokenizer
from actors.text.tokenizer import lexicon

FOLLOWING = 6
"""The number of messages after one from the store among which its next statement is looked for."""

_LEADS = lexicon("and but so well then also anyway oh und aber dann also et mais alors puis y pero e ma poi")
_PRONOUNS = lexicon(
    """he she it they him her his hers its their theirs them that
    er sie es ihn ihm ihr ihre ihren sein seine seinen seiner dort dafür dabei damit
    il elle ils elles lui leur son sa ses ça él ellos su sus eso"""
)
_IT = lexicon("it es that ça eso")
_OF_NOTHING = lexicon(  # "It's cold today.", "Es gibt Kuchen."
    "s is was will got gets looks feels seems rains rained snowed ist war wird regnet gibt gab geht tut est était era"
)
_WHY = lexicon("why warum wieso weshalb weswegen pourquoi perché")
_BECAUSE = lexicon(
    """because cause reason blames weil denn deshalb deswegen nämlich daher darum wegen
    parce car puisque raison porque pues perché poiché"""
)
MAX_REASONS = 3
"""The number of statements after an answer, one of which may tell the reason."""


def continuation(turn: Turn, question: Question, answer: FoundUtterance) -> Utterance | None:
    """Return the statement after an answer if it goes on with it; None if it doesn't, or if nothing is missing.

    The same speaker says it. Where a reason is asked for it may be one of the next few. For what goes on see `goes_on`.
    """
    said = answer.utterance
    if said.role != "user" or question.is_met_by(answer.terms):
        return None
    if asks_why(turn.message):
        if tells_reason(said.content):
            return None
        if reason := _reason(turn, said):
            return reason
    following = next_statement(turn, said)
    if following is None or following.name != said.name:
        return None
    return following if goes_on(question, following.content) else None


def goes_on(question: Question, text: str) -> bool:
    """Return whether a text goes on with the one before it, which lacks the kind of answer that is asked for, if any.

    It begins with a pronoun, but not as "It's cold today." does. Where a number or date is asked for it has to hold
    one, and may begin with it.
    """
    words = tokenizer.first_words(text)
    start = next((place for place, word in enumerate(words) if word not in _LEADS), 0)
    first, second = [*words[start : start + 2], "", ""][:2]
    if question.needs:
        held = answer_kinds.held(text[: tokenizer.SLICE_CHARS], words)
        begins = first in _PRONOUNS or (first and answer_kinds.held(first, [first]))
        return bool(begins) and question.is_met_by(held)
    return first in _PRONOUNS and not (first in _IT and second in _OF_NOTHING)


def _reason(turn: Turn, answer: Utterance) -> Utterance | None:
    """Return the one of the next few statements of the same speaker that tells a reason."""
    following: Utterance | None = answer
    for _ in range(MAX_REASONS):
        following = next_statement(turn, following)
        if following is None or (following.name == answer.name and tells_reason(following.content)):
            return following
    return None


def asks_why(question: str) -> bool:
    """Return whether a question asks for a reason."""
    return not _WHY.isdisjoint(tokenizer.last_words(question))


def tells_reason(text: str) -> bool:
    """Return whether a text tells the reason of something."""
    return not _BECAUSE.isdisjoint(tokenizer.first_words(text))


def next_statement(turn: Turn, utterance: Utterance) -> Utterance | None:
    """Return the next statement of a user, in memory or among the older messages that were looked up."""
    following = turn.window.next_statement(utterance)
    if not turn.older:
        return following
    first, last = utterance.seq + 1, utterance.seq + FOLLOWING
    later = [one for one, *_ in turn.older if one.role == "user" and first <= one.seq <= last]
    if following is not None:
        later.append(following)
    return min(later, key=_seq, default=None)


def _seq(utterance: Utterance) -> int:
    return utterance.seq
