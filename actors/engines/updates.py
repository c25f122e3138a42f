"""Newer statements that may change what an older one says: "The choir has moved to Wednesdays."."""

from collections.abc import Set
from itertools import islice

from actors.engines.message import FoundUtterance, Utterance
from actors.engines.turn import Turn
from actors.retrieval.question import Question
from actors.text import tokenizer
from actors.text.tokenizer import lexicon

_CHANGES = lexicon(
    """now anymore instead meanwhile actually moved change changed switch switched swapped replaced postponed delayed
    rescheduled shift shifted cancelled corrected miscounted retired promoted closed broken
    jetzt inzwischen mittlerweile statt stattdessen doch verschoben verlegt geändert gewechselt
    maintenant désormais finalement reporté reportée reportés changé changée déplacé déplacée
    ahora aplazado aplazada cambiado cambiada cambió"""
)
_PHRASES = """no longer, any more, any longer, after all, from now on, rather than, not in, stepped down, put off,
    put up, put back, brought forward, called off, gone up, gone down, goes up, goes down, went up, went down, is up,
    is down, nicht mehr, ya no, al final"""
_PHRASES_OF_CHANGE = [f" {' '.join(phrase.split())} " for phrase in _PHRASES.split(",")]
_CHANGES_A_FIGURE = lexicon(
    """new raised lowered increased reduced cheaper dearer neu neue neuer neues neuen erhöht gesenkt
    nouveau nouvel nouvelle nouveaux nouvelles augmenté augmentée nuevo nueva nuevos nuevas subido"""
)
_IN_THE_PAST = lexicon(
    "did was were had originally once war waren hatte hatten damals ursprünglich était étaient avait fue era eran antes"
)
_MOST = 24  # newest messages with a word that are looked at
_FEW = 8  # messages with a word that tells what is spoken of, however few there are in all
_RARE = 40  # times as many messages as have a word that tells what is spoken of
_SHARED = 3  # a text with fewer than a third of the words speaks of something else


def newer_statement(turn: Turn, question: Question, owners: Set[str], answer: FoundUtterance) -> Utterance | None:
    """Return the newest of the statements that most probably change an answer; None if none does.

    Such a statement says that something changed, has words of the question that the answer has, too, a rare one among
    them, and holds the kind of answer that is asked for, if any is. A question in the past tense asks for what was true
    before. What belongs to `owners` (terms of the question) is changed only by what names one of them.
    """
    window, seq = turn.window, answer.utterance.seq
    rare = max(_FEW, window.last_seq // _RARE)
    subject = [term for term in answer.terms if term in question.terms and not question.is_light(term)]
    found: dict[int, tuple[int, int, FoundUtterance]] = {}  # by seq: the number of words shared, the seq
    for term in subject:
        for one in islice(window.newer_with(term, seq, rare), _MOST):
            if one.utterance.role != "user" or one.utterance.seq in found:
                continue
            shared = len([word for word in subject if word in one.terms])
            if shared * _SHARED >= len(subject) and _changes(question, one):
                found[one.utterance.seq] = shared, one.utterance.seq, one
    if not found or not _IN_THE_PAST.isdisjoint(tokenizer.last_words(turn.message)):
        return None
    changing = [one for one in found.values() if not owners or not owners.isdisjoint(one[-1].terms)]
    return max(changing)[-1].utterance if changing else None


def _changes(question: Question, one: FoundUtterance) -> bool:
    """Return whether a statement says that something changed, and holds the kind of answer that is asked for."""
    if not question.fits(0.0, one.terms):
        return False
    words = tokenizer.first_words(one.utterance.content)
    return _tells_change(words) or (bool(question.needs) and not _CHANGES_A_FIGURE.isdisjoint(words))


def _tells_change(words: list[str]) -> bool:
    if not _CHANGES.isdisjoint(words):
        return True
    text = f" {' '.join(words)} "
    return any(phrase in text for phrase in _PHRASES_OF_CHANGE)
