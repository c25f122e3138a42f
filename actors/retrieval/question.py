"""Decides whether a text answers a question, for MB_Recall and for the chats of the engine `recall`.

A text answers a question if it accounts for enough of the question's terms, by weight. Words that nearly every question
has ("long", "must", "need") weigh little: "How long must sourdough be proofed?" is about sourdough and proofing. Among
many texts, a term weighs by its rarity, and one that none of them has weighs most: what is asked for is not there. The
best text needs less of them if it has a high score, as one that the person asked about says, with a number for "How
many?".
"""

import re
from collections.abc import Collection, Container, Iterable, Mapping
from itertools import chain, islice
from math import log
from types import MappingProxyType
from typing import Final

from actors.retrieval.ranking import HOLDS_ANSWER, rarity
from actors.slices import Steps
from actors.text import tokenizer
from actors.text.answer_kinds import AGE, DATE, NUMBER, OF_WHOM, SAID_BY
from actors.text.tokenizer import lexicon

MAYBE: Final = 0.34
"""The smallest share of a question's terms, by weight, that an answer among few texts accounts for."""

MAYBE_OF_MANY: Final = 0.6
"""The same among many texts, where terms weigh by their rarity."""

SURE: Final = 0.51
"""The smallest share of a question's terms, all counted alike, of an answer without doubt."""

DOUBTFUL: Final = SURE - 0.01
"""The largest share of an answer with doubt."""

_LOG_FEW = log(40)  # texts, among which the rarity of a term says nothing
_LOG_MANY = log(300)
_MAX_ASKED = 6.0  # terms that an answer to a long question has to account for
_MOST_RARE = 3.0  # the same among many texts, in weights by rarity
_MOST_STRONG = 2.6  # the same, for their product with the score in rarest terms
_LIGHT = 0.3  # the weight of a word that says little about the subject
OTHER_FORM: Final = 0.8
"""The share of a term that a text has in another form."""

_SHORTEST_STEM = 4
_MAX_OTHER_FORMS = 16  # the number of terms whose other forms are looked for; bounds the cost of a long question
_DIGIT = re.compile(r"\d")
_MAX_SPEAKERS = 16  # terms of a question that may be a speaker's name
_TERMS_AT_A_TIME = 1_000
_PER_NAME = 300  # texts, of which one has a word that names it
_ROUNDING = 1e-9

# Japanese is looked up by pairs of characters, so the last line has the pairs of its question words and endings.
_LIGHT_WORDS = tokenizer.forms(
    lexicon(
        """
        long short much many often far big large high deep fast quickly early late soon best good well usual
        usually normally typically exactly actually must may might need needed require required necessary allow
        allowed possible want use used using make made take taken get got go going come give given keep put find
        work happen kind sort type way thing people someone anybody person explain describe mean
        list summary everything ever mention talk discuss

        lang lange viel viele oft weit gross hoch schnell früh spät gut besten normalerweise genau muss musst
        müssen müsst soll sollen sollte darf dürfen kann können möglich nötig brauche brauchst braucht brauchen
        benötigt benötigen macht machen machst nimmt nehmen habt gibt geben geht gehen kommt kommen art weise leute
        jemand erkläre bedeutet alles liste jemals erwähnt erwähne

        long longue longtemps souvent loin grand grande haut vite tôt tard bien normalement exactement faut doit
        dois doivent peut peux peuvent puis pouvez possible besoin nécessaire permis faire fait prendre prend mettre
        aller va sorte genre manière chose gens quelqu explique signifie combien tout mentionné

        largo mucho mucha muchos muchas lejos grande alto rápido temprano tarde bien normalmente exactamente
        debe debo deben puede puedo pueden posible necesita necesito necesitan necesario permitido hacer
        hace poner ir va tipo manera cosa gente alguien explica significa cuánta cuántos cuántas todo

        はい いつ つで です すか ます はど どこ こで はだ だれ れで はな なに なん んで てい いま
        """
    )
)


