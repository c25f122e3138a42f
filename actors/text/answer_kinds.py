"""The kinds of answers that questions ask for and texts hold: "How many?" asks for a number, "When?" for a date.

"How old is Ada?" asks for an age: no text without one answers it, and what is left of the question, "Ada", finds the
texts.

A question about oneself ("Where do I live?") asks for what a text says of oneself ("I live in Bern."), and one that
names someone ("Where does Ada live?") for what that person says ("Ada: I live in Bern.").

They are terms, too, with a space, so that no word is like them. They find no text: they raise those that are found,
or tell which of these may answer.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from actors.text.tokenizer import lexicon, split, terms_among

NUMBER: Final = "a number"
DATE: Final = "a date"

AGE: Final = "an age"

OF_WHOM: Final = "an age of someone"
"""The term of a text that tells an age of someone whom the texts before it name: "She is nine.", "Nine, she says."."""

ONESELF: Final = "of oneself"

ASKS: Final = "a question"
"""The term of a text that ends with a question: the answer mostly comes after it."""

ASKED: Final = "a question in it"
"""The term of a text that has a question anywhere, at its end or not."""

SAID_BY: Final = "said by "
"""With a term of a speaker's name: the term of a text that begins with the name, as turns of a dialogue do."""

KINDS: Final[frozenset[str]] = frozenset((NUMBER, DATE, AGE, OF_WHOM, ONESELF, ASKS, ASKED))

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
    oct nov dec third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth thirtieth monday tuesday wednesday thursday friday saturday
    sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends daily yesterday today
    tonight tomorrow ago week weeks weekend month months year years morning evening noon midnight christmas easter
    spring summer autumn winter

    januar februar märz mai juni juli oktober dezember dritten vierten fünften sechsten siebten siebenten achten neunten
    elften zwölften montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags
    freitags samstags sonntags gestern heute morgen woche wochen wochenende monat monate monaten jahr jahre jahren
    ostern weihnachten silvester frühling sommer herbst

    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi
    samedi dimanche demain semaine semaines mois année années pâques noël été hiver automne

    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles
    jueves viernes sábado domingo ayer hoy mañana semana semanas meses año años navidad verano invierno otoño
    """
)

_DATE_ENDINGS = ("zehnten", "zwanzigsten", "dreißigsten", "dreissigsten")

_DAY_OR_YEAR = re.compile(r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)")

_OTHER_QUESTION_WORDS = lexicon(
    """what who whom whose which where why how whats whos wheres whys hows was wer wen wem wessen wo wohin woher warum
    wieso weshalb wie welche welcher welches welchen qu que qui quoi où pourquoi comment quel quelle quels quelles qué
    quién quiénes cuál cuáles dónde"""
)
_WHEN = lexicon("when whens wann quand cuándo")
_HOW_MANY = lexicon("combien wieviel wieviele cuánto cuánta cuántos cuántas")
QUESTION_WORDS: Final = _OTHER_QUESTION_WORDS | _WHEN | _HOW_MANY
_HOW = lexicon("how wie")
_MUCH = lexicon(
    """many much long far tall big large heavy high deep fast often late early
    viel viele vielen vieler lange lang hoch gross groß teuer schwer weit oft tief breit schnell spät"""
)
_WHICH = lexicon("what which whats welche welcher welches welchen welchem quel quelle quels quelles qué cuál")
_WHAT = _WHICH | {"was", "que", "qu"}
_A_NUMBER = lexicon(
    """time price amount sum number percentage share score size
    preis betrag summe zahl anzahl nummer uhrzeit prix somme nombre heure taille precio número hora"""
)
_COSTS = lexicon(
    """
    cost costs pay pays paid price fee charge charges charged earn earns earned spend spent worth rent salary wage
    weigh kostet kosten kostete gekostet zahlt zahlte zahlen gezahlt bezahlt bezahlte bezahlen verdient
    verdiente verdienen wiegt wog coûte coûté coûtait coûter payé paie paye payer gagne gagné pèse cuesta costó
    costaba pagó paga pagar gana ganó pesa
    """
)
_OLD = lexicon("old alt")
_AN_AGE = lexicon("age alter âge edad")
_A_DATE = lexicon(
    """day days date month year season weekday
    tag tage tagen datum monat jahr wochentag jour date mois année día fecha mes año"""
)

_SPEAKER = re.compile(
    r"\s*(?:(?:\[[^\]]{1,60}\]|\([^)]{1,60}\))\s*)?[*_]{0,2}"  # a stamp
    r"([^\W\d_][\w.'\u2019-]{0,30}(?: [\w.'\u2019-]{1,30}){0,3})(?: \([^)]{1,60}\))?[*_]{0,2} ?:(?=[\s*_])"
)
_PARTICLES = lexicon("af al and bin da de del della den der di dos du el i la le op ten ter und van von y zu")
_OWNERS = re.compile(
    r"(?<![\w'\u2019])(?!(?:It|That|He|She|Who|What|Where|When|How|Why|There|Here|Let|This|Today|Tomorrow|Tonight)\b)"
    r"([A-ZÄÖÜÀ-ÝŁ][\w-]*)['\u2019]s(?= )"
)
_OWN = re.compile(
    r"\b(?:my|our|meine?[mnrs]?|unsere?[mnrs]?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)(?= )", re.IGNORECASE
)
_OWNED = 40  # characters after an owner, in which something owned is named
_MAX_OWNED = 3  # words
_LABEL = 240  # characters in which a label ends
_BEST = 3  # texts

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
        elif word in _DATES or word.endswith(_DATE_ENDINGS):
            kinds = (DATE,)
        elif word in _NUMBERS or word.endswith(_NUMBER_ENDINGS):
            kinds = (NUMBER,)
        self[word] = kinds
        return kinds


_kinds_of = _KindsOfWords()
_NONE = {()}


_WHAT_FOLLOWS: dict[str, dict[str, str]] = (
    {word: {} for word in QUESTION_WORDS}
    | dict.fromkeys(_HOW, dict.fromkeys(_MUCH, NUMBER) | dict.fromkeys(_OLD, AGE))
    | dict.fromkeys(
        _WHICH, dict.fromkeys(_A_NUMBER, NUMBER) | dict.fromkeys(_A_DATE, DATE) | dict.fromkeys(_AN_AGE, AGE)
    )
)
"""The question words, each with the words after it that make it ask for a number, a day or an age."""

_YEARS = lexicon("year years month months week weeks jahr jahre monate wochen")
_ROMANCE_YEARS = lexicon("an ans mois año años meses")
_HAS_YEARS = lexicon("a ai as avait ont tiene tengo tenía cumple cumplió")
_AGED = lexicon(
    """is was are am s m re be been turn turns turned turning becomes became aged age
    ist wird wurde war bin sind werde"""
)
_NAMED_WITH_AGE = re.compile(r"[^\W\d_] \(\d{1,2}\)")
_NOBODY = lexicon("it that there what here")  # "It's forty."
_AFTER_AGE = lexicon(
    """and but or now today already next last this so the she he they it we i who as too on in at by since
    und aber jetzt heute schon bald sie er wir ich im am seit"""
) | {""}
_BORN = lexicon("born built founded geboren gebaut erbaut gegründet né née nés construit nació construido")
_ABOUT = lexicon(
    """of about nearly almost around only just over roughly approximately
    etwa fast knapp ungefähr rund gerade erst schon environ presque seulement casi unos"""
)
"""Words between a verb and an age: "at the age of nine", "He is about thirty."."""

_DETERMINERS = lexicon(
    "a an the my our your his her their ein eine einen einem einer mein meine meinen sein ihr der die das"
)
_THEY = lexicon("he she it they er sie es il elle él ella")
_OLDEST = 3  # digits


def held(text: str, words: Sequence[str]) -> list[str]:
    """Return which of a number, a date and an age a text with these words (of `tokenizer.split`) holds."""
    kinds = set(map(_kinds_of.__getitem__, words))
    if kinds == _NONE:
        return []
    found = [kind for kind in (NUMBER, DATE) if any(kind in of_word for of_word in kinds)]
    if NUMBER in found:
        if DATE not in found and "may" in words and _names_day_of_may(words):
            found.append(DATE)
        found += _ages_in(words, 2 if is_told(text) else 1)
        if AGE not in found and "(" in text and _NAMED_WITH_AGE.search(text):  # "Tom (7) and Bella (4)"
            found.append(AGE)
    return found


def _names_day_of_may(words: Sequence[str]) -> bool:
    return any(
        (one == "may" and other.isdecimal()) or (other == "may" and one.isdecimal()) for one, other in pairwise(words)
    )


def _ages_in(words: Sequence[str], first: int) -> list[str]:
    """Return AGE if a text with a number tells an age with it, or when something was made; and whether it is OF_WHOM.

    `first`: the place, from 1 on, of a number that the text begins with, after the speaker's name or not.
    """
    if not _BORN.isdisjoint(words):
        return [AGE]
    before = earlier = ""  # the words before the number, which may have several words itself
    for place, word in enumerate(words, 1):
        if NUMBER not in _kinds_of[word]:
            if word == "and" and place < len(words) and NUMBER in _kinds_of[words[place]]:  # "six hundred and forty"
                continue
            if word not in _ABOUT:
                earlier, before = before, "" if before in _NOBODY and word in _AGED else word
            continue
        following, further, last = [*words[place : place + 3], "", "", ""][:3]
        if following in _YEARS:
            tells = further in _OLD or (further, last) == ("of", "age")
        elif following in _ROMANCE_YEARS:
            tells = before in _HAS_YEARS
        elif following in _AFTER_AGE:  # "She is nine and ...", and at once: "Nine, she says."
            tells = before in _AGED or place == first
        else:
            tells = following.startswith("jährig")
        if tells and not (word.isdecimal() and len(word) > _OLDEST):
            without = following in _YEARS and before not in _AGED and before not in _DETERMINERS  # "Nine years old."
            return [AGE, OF_WHOM] if earlier in _THEY or place == first or without else [AGE]
    return []


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
    """Return whether a text is the turn of a dialogue: it begins with its speaker's name, not with "Quick one: ..."."""
    first, *others = _speaker_of(text).split(" ")
    return first != "" and all(not word[0].islower() or word in _PARTICLES for word in others)


