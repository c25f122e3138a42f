"""The kinds of answers that questions ask for and texts hold: "How many?" asks for a number, "When?" for a date.

A question about oneself ("Where do I live?") asks for what a text says of oneself ("I live in Bern."), and one that
names someone ("Where does Ada live?") for what that person says ("Ada: I live in Bern.").

They are terms, too, with a space, so that no word is like them. They find no text: they raise those that are found.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from actors.text.tokenizer import lexicon, split, terms_among

NUMBER: Final = "a number"
DATE: Final = "a date"

ONESELF: Final = "of oneself"

ASKS: Final = "a question"
"""The term of a text that ends with a question: the answer mostly comes after it."""

ASKED: Final = "a question in it"
"""The term of a text that has a question anywhere, at its end or not."""

SAID_BY: Final = "said by "
"""With a term of a speaker's name: the term of a text that begins with the name, as turns of a dialogue do."""

KINDS: Final[frozenset[str]] = frozenset((NUMBER, DATE, ONESELF, ASKS, ASKED))

_MAX_KNOWN_WORDS = 16_384

_NUMBERS = lexicon(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half dozen twice

    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend million millionen halb halbe dutzend
    zweimal dreimal

    deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante
    soixante cent cents mille moitié douzaine

    dos tres cuatro cinco seis siete ocho nueve diez doce trece catorce quince veinte treinta cuarenta cincuenta
    sesenta setenta ochenta noventa cien ciento mil medio media
    """
)
_NUMBER_ENDINGS = (  # of German compounds
    *("zehn", "zwanzig", "dreißig", "dreissig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"),
    *("hundert", "tausend"),
)

# Words that say something else more often (may, fall, hier, an) are left out.
_DATES = lexicon(
    """
    january february march april june july august september october november december jan feb mar apr jun jul aug sept
    oct nov dec monday tuesday wednesday thursday friday saturday sunday yesterday today tonight tomorrow ago week weeks
    weekend month months year years morning evening noon midnight christmas easter spring summer autumn winter

    januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag
    gestern heute morgen woche wochen wochenende monat monate monaten jahr jahre jahren ostern weihnachten silvester
    frühling sommer herbst

    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi
    samedi dimanche demain semaine semaines mois année années pâques noël été hiver automne

    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles
    jueves viernes sábado domingo ayer hoy mañana semana semanas meses año años navidad verano invierno otoño
    """
)

_DAY_OR_YEAR = re.compile(r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)")

_QUESTION_WORDS = lexicon(
    """what who whom whose which where why how whats whos wheres whys hows was wer wen wem wessen wo wohin woher warum
    wieso weshalb wie welche welcher welches welchen que qui quoi où pourquoi comment quel quelle quels quelles qué
    quién quiénes cuál cuáles dónde"""
)
_WHEN = lexicon("when whens wann quand cuándo")
_HOW_MANY = lexicon("combien wieviel wieviele cuánto cuánta cuántos cuántas")
_HOW = lexicon("how wie")
_MUCH = lexicon(
    """many much old long far tall big large heavy high deep fast often late early
    viel viele vielen vieler alt lange lang hoch gross groß teuer schwer weit oft tief breit schnell spät"""
)
_WHICH = lexicon("what which whats welche welcher welches welchen welchem quel quelle quels quelles qué cuál")
_WHAT = _WHICH | {"was", "que", "qu"}
_A_NUMBER = lexicon(
    """time price age amount sum number percentage share score size
    preis alter betrag summe zahl anzahl nummer uhrzeit prix âge somme nombre heure taille precio edad número hora"""
)
_COSTS = lexicon(
    """
    cost costs pay pays paid price fee charge charges charged earn earns earned spend spent worth rent salary wage
    weigh kostet kosten kostete gekostet zahlt zahlte zahlen gezahlt bezahlt bezahlte bezahlen verdient
    verdiente verdienen wiegt wog coûte coûté coûtait coûter payé paie paye payer gagne gagné pèse cuesta costó
    costaba pagó paga pagar gana ganó pesa
    """
)
_A_DATE = lexicon(
    """day days date month year season weekday
    tag tage tagen datum monat jahr wochentag jour date mois année día fecha mes año"""
)

_SPEAKER = re.compile(
    r"\s*(?:(?:\[[^\]]{1,60}\]|\([^)]{1,60}\))\s*)?[*_]{0,2}"  # a stamp
    r"([^\W\d_][\w.'\u2019-]{0,30}(?: [\w.'\u2019-]{1,30}){0,3})(?: \([^)]{1,60}\))?[*_]{0,2} ?:(?=[\s*_])"
)
_LABEL = 240  # characters in which a label ends

_I = lexicon(
    """
    i my mine myself we our ours ourselves
    ich mein meine meinem meinen meiner meines wir unser unsere unserem unseren unserer
    je j mon ma mes notre nos
    yo mi mis mío mía nosotros nosotras nuestro nuestra nuestros nuestras
    """
)
_I_OR_ME = _I | lexicon("me us mich mir uns moi nous mí")


class _KindsOfWords(dict[str, tuple[str, ...]]):
    """A cache of the kinds of answers that words hold."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _MAX_KNOWN_WORDS:
            self.clear()
        kinds: tuple[str, ...] = ()
        if word[0].isdecimal():
            kinds = (NUMBER, DATE) if _DAY_OR_YEAR.fullmatch(word) else (NUMBER,)
        elif word in _DATES:
            kinds = (DATE,)
        elif word in _NUMBERS or word.endswith(_NUMBER_ENDINGS):
            kinds = (NUMBER,)
        self[word] = kinds
        return kinds


_kinds_of = _KindsOfWords()
_NONE = {()}


_WHAT_FOLLOWS: dict[str, dict[str, str]] = (
    {word: {} for word in _QUESTION_WORDS | _WHEN | _HOW_MANY}
    | dict.fromkeys(_HOW, dict.fromkeys(_MUCH, NUMBER))
    | dict.fromkeys(_WHICH, dict.fromkeys(_A_NUMBER, NUMBER) | dict.fromkeys(_A_DATE, DATE))
)
"""The question words, each with the words after it that make it ask for a number or a date."""


def held(words: Iterable[str]) -> list[str]:
    """Return which of a number and a date a text with these words (of `tokenizer.split`) holds."""
    kinds = set(map(_kinds_of.__getitem__, words))
    return [kind for kind in (NUMBER, DATE) if any(kind in of_word for of_word in kinds)] if kinds != _NONE else []


def of_oneself(words: Iterable[str]) -> list[str]:
    """Return ONESELF if someone speaks of themselves in a text with these words."""
    return [] if _I_OR_ME.isdisjoint(words) else [ONESELF]


def is_kind(term: str) -> bool:
    """Return whether a term is none of a word, but of a kind of answer or a speaker."""
    return term in KINDS or term.startswith(SAID_BY)


def _speaker_of(text: str) -> str:
    """Return the name that a text begins with, after a stamp or not, as a turn of a dialogue does: "Ada: It is."."""
    speaker = _SPEAKER.match(text, 0, _LABEL) if text.find(":", 1, _LABEL) > 0 else None
    return speaker[1] if speaker else ""


def is_told(text: str) -> bool:
    """Return whether a text is the turn of a dialogue, which begins with its speaker's name."""
    return _speaker_of(text) != ""


def said_by(text: str, words: list[str]) -> list[str]:
    """Return the terms of the speaker of a text with these words, if it begins with one's name."""
    name = _speaker_of(text)
    return [SAID_BY + term for term in dict.fromkeys(terms_among(split(name), words))] if name else []


def asked_for(words: Sequence[str]) -> list[str]:
    """Return the kinds of answers that a question with these words asks for."""
    kinds = [] if _I.isdisjoint(words) else [ONESELF]  # "Tell me who sold the bike" asks for nothing of oneself
    begun = False
    for place, word in enumerate(words, 1):
        what_follows = _WHAT_FOLLOWS.get(word)
        if what_follows is None:
            continue
        if word in _HOW_MANY:
            kinds.append(NUMBER)
        elif word in _WHEN:
            if not begun:  # "What did she say when you left?" is no question for a date
                kinds.append(DATE)
        elif place < len(words) and (kind := what_follows.get(words[place])):
            kinds.append(kind)
        begun = True
    if begun and NUMBER not in kinds and not _COSTS.isdisjoint(words) and not _WHAT.isdisjoint(words):
        kinds.append(NUMBER)  # "What did the shed cost?"
    return kinds
