"""An inverted index in memory, ranked as ranking.py says, for conversations, profiles and banks in use."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

from actors.retrieval.found import LONGER_BY, MAX_RELATIVES, RELATIVE, Found, answerable, beginning, judged, shares_of
from actors.retrieval.numbers import numbers_in
from actors.retrieval.postings import Postings
from actors.retrieval.question import Judge, Question
from actors.retrieval.ranking import (
    K1,
    B,
    Gains,
    Matched,
    best_of,
    factors,
    in_order,
    leading,
    looked_at,
    rarity,
)
from actors.retrieval.ranking import in_context as with_context
from actors.text import tokenizer
from actors.text.answer_kinds import ASKED, ASKS

MAX_POSTINGS = 2_000
"""The number of postings that a search reads, those of the rarest terms; other terms only count in scores."""

MAX_QUERY_TERMS = 16
"""The number of terms of a question that are used, the rarest ones."""

_ALONE = "", 0
_NO_TEXTS: frozenset[int] = frozenset()
_FEW = 32  # texts whose terms are looked at one by one
_MOST_OLDER = 500  # texts that have a term, some of which may have all others, too
_TO_INTERSECT = 2_000  # texts with a term; beyond it, a look at the terms of `_MOST_OLDER` texts takes less
_MOST_THOROUGH = 10_000  # texts, up to which older ones are looked at, too: it takes three times as long
_LEAST = 8  # postings of a term that a search reads
_BY_RARITY = 1e-7  # of texts with as many terms, those with rarer ones are looked at first
_SETTLED = 8  # searches since the last change
_COMMON = 12  # texts that have a term
_MAX_RELATED = 1_000  # terms whose relatives are cached
_TO_RAISE = 3  # times as many texts as are wanted, of which those that hold the kind of answer may come first


_Term = tuple[str, str, float, Sequence[int]]
"""A term that is searched for: itself, the question's term that it stands for, its strength, the texts that have it."""