def are_told(texts: Sequence[str]) -> bool:
    """Return whether the best texts found are turns of a dialogue; one alone may be a note: "Reminder: ..."."""
    return bool(texts) and all(map(is_told, texts[:_BEST]))


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


def subject(words: Sequence[str]) -> list[str]:
    """Return the words of a question without those that ask for an age: "old" in "How old is Ada?"."""
    kinds = [_WHAT_FOLLOWS[one].get(other) if one in _WHAT_FOLLOWS else None for one, other in pairwise(words)]
    return [*words[:1], *[word for word, kind in zip(words[1:], kinds, strict=True) if kind != AGE]]


def owners(text: str) -> list[str]:
    """Return the words of those named whose something a text or question is about: "Ada's bike"."""
    return [word for owner in _owners_in(text) for word in split(owner[1])]


def owned(text: str) -> list[str]:
    """Return the words after those that say whose something is, the speaker's own or that of someone named."""
    ends = [owner.end() for found in (_owners_in(text), _OWN.finditer(text)) for owner in found]
    return [word for end in ends for word in split(text[end : end + _OWNED])[:_MAX_OWNED]]


def _owners_in(text: str) -> Iterable[re.Match[str]]:
    return _OWNERS.finditer(text) if "'s " in text or "\u2019s " in text else ()
