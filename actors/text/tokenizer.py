"""The terms of a text, by which searches find it.

A word is a run of letters and digits, in lower case and compatibility form (NFKC, Unicode Annex 15). Its term is its
stem in the language of the text (languages.py), without accents; words that say too little to search for (in English,
German, French and Spanish) have none. Scripts that put no spaces between words (Han, Hiragana, Hangul, Thai, ...)
become pairs of characters, as in Lucene's CJKAnalyzer.
"""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from sys import intern

from actors.slices import Steps
from actors.text.languages import LANGUAGES, STEMMER_VERSION, is_function_word, language_of, stem

VERSION = f"{STEMMER_VERSION}/9"
"""Names the rules of terms and the stemmer; recorded with each stored index, which is made anew for another one."""

MAX_WORD = 64
"""Longer words are cut to this number of characters."""

SLICE_CHARS = 1_000
"""A longer text is read in pieces of up to this number of characters."""

SELF_NAME = "my name"
"""The term that "My name is Ada" and "What is my name?" share and "My dog's name is Rex" lacks."""

_SHORTEST_BEGINNING = 5
_MAX_BEGINNINGS = 24

_MAX_KNOWN_WORDS = 16_384  # of each language


def lexicon(text: str) -> frozenset[str]:
    """Return the set of the words in a text."""
    return frozenset(text.split())


# Words of one language that matter in another (car, man, son, hat, war, bin) are left out.
_STOP_WORDS = lexicon(
    """
    a about actually after again all also am an and any anything are at be because been before being
    both but by can could did didn do does doesn doing don done down each else few for from had has hasn
    have haven having he her here hers him his how i if in into is isn it its just know let like ll m me
    mean more most much my myself no not now of off ok okay on only or other our ours out over own
    please re recall remember remind s said same say says she should shouldn so some something such t
    tell than that the their them then there these they thing things this those to told too under until
    up us ve very was wasn we were weren what when where which while who whom whose why will with won
    would wouldn yeah yes you your yours yourself summarize summarise repeat
    whats wheres whos whens hows whys

    aber alle als also am auch auf aus bei bist bitte da damit dann das dass dein deine deinem deinen
    deiner dem den der des dessen dich die dies diese diesem diesen dieser dieses dir doch du durch ein
    eine einem einen einer eines er erzähl es etwas euch euer eure für haben hast hatte hier ich ihm ihn
    ihr ihre ihrem ihren ihrer im in ist ja kann kannst kein keine mal mein meine meinem meinen meiner
    mich mir mit nach nein nicht noch nur ob oder ohne sag sagen sehr sein seine seinem seinen seiner
    sich sie sind über um und uns unser unsere unter vom von vor wann warum was weisst wem wen wenn wer
    werden wessen wie wieso wir wird wo woher wohin zu zum zur

    as au aussi aux avec avez ce ces cet cette d dans de des dis du elle elles en es est et eu
    ils j je l la le les leur leurs lui ma mais mes moi mon même n ne nos notre nous où on ont ou oui
    par pas pourquoi qu quand que quel quelle quelles quels qui quoi sa sais se ses si suis sur ta
    te tes toi tu un une vos votre vous y être

    al algo como con cuál cuáles cuándo cuánto de del dime dónde donde el él ellas ellos en
    eres es esa ese eso esta está este esto estoy fue ha hay la las le lo los me mi mis mí muy más no
    nos o para pero por porque qué quién quiénes sabes se ser si sí soy su sus también te tengo ti tiene
    tienes tu tus tú un una uno unos y ya yo
    """
)

_NAMING = lexicon("name names called named heisse heissen heisst appelle appellent nom nombre llama llamo")
_NAMES_OF_MONTHS = """
    january januar janvier enero, february februar fevrier febrero feb, march marz marzo, april avril abril, mai,
    june juni juin junio, july juli juillet julio, august aout agosto aug, september septembre septiembre,
    october oktober octobre octubre oct okt, november novembre noviembre nov,
    december dezember decembre diciembre dec dez
"""
_MONTHS = {form: forms[0] for forms in map(str.split, _NAMES_OF_MONTHS.split(",")) for form in forms}
"""The terms of months' names, without accents: one in all languages. English "may" is mostly another word."""

