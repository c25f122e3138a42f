"""Newer statements that may change what an older one says: "The choir has moved to Wednesdays."."""

import re

from actors.engines.message import Utterance
from actors.engines.turn import Turn
from actors.engines.window import FoundUtterance
from actors.retrieval.question import Question
from actors.text import answer_kinds, tokenizer
from actors.text.tokenizer import lexicon

_CHANGES = re.compile(
    r"""\b(?:now|no\ longer|any\ ?(?:more|longer)|instead|meanwhile|actually|after\ all|from\ now\ on|rather\ than
    |not\ in|moved|changed?|switch(?:ed)?|swapped|replaced|postponed|put\ (?:off|up|back)|brought\ forward|delayed
    |rescheduled|shift(?:ed)?|cancelled|called\ off|(?:gone|goes|went|is)\ (?:up|down)|corrected|miscounted
    |retired|promoted|closed|stepped\ down|broken
    |jetzt|inzwischen|mittlerweile|nicht\ mehr|statt(?:dessen)?|doch|verschoben|verlegt|geändert|gewechselt
    |maintenant|désormais|ne\ .{1,40}\ plus|finalement|reporté[es]?|changé[es]?|déplacé[es]?
    |ahora|ya\ no|al\ final|aplazad[oa]s?|cambiad[oa]s?|cambió)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CHANGES_A_FIGURE = re.compile(
    r"""\b(?:new|raised|lowered|increased|reduced|cheaper|dearer|erhöht|gesenkt|neue[mnrs]?|nouve(?:au|l|lle)s?
    |augmenté[es]?|nuev[oa]s?|subido)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IN_THE_PAST = lexicon(
    "did was were had originally once war waren hatte hatten damals ursprünglich était étaient avait fue era eran antes"
)
_MOST = 24  # newest utterances with a word that are looked at
_FEW = 8  # utterances with a word that tells what is spoken of, however few there are in all
_RARE = 40  # times as many messages as have a word that tells what is spoken of
_SHARED = 3  # what has a smaller part of the words than one in so many speaks of something else


def newer_word(turn: Turn, question: Question, answer: FoundUtterance) -> Utterance | None:
    """Return the newest of the statements that most probably change an answer; None if none does.

    Such a statement says that something changed, has words of the question that the answer has, too, a rare one among
    them, and holds the kind of answer that is asked for, if any is. A question in the past tense asks for what was true
    before.
    """
    if not _IN_THE_PAST.isdisjoint(tokenizer.split(turn.message)) or _CHANGES.search(answer.utterance.content):
        return None
    window, seq = turn.window, answer.utterance.seq
    rare = max(_FEW, window.last_seq // _RARE)
    owners = set(tokenizer.terms(answer_kinds.owners(turn.message)))
    subject = [term for term in answer.terms if term in question.terms and not question.is_light(term)]
    found: dict[int, tuple[int, int, Utterance]] = {}  # by seq: the number of words shared, the seq
    for term in subject:
        for utterance, _, _, _, terms in window.newest_with(term, _MOST, rare):
            if utterance.seq <= seq:
                break
            shared = sum(one in terms for one in subject)
            if utterance.role != "user" or shared * _SHARED < len(subject) or not question.fits(0.0, terms):
                continue
            if owners and owners.isdisjoint(terms):
                continue
            text = utterance.content
            if _CHANGES.search(text) or (question.needs and _CHANGES_A_FIGURE.search(text)):
                found[utterance.seq] = shared, utterance.seq, utterance
    return max(found.values())[-1] if found else None