class Index(Postings):
    """Texts by number (>= 0), found by their terms.

    >>> index = Index()
    >>> index.add(1, ["dog", "name", "rex"])
    >>> index.add(2, ["train", "leav"])
    >>> [found.number for found in index.search(Question(["dog"]), limit=5)]
    [1]
    """

    __slots__ = ("_gains", "_max_postings", "_related", "_relates", "_searches")

    def __init__(self, *, max_postings: int = MAX_POSTINGS, relates: bool = True) -> None:
        """Make an empty index.

        Args:
            max_postings: bounds the postings that a search reads, those of the rarest terms.
            relates: whether a term that no text has stands for terms that begin alike.
        """
        super().__init__()
        self._max_postings = max_postings
        self._relates = relates
        self._related: dict[str, list[str]] = {}  # what stands for a term that no text has, as long as nothing changes
        self._searches = 0  # since the last change
        self._gains: dict[str, list[float]] = {}  # of common terms, as long as nothing changes

    def _changed(self) -> None:
        self._searches = 0
        if self._gains:
            self._gains = {}
        if self._related:
            self._related = {}

    def search(
        self, question: Question, limit: int, *, among: int = 0, context: int = 0, answering: bool = False
    ) -> list[Found]:
        """Return the texts that match a question best, best first; among equals, the higher number first.

        The rarest terms lead; terms beyond `max_postings` only count for the texts found by rarer ones. Texts are found
        in their context, and by other forms of terms that no text has.

        Args:
            question: what is asked.
            limit: the number of texts to find.
            among: the number of texts that there are, if these are only some of them; what answers is judged by it.
            context: the number of best texts whose terms count for the texts around them; 0: as many as is usual.
            answering: return nothing if all texts together have too few of the question's terms for an answer.
        """
        known, having = self._known(question)
        if not known:
            return []
        self._searches += 1
        judge = question.judging(max(self._stating, among), having)
        if answering and not answerable(judge, having, [one[2] for one in known], question.raising, self._postings):
            return []
        finding = self._leading(known)
        own, places = self._own(finding), self._places
        replaced = shares_of([(term, asked) for term, asked, _, _ in known if term != asked])
        holding = self._held((ASKS, ASKED, *(raising := question.raising)))
        closely, alone = looked_at(self._stating, limit, context)
        wanted = closely if places else _TO_RAISE * limit if holding else limit
        best = best_of(own, [numbers for _, _, _, numbers in finding], wanted)
        if places and closely > alone:
            best = [*best[:alone], *[one for one in best[alone:] if one[1] in places]]
        raised = factors(raising, holding, {number for _, number in best}) if holding and not places else {}
        if not places:
            best = (in_order(best, raised) if raised else best)[:limit]
        if not places and not replaced and finding is known:
            return self._judged_by_own(question, judge, best, [one[0] for one in known])
        by_term = {one[0]: one for one in known}
        found = plain = {number: self._gains_in(number, by_term) for _, number in best}
        if places:
            matched = [Matched(number, *places.get(number, _ALONE), gains) for number, gains in plain.items()]
            found = with_context(matched, self._parts.get, holding.get(ASKED, _NO_TEXTS))
            raised = factors(raising, holding, found.keys()) if holding else {}
        fits = self._fitting(question)
        return judged(judge, self._stating, having, replaced, plain, found, raised, limit, places.get, fits)

    def _fitting(self, question: Question) -> Callable[[int, float, bool], bool] | None:
        """Return what tells whether a text fits a question (see `judged`); None if all do."""
        if not question.needs:
            return None
        return lambda number, share, alone: question.fits(share, self._texts[number].terms, alone=alone)

    def _judged_by_own(
        self, question: Question, judge: Judge, best: list[tuple[float, int]], terms: list[str]
    ) -> list[Found]:
        """Judge texts that stand alone, whose scores count these terms of the question."""
        asked, found = frozenset(terms), list[Found]()
        for score, number in best:
            present = asked.intersection(self._texts[number].terms)
            held = [term for term in terms if term in present]
            share, answers = judge.or_if_named(judge.judge_whole(held, 0.0 if found else score), held)
            answers = answers and question.fits(share, self._texts[number].terms)
            found.append(Found(number, score, share, answers))
        return found

    def sure(self, question: Question, limit: int, *, among: int = 0) -> list[Found]:
        """Return the texts that answer a question without doubt by their own terms, best first.

        This costs a fraction of `search`, because such a text has one of the rarest terms: the others weigh too little.
        It reads a quarter of the postings, so in a large index it may miss an older text, which `search` finds; less
        often where texts are few, for a question, and one of them has all its terms.
        """
        weights, postings, need = question.terms, self._postings, question.sure
        known = [(len(numbers), term, numbers) for term in weights if (numbers := postings.get(term))]
        left = sum([weights[term] for _, term, _ in known])
        if left < need:
            return []
        known.sort()
        most, texts = self._max_postings // 4, self._stating
        thorough = not question.whole and len(self._texts) <= _MOST_THOROUGH
        enough: dict[int, float] = {}
        by_term: dict[str, _Term] = {}
        for having, term, numbers in known:
            rare, weight = rarity(texts, having), weights[term]
            by_term[term] = term, term, rare * (K1 + 1), numbers
            share = weight + rare * _BY_RARITY
            if left >= need:  # a text that has none of the terms before may still have enough
                some = numbers[-max(most, _LEAST) :]
                most -= len(some)
                if thorough and len(some) < len(numbers):
                    some = *some, *self._before(some, numbers, enough or self._with_all(known, len(some)), term)
                for number in some:
                    enough[number] = enough.get(number, 0.0) + share
            elif len(enough) > _FEW:
                some = numbers[-self._max_postings :]
                older = self._before(some, numbers, enough, term) if thorough else ()
                for number in (*(enough.keys() & some), *older):
                    enough[number] += share
                least = need - left + weight  # the terms that follow weigh too little for a text with less
                enough = {number: found for number, found in enough.items() if found >= least}
            else:
                for number in enough:
                    if term in self._texts[number].terms:
                        enough[number] += share
            left -= weight
        best = sorted([(found, number) for number, found in enough.items() if found >= need], reverse=True)
        if not best:
            return []
        if len(best) > limit and (named := numbers_in(question)):
            best = [one for one in best if one[0] == best[0][0]]
            best.sort(key=lambda one: named.placed(self._texts[one[1]].terms), reverse=True)
        gains = {number: self._gains_in(number, by_term) for _, number in best[:limit]}
        having = {term: having for having, term, _ in known}
        judge, fits = question.judging(max(texts, among), having), self._fitting(question)
        return judged(judge, texts, having, {}, gains, gains, {}, limit, self._places.get, fits)

    def _with_all(self, known: Sequence[tuple[int, str, Sequence[int]]], newest: int) -> Collection[int]:
        """List the newest texts that have all of these terms, but for so many of those with the rarest."""
        (_, _, numbers), *others = known
        some, texts = set(numbers[-_MOST_OLDER:-newest]), self._texts
        for having, term, with_term in others:
            if len(some) > _FEW and having <= _TO_INTERSECT:
                some.intersection_update(with_term)
            else:
                some = {number for number in some if term in texts[number].terms}
        return some

    def _before(self, some: Sequence[int], numbers: Sequence[int], found: Iterable[int], term: str) -> list[int]:
        """List the texts of `found` that have a term, but are older than `some`, the newest texts with it."""
        if len(some) == len(numbers):
            return []
        return [number for number in found if number < some[0] and term in self._texts[number].terms]

    def _known(self, question: Question) -> tuple[list[_Term], dict[str, int]]:
        """Look up the terms of a question, the rarest first, and the number of texts with each."""
        postings = self._postings
        found = {term: (term, 1.0) for term in question.terms if term in postings}
        if self._relates and len(found) < len(question.terms):
            for term in [term for term in question.terms if term not in found][:MAX_QUERY_TERMS]:
                related = self._related.get(term)
                if related is None:
                    related = self._relatives(term)
                    if self._searches > _SETTLED and len(self._related) < _MAX_RELATED:
                        self._related[term] = related
                for relative in related:
                    if relative not in found:
                        found[relative] = term, RELATIVE
        having: dict[str, int] = {}
        known: list[tuple[int, str, str, float]] = []
        for term, (asked, weight) in found.items():
            count = len(postings[term])
            having[asked] = having.get(asked, 0) + count
            known.append((count, term, asked, weight))
        known.sort()
        texts = self._stating
        rarest: list[_Term] = [
            (term, asked, weight * rarity(texts, count) * (K1 + 1), postings[term])
            for count, term, asked, weight in known[:MAX_QUERY_TERMS]
        ]
        return rarest, having

    def _leading(self, known: list[_Term]) -> list[_Term]:
        """Return the terms that find texts, with these texts; `known` itself if all terms find all their texts."""
        count, newest = leading([len(numbers) for _, _, _, numbers in known], self._max_postings)
        if newest is None:
            return known if count == len(known) else known[:count]
        return [
            (term, asked, strength, numbers[-some:])
            for (term, asked, strength, numbers), some in zip(known, newest, strict=True)
        ]

    def _relatives(self, term: str) -> list[str]:
        """List terms that begin as a term does (an inflection), and those that it begins with (of a compound)."""
        begun = beginning(term)
        if not begun:
            return []
        found = [known for known in tokenizer.beginnings(term) if known in self._postings]
        if self._in_order is None:
            self._in_order = sorted(self._postings)
        first = bisect_left(self._in_order, begun)
        for other in islice(self._in_order, first, first + MAX_RELATIVES):
            if not other.startswith(begun):
                break
            if len(other) <= len(term) + LONGER_BY and other.isalpha() and other not in found:
                found.append(other)
        return found[-MAX_RELATIVES:]

    def _own(self, finding: list[_Term]) -> dict[int, float]:
        """Score the texts by the terms that they have themselves."""
        own: dict[int, float] = {}
        for one in reversed(finding):  # the longest first, because a whole dict is made fastest
            term, asked, _, numbers = one
            gains = self._gains.get(term) if term == asked else None
            if gains is None or len(gains) != len(numbers):
                gains = self._gains_of(one, numbers)
            if own:
                get = own.get
                for number, gain in zip(numbers, gains, strict=True):
                    own[number] = get(number, 0.0) + gain
            else:
                own = dict(zip(numbers, gains, strict=True))
        return own

    def _gains_of(self, one: _Term, numbers: Sequence[int]) -> list[float]:
        """Compute what a term contributes to the scores of its texts.

        Where texts seldom change, this is cached for common terms: a search spends half of its time here.
        """
        texts = self._texts
        term, asked, strength, _ = one
        fixed = K1 * (1 - B)
        by_length = K1 * B * self._stating / (self._words or 1)
        gains: list[float] = []
        for text in map(texts.__getitem__, numbers):
            times = text.often.get(term, 1) if text.often else 1
            gains.append(strength * times / (times + fixed + by_length * text.length))
        if self._searches > _SETTLED and len(numbers) >= _COMMON and term == asked:
            known: dict[float, float] = {}  # few are different: each is kept once
            gains = self._gains[term] = [known.setdefault(gain, gain) for gain in gains]
        return gains

    def _gains_in(self, number: int, by_term: dict[str, _Term]) -> Gains:
        """Return the gains of a text by all terms of the question that it has."""
        text = self._texts[number]
        norm = K1 * (1 - B + B * text.length * self._stating / (self._words or 1))
        gains: Gains = {}
        present = by_term.keys() & text.terms
        for term, asked, strength, _ in by_term.values():
            if term in present:
                times = text.often.get(term, 1) if text.often else 1
                gain = strength * times / (times + norm)
                if gain > gains.get(asked, 0.0):
                    gains[asked] = gain
        return gains