_NAMES_OF_RELATIVES = """
    mother mom moms mommy mum mums mummy mama mamma, father dad dads daddy papa,
    grandmoth grandma grandmas granny, grandfath grandpa grandpas granddad grandad, child kid kids,
    grandchild grandchildren grandkid grandkids, aunt auntie aunty
"""
_RELATIVES = {form: forms[0] for forms in map(str.split, _NAMES_OF_RELATIVES.split(",")) for form in forms}
"""The terms of what people call their relatives, mostly in English; the first one is the stem of the usual word."""

_MONTHS_IN_ORDER = tuple((name, "may") if name == "mai" else (name,) for name in dict.fromkeys(_MONTHS.values()))
_DAY = re.compile(r"0?([1-9]|(?<!0)[1-9]\d)(?:st|nd|rd|th)?")  # of a month: 8, 08, 8th
_DATE = re.compile(r"(?<!\d)\d{4}([-/])(0[1-9]|1[0-2])\1\d\d(?!\d)")
_MAX_DATES = 32  # of a text, whose months are read
_SYNONYMS = (
    dict.fromkeys(_NAMING - {"name"}, "name")
    | {"color": "colour", "colors": "colour", "favorite": "favourit", "favourite": "favourit"}
    | _MONTHS
    | _RELATIVES
)
_SELF = lexicon("my am mein meinen ich bin mon m mi me")

_ASCII = bytes(ord(chr(c).lower()) if c < 128 and chr(c).isalnum() else 32 for c in range(256))
_MARKS = "".join(chr(c) for c in range(0x300, 0x2000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_WORD = re.compile(rf"[\w{_MARKS}]+")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f]")
_UNDECOMPOSED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"})
_UNSPACED_SCRIPTS = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30ff",  # Katakana
    "\uac00-\ud7af",  # Hangul
    "\u0e00-\u0eff",  # Thai, Lao
    "\u1000-\u109f",  # Myanmar
    "\u1780-\u17ff",  # Khmer
)
_ANY_UNSPACED = re.compile(f"[{''.join(_UNSPACED_SCRIPTS)}]")
_UNSPACED = re.compile("|".join(f"[{script}]+" for script in _UNSPACED_SCRIPTS))
_HAN_STOP = re.compile("[的了吗嗎呢吧么麼什是]")
_BREAKS = " \n\t。，、！？；：,.;:!?()"  # a word ends before each of these, and it composes with nothing before it
_UNSPACED_TRIPLE = re.compile(
    "|".join(f"(?:(?!{_HAN_STOP.pattern})[{script}]){{3}}" for script in _UNSPACED_SCRIPTS if "\u30a1" not in script)
)


def split(text: str) -> list[str]:
    """Return the words of a text in order, in lower case, with their accents.

    In a long text that is not ASCII a word of hundreds of characters may count as several.
    """
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    if len(text) > SLICE_CHARS:  # the time to normalize combining marks grows with the square of their number
        return [word for piece in _pieces(text) for word in split(piece)]
    text = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    if _ANY_UNSPACED.search(text):
        text = _UNSPACED.sub(_pairs, text)
    return _WORD.findall(text)


def first_words(text: str) -> list[str]:
    """Return the words of a text's beginning, which tell what kind of text it is at a bounded cost."""
    return split(text[:SLICE_CHARS])


def last_words(text: str) -> list[str]:
    """Return the words of a message's end, where the question stands, at a bounded cost."""
    return split(text[-SLICE_CHARS:])


def splitting(text: str) -> Steps[list[str]]:
    """Return the words of a text in steps, as `split` does; here a long ASCII word may count as several, too."""
    if len(text) <= SLICE_CHARS:
        return split(text)
    said: list[str] = []
    for piece in _pieces(text):
        said += split(piece)
        yield
    return said


def terms(said: list[str]) -> list[str]:
    """Return the terms of these words (from `split`), in order and with repetitions."""
    term_of = _TERMS[language_of(said)].__getitem__
    found: list[str] = list(filter(None, map(term_of, said)))
    if "name" in found and _names_self(said):
        found.append(SELF_NAME)
    return found


def terms_among(some: list[str], said: list[str]) -> list[str]:
    """Return the terms that some words have in a text with the words `said`, whose language counts."""
    return list(filter(None, map(_TERMS[language_of(said)].__getitem__, some)))


def forms(words: Iterable[str]) -> frozenset[str]:
    """Return the terms that these words have in any of the languages that a text's words tell."""
    return frozenset(term for word in words for known in _TERMS.values() if (term := known[word]))


