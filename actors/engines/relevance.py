"""Decides whether a text answers a question, for MB_Recall and for the chats of the engine `recall`.

A text answers a question if it accounts for at least `MAYBE` of the question's terms, by weight. Words that nearly
every question has ("long", "must", "need") weigh little: "How long must sourdough be proofed?" is about sourdough
and proofing. A term that the text has in another form ("proofed", "proofing") counts in part.
"""

import re
from collections.abc import Iterable
from math import ceil
from typing import Final

from actors.engines import dialogue_acts
from actors.slices import Steps
from actors.text import tokenizer
from actors.text.tokenizer import lexicon

MAYBE: Final = 0.34
"""The smallest share of a question's terms, by weight, that an answer accounts for."""

SURE: Final = 0.51
"""The smallest share of a question's terms, all counted alike, of an answer without doubt."""

_MAX_ASKED = 6.0  # terms that an answer to a long question has to account for
_LIGHT = 0.3  # the weight of a word that says little about the subject
_OTHER_FORM = 0.8  # the count of a term that the text has in another form
_SHORTEST_STEM = 4
_MAX_OTHER_FORMS = 16  # the number of terms whose other forms are looked for; bounds the cost of a long question
_DIGIT = re.compile(r"\d")
_AT_A_TIME = 4  # sentences that are read in one step
_TERMS_AT_A_TIME = 1_000

_LIGHT_WORDS = frozenset(
    tokenizer.terms(
        sorted(
            lexicon(
                """
                long short much many often far big large high deep fast quickly early late soon best good well usual
                usually normally typically exactly actually must may might need needed require required necessary allow
                allowed possible want use used using make made take taken get got go going come give given keep put find
                work happen kind sort type way thing people someone anybody person explain describe mean

                lang lange viel viele oft weit gross hoch schnell früh spät gut besten normalerweise genau muss musst
                müssen müsst soll sollen sollte darf dürfen kann können möglich nötig brauche brauchst braucht brauchen
                benötigt benötigen macht machen machst nimmt nehmen gibt geben geht gehen kommt kommen art weise leute
                jemand erkläre bedeutet

                long longue longtemps souvent loin grand grande haut vite tôt tard bien normalement exactement faut doit
                dois doivent peut peux peuvent possible besoin nécessaire permis faire fait prendre prend mettre aller
                va sorte genre manière chose gens quelqu explique signifie combien

                largo mucho mucha muchos muchas lejos grande alto rápido temprano tarde bien normalmente exactamente
                debe debo deben puede puedo pueden posible necesita necesito necesitan necesario permitido hacer
                hace tomar poner ir va tipo manera cosa gente alguien explica significa cuánta cuántos cuántas
                """
            )
        )
    )
)


class Question:
    """The distinct terms of a question, with their weights."""

    __slots__ = ("_terms_total", "_total", "_weights", "terms")

    def __init__(self, terms: Iterable[str]) -> None:
        self.terms = dict.fromkeys(terms, 1.0)
        total = float(len(self.terms))
        if "name" in self.terms:  # a question for a name is about the rest of its words
            self.terms["name"] = 0.5
            total -= 0.5
        self._terms_total = min(_MAX_ASKED, total) or 1.0
        light = _LIGHT_WORDS.intersection(self.terms)
        if light and len(light) < len(self.terms):
            self._weights = self.terms | dict.fromkeys(light, _LIGHT)
            self._total = min(_MAX_ASKED, total - len(light) * (1 - _LIGHT))
        else:
            self._weights = self.terms
            self._total = self._terms_total

    def fewest(self, *, sure: bool = False) -> int:
        """Return the smallest number of terms in a text that answers the question; `sure`: without doubt."""
        return ceil((self._terms_total * SURE if sure else self._total * MAYBE) - 1e-9)

    def share(self, terms: Iterable[str]) -> float:
        """Return the share of the question's terms, all counted alike, that distinct terms account for, 0 to 1."""
        return _share(self.terms, self._terms_total, terms)

    def accepts(self, terms: Iterable[str], share: float, *, sure: bool = False) -> bool:
        """Return whether a text with these terms and this share answers the question; `sure`: without doubt."""
        if sure or self._weights is self.terms:
            return share >= (SURE if sure else MAYBE)
        return _share(self._weights, self._total, terms) >= MAYBE

    def reading(self, text: str) -> Steps[tuple[float, bool]]:
        """Read a text; return its share of the question's terms and whether it answers the question.

        Terms that the text has in another form count in part.
        """
        return (yield from self.weighing((yield from tokenizer.reading(text))))

    def weighing(self, terms: Iterable[str]) -> Steps[tuple[float, bool]]:
        """Do the same as `reading`, with the terms of a text."""
        has = frozenset(terms)
        missing = [term for term in self.terms if term not in has][:_MAX_OTHER_FORMS]
        others = (yield from _in_another_form(missing, has)) if missing else set[str]()
        found = self.share(has) + _OTHER_FORM * sum(map(self.terms.__getitem__, others)) / self._terms_total
        weighted = _share(self._weights, self._total, has)
        weighted += _OTHER_FORM * sum(map(self._weights.__getitem__, others)) / self._total
        return min(found, 1.0), weighted >= MAYBE


def _share(weights: dict[str, float], total: float, terms: Iterable[str]) -> float:
    found = sum(map(weights.__getitem__, filter(weights.__contains__, terms)))
    return found / total if found < total else 1.0


def _in_another_form(missing: list[str], has: frozenset[str]) -> Steps[set[str]]:
    """Return the missing terms that a text has in another form: with another ending, or as part of a compound.

    A term with a digit has no other form: A320 is not A321.
    """
    missing = [term for term in missing if not _DIGIT.search(term)]
    stems: dict[str, list[str]] = {}
    for term in missing:
        if len(term) >= _SHORTEST_STEM:
            stems.setdefault(term[: max(_SHORTEST_STEM, len(term) - 2)], []).append(term)
    lengths = sorted({len(stem) for stem in stems})
    found: set[str] = set()
    for number, known in enumerate(has, 1):
        for length in lengths:
            for term in stems.get(known[:length], ()):
                if len(known) <= len(term) + 4 and not _DIGIT.search(known):
                    found.add(term)
        if not number % _TERMS_AT_A_TIME:
            yield
    for term in missing:
        if any(term[:length] in has for length in range(_SHORTEST_STEM + 1, len(term))):
            found.add(term)
    return found


def asking(text: str) -> Steps[Question]:
    """Return the question in a message, as a chat understands it."""
    message = yield from dialogue_acts.analysing(text)
    return Question((yield from terms_asked_for(message, dialogue_acts.passages(message.text))))


def terms_asked_for(
    message: dialogue_acts.Analysis, sentences: list[str], name: frozenset[str] = frozenset()
) -> Steps[list[str]]:
    """Return the terms of the sentences that ask, or of all if those have too few; without the agent's name."""
    terms: list[str] = []
    if len(sentences) > 1:
        for number, sentence in enumerate(sentences, 1):
            split = tokenizer.split(sentence)
            if dialogue_acts.asks(sentence, split):
                terms += tokenizer.terms(split)
            if not number % _AT_A_TIME:
                yield
    terms = terms or message.terms
    if name.isdisjoint(terms):
        return terms
    return [term for term in terms if term not in name] or terms