class Question:
    """The distinct terms of a question, with their weights; those from the seventh on ask for no more.

    A statement that is searched for like a question is `whole`: all of its terms count. The kinds of answers that are
    asked for (actors/text/answer_kinds.py) may be among the terms; they count for the order of what is found, and for
    what `fits`.
    """

    __slots__ = ("_of_one_text", "_terms_total", "_total", "_weights", "kinds", "needs", "terms", "whole")

    def __init__(self, terms: Iterable[str], *, whole: bool = False) -> None:
        self.whole = whole
        self.terms = dict.fromkeys(terms, 1.0)
        self.kinds = tuple(filter(self.terms.__contains__, HOLDS_ANSWER))
        for kind in self.kinds:
            del self.terms[kind]
        self.needs = _needed(self.kinds) if self.kinds else ()
        """The kinds of answers by which a text fits the question; none if all fit."""
        self._of_one_text: Judge | None = None
        total = float(len(self.terms))
        if "name" in self.terms:  # a question for a name is about the rest of its words
            self.terms["name"] = 0.5
            total -= 0.5
        most = total if whole else _MAX_ASKED
        self._terms_total = min(most, total) or 1.0
        light = _LIGHT_WORDS.intersection(self.terms)
        if light and len(light) < len(self.terms):
            self._weights = self.terms | dict.fromkeys(light, _LIGHT)
            self._total = min(most, total - len(light) * (1 - _LIGHT))
        else:
            self._weights = self.terms
            self._total = self._terms_total

    def asked(self, most: int) -> tuple[str, ...]:
        """Return its kinds and terms, up to a number of them, of which another question of the same is made."""
        return tuple(islice(chain(self.kinds, self.terms), most))

    def is_light(self, term: str) -> bool:
        """Return whether a term of it is a word that nearly every question has."""
        return term in _LIGHT_WORDS

    @property
    def tells_subject(self) -> bool:
        """Whether a term of it is more than a word that nearly every question has."""
        return not _LIGHT_WORDS.issuperset(self.terms)

    @property
    def raising(self) -> list[str]:
        """The terms of texts that come first: those with the kinds of answers, and those said by whom it may name."""
        return [*self.kinds, *[SAID_BY + term for term in islice(self.terms, _MAX_SPEAKERS)]]

    def fits(self, share: float, held: Container[str], *, alone: bool = True) -> bool:
        """Return whether a text may be an answer by what it holds, given its share of the terms.

        Without an age it is no answer to "How old?"; nor with someone's age if it does not say whose, but was found by
        texts beside it. Without a number or a date it is none to "How many?" or "When?", unless it has most of the
        question's terms: "It costs nothing."

        Args:
            share: what it accounts for of the terms.
            held: what it holds, of KINDS.
            alone: whether it has some of the terms itself.
        """
        needs = self.needs
        if not needs:
            return True
        if AGE in needs:
            return (AGE if alone else OF_WHOM) in held
        return share >= SURE or self.is_met_by(held)

    def is_met_by(self, held: Container[str]) -> bool:
        """Return whether a text that holds these, of KINDS, has one of those that the question needs."""
        return any(kind in held for kind in self.needs)

    @property
    def sure(self) -> float:
        """The weight, in `terms`, that a text without doubt accounts for."""
        return self._terms_total * SURE - 1e-9

    def judging(self, texts: int, having: Mapping[str, int]) -> "Judge":
        """Return the judge of texts that a search has found, who also asks for enough of the rare terms.

        Args:
            texts: the number of texts that were searched.
            having: the number of them with each term of the question; terms that none has may be left out.
        """
        answer_weights, of_terms, of_answers = self._weights, self._terms_total, self._total
        weights: dict[str, tuple[float, float, float]] = {}
        trust = (log(max(texts, 1)) - _LOG_FEW) / (_LOG_MANY - _LOG_FEW)
        if trust <= 0:
            for term, weight in self.terms.items():
                weights[term] = weight / of_terms, answer_weights[term] / of_answers, 0.0
            return Judge(weights, 0.0, 0.0)
        trust = min(trust, 1.0)
        rarest = rarity(texts, 0)
        little, much = 1 - trust, trust / rarest
        total = 0.0
        for term, weight in self.terms.items():
            of_answer = answer_weights[term]
            by_rarity = of_answer * (little + much * rarity(texts, having.get(term, 0)))
            weights[term] = weight / of_terms, of_answer / of_answers, by_rarity
            total += by_rarity
        most = _MAX_ASKED + trust * (_MOST_RARE - _MAX_ASKED)
        enough = min(total, most) * (MAYBE + trust * (MAYBE_OF_MANY - MAYBE))
        return Judge(weights, enough, min(total, _MOST_STRONG) * rarest, having, max(1, texts // _PER_NAME) + 1)

    def reading(self, text: str) -> Steps[tuple[float, bool]]:
        """Read a text; return its share of the question's terms and whether it answers the question.

        Terms that the text has in another form count in part.
        """
        return (yield from self.weighing((yield from tokenizer.reading(text))))

    def weighing(self, terms: Iterable[str]) -> Steps[tuple[float, bool]]:
        """Do the same as `reading`, with the terms of a text."""
        has = frozenset(terms)
        covered = dict.fromkeys(filter(has.__contains__, self.terms), 1.0)
        if len(covered) < len(self.terms):
            missing = [term for term in self.terms if term not in has][:_MAX_OTHER_FORMS]
            covered |= dict.fromkeys((yield from in_another_form(missing, has)), OTHER_FORM)
        if self._of_one_text is None:
            self._of_one_text = self.judging(1, {})  # of one text, no term is rare
        return self._of_one_text.judge(covered, 0.0)


def _needed(kinds: Collection[str]) -> tuple[str, ...]:
    if AGE in kinds:
        return (AGE, OF_WHOM)
    return (NUMBER, DATE) if NUMBER in kinds or DATE in kinds else ()


class Judge:
    """Tells of texts whether they answer a question."""

    __slots__ = ("_enough", "_few", "_having", "_strong", "_weights")

    def __init__(
        self,
        weights: dict[str, tuple[float, float, float]],
        enough: float,
        strong: float,
        having: Mapping[str, int] = MappingProxyType({}),
        few: int = 0,
    ) -> None:
        """Make a judge.

        Args:
            weights: of each term, its parts of the share and of what an answer needs, and its weight by rarity.
            enough: the smallest sum of weights by rarity of an answer.
            strong: the smallest product of this sum and the score of an answer with a smaller sum.
            having: as `Question.judging` takes it.
            few: more than the number of texts that a term may have which names one of them.
        """
        self._weights = weights
        self._enough = enough - _ROUNDING
        self._strong = strong
        self._having = having
        self._few = few

    def judge(self, covered: Mapping[str, float], score: float) -> tuple[float, bool]:
        """Return the share of the question's terms that a text accounts for, and whether it answers the question.

        Args:
            covered: the terms that the text accounts for, each with the share of it, 0 to 1.
            score: the text's if it is the best, else 0.
        """
        share = answering = rare = 0.0
        weights = self._weights
        for term, part in covered.items():
            of_share, of_answer, by_rarity = weights[term]
            share += of_share * part
            answering += of_answer * part
            rare += by_rarity * part
        return min(share, 1.0), self._is_answered(answering, rare, score)

    def judge_whole(self, terms: Iterable[str], score: float) -> tuple[float, bool]:
        """Do the same as `judge` for a text that accounts for the whole of each of these terms."""
        share = answering = rare = 0.0
        weights = self._weights
        for term in terms:
            of_share, of_answer, by_rarity = weights[term]
            share += of_share
            answering += of_answer
            rare += by_rarity
        return min(share, 1.0), self._is_answered(answering, rare, score)

    def or_if_named(self, judged: tuple[float, bool], terms: Collection[str]) -> tuple[float, bool]:
        """Return a judgement, or that a text with too few terms answers, because it is the one that is asked about.

        It has itself, in one form or another, all terms of the subject. Or it answers with doubt, because some are in
        no text, but it has all the others, one of which hardly any text has: "What is Rafael's profession?".

        Args:
            judged: what `judge` or `judge_whole` returns for it.
            terms: those of the question that it has itself.
        """
        (share, answers), having = judged, self._having
        if answers or share < SURE or not having:
            return judged
        subject = [term for term in self._weights if term not in _LIGHT_WORDS]
        if subject and all(term in terms for term in subject):
            return share, True
        naming = any(having[term] < self._few for term in subject if term in terms)
        return (DOUBTFUL, True) if naming and all(term in terms for term in having) else judged

    def _is_answered(self, answering: float, rare: float, score: float) -> bool:
        enough = rare >= self._enough or rare * score >= self._strong
        return enough and answering >= MAYBE - _ROUNDING


def in_another_form(missing: list[str], has: frozenset[str]) -> Steps[set[str]]:
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