def beginnings(term: str) -> list[str]:
    """List the terms of words that a compound may begin with: "haf" (Hafen) for "hafenrundfahrt"; none for a number.

    A word that ends like one of Spanish has its stem there, too: "nin" for "niños" alone, which no other word tells
    to be Spanish.
    """
    if not term.isalpha():
        return []
    words = [term[:length] for length in range(_SHORTEST_BEGINNING, len(term))][:_MAX_BEGINNINGS]
    stems = _TERMS["german"]  # of the languages known here, the one with most compounds
    found = [*words, *map(stems.__getitem__, words)]
    if term.endswith(("a", "o")):
        found.append(_TERMS["spanish"][term])
    return list(dict.fromkeys(filter(None, found)))


def months(text: str) -> list[str]:
    """Return the terms of the months that a text's first dates name in figures: "july" for 2023-07-22 or 2023/07/22."""
    found = (_MONTHS_IN_ORDER[int(date[2]) - 1] for date in islice(_DATE.finditer(text), _MAX_DATES))
    return list(dict.fromkeys(chain.from_iterable(found)))


def terming(said: list[str]) -> Steps[list[str]]:
    """Return the terms of these words in steps, as `terms` does."""
    if len(said) <= SLICE_CHARS:
        return terms(said)
    term_of = _TERMS[language_of(said)].__getitem__
    found: list[str] = []
    named = False
    for start in range(0, len(said), SLICE_CHARS):
        some = said[start : start + SLICE_CHARS]
        found += filter(None, map(term_of, some))
        named = named or _names_self(said[max(0, start - 1) : start + SLICE_CHARS])
        yield
    if named:
        found.append(SELF_NAME)
    return found


def reading(text: str) -> Steps[list[str]]:
    """Return the terms of a text in steps."""
    return (yield from terming((yield from splitting(text))))


def _names_self(said: list[str]) -> bool:
    return any((a in _SELF and b in _NAMING) or (a == "heisse" and b == "ich") for a, b in pairwise(said))


def _pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that together have its words."""
    start = 0
    while len(text) - start > SLICE_CHARS:
        middle, limit = start + SLICE_CHARS // 2, start + SLICE_CHARS
        end = max(text.rfind(mark, middle, limit) for mark in _BREAKS)
        overlap = 0
        if end < 0 and (triple := _UNSPACED_TRIPLE.search(text, middle, limit)):
            end, overlap = triple.start() + 2, 1  # both pieces have its pairs
        if end < 0:
            end = limit
        yield text[start:end]
        start = end - overlap
    yield text[start:]


def _pairs(run: re.Match[str]) -> str:
    text = run.group()
    if "\u30a0" < text[0] < "\u3100":  # Katakana writes words, most of them foreign
        return f" {text} "
    if len(text) == 1 and "\u3041" <= text <= "\u309f":  # a lone Hiragana is a particle
        return " "
    parts = _HAN_STOP.sub(" ", text).split()
    pairs = (part[i : i + 2] for part in parts for i in range(max(1, len(part) - 1)))
    return f" {' '.join(pairs)} "


def _plain(word: str) -> str:
    if word.isascii() or word[0] > "\u2e7f":  # from there on no script has accents
        return word
    word = _ACCENTS.sub("", unicodedata.normalize("NFKD", word)).casefold().translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFC", word)


def _term(word: str, language: str) -> str:
    plain = _plain(word)
    if plain in _PLAIN_STOP_WORDS or is_function_word(word, language):
        return ""
    if (synonym := _SYNONYMS.get(plain)) and not (plain == "nombre" and language == "french"):  # there: a number
        return synonym
    if word[0] > "\u2e7f" or (plain.isascii() and not plain.isalpha()):  # other numbers and codes have no other form
        return day[1] if (day := _DAY.fullmatch(plain)) else plain
    return _plain(stem(word, plain, language)) or plain


class _Terms(dict[str, str]):
    """A cache of terms by word, for texts of one language; all indexes share one string for a term."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_KNOWN_WORDS:
            self.clear()
        term = intern(_term(word[:MAX_WORD], self._language))
        if len(word) <= MAX_WORD:
            self[word] = term
        return term


_PLAIN_STOP_WORDS = frozenset(map(_plain, _STOP_WORDS))
_TERMS = {language: _Terms(language) for language in LANGUAGES}
