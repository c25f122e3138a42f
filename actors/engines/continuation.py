"""What goes on with an answer: the next statement, where the answer stops before what is asked for.

"Dai came, it was a loose fan blade." and "He took £85." answer "What did Dai charge?" only together.
"""

from actors.engines.message import FoundUtterance, Utterance
from actors.engines.turn import Turn
from actors.engines.window import MAX_BETWEEN
from actors.retrieval.question import Question
from actors.text import answer_kinds, tokenizer
from actors.text.tokenizer import lexicon

_LEADS = lexicon("and but so well then also anyway oh und aber dann also et mais alors puis y pero e ma poi")
_PRONOUNS = lexicon(
    """he she it they him her his hers its their theirs them that this these
    er sie es ihn ihm ihr ihre ihren sein seine seinen seiner dort dafür dabei damit
    il elle ils elles lui leur son sa ses ça él ella ellos su sus eso"""
)
_IT = lexicon("it es that this ça eso")
_OF_THE_WEATHER = lexicon("s is was will looks feels seems rains rained snowed ist war wird regnet est était es era")


_WHY = lexicon("why warum wieso weshalb weswegen pourquoi perché")
_BECAUSE = lexicon(
    """because since cause reason blames weil denn deshalb deswegen nämlich daher darum wegen grund
    parce car puisque raison porque pues perché poiché"""
)
_MAX_REASONS = 3  # statements after an answer, one of which may tell the reason


def continuation(turn: Turn, question: Question, answer: FoundUtterance) -> Utterance | None:
    """Return the statement after an answer if it goes on with it; None if it doesn't, or if nothing is missing.

    Where a reason is asked for it may be one of the next few. For what goes on see `goes_on`.
    """
    if answer.utterance.role != "user" or any(kind in answer.terms for kind in question.needs):
        return None
    if not _WHY.isdisjoint(tokenizer.split(turn.message)) and (reason := _reason(turn, answer.utterance)):
        return reason
    following = next_statement(turn, answer.utterance)
    return following if following is not None and goes_on(question, following.content) else None


def goes_on(question: Question, text: str) -> bool:
    """Return whether a text goes on with the one before it, which lacks the kind of answer that is asked for, if any.

    It begins with a pronoun, but not as "It's cold today." does. Where a number or date is asked for it has to hold
    one, and may begin with it.
    """
    words = tokenizer.split(text)
    while len(words) > 1 and words[0] in _LEADS:
        del words[0]
    first, second = [*words, "", ""][:2]
    if question.needs:
        held = answer_kinds.held(text, words)
        begins = first in _PRONOUNS or answer_kinds.held(first, words[:1])
        return bool(begins) and any(kind in held for kind in question.needs)
    return first in _PRONOUNS and not (first in _IT and second in _OF_THE_WEATHER)


def _reason(turn: Turn, answer: Utterance) -> Utterance | None:
    """Return the one of the next few statements that tells a reason; None if the answer does, or none of them."""
    if _tells_reason(answer):
        return None
    following: Utterance | None = answer
    for _ in range(_MAX_REASONS):
        following = next_statement(turn, following)
        if following is None or _tells_reason(following):
            return following
    return None


def _tells_reason(utterance: Utterance) -> bool:
    return not _BECAUSE.isdisjoint(tokenizer.split(utterance.content))


def next_statement(turn: Turn, utterance: Utterance) -> Utterance | None:
    """Return the next statement of a user, in memory or among the older messages that were looked up."""
    following = turn.window.next_statement(utterance)
    if not turn.older:
        return following
    later = [hit.utterance for hit in turn.older if hit.utterance.role == "user" and hit.utterance.seq > utterance.seq]
    if following is not None:
        later.append(following)
    nearest = min(later, key=_seq, default=None)
    return nearest if nearest is None or nearest.seq <= utterance.seq + MAX_BETWEEN else None


def _seq(utterance: Utterance) -> int:
    return utterance.seq
