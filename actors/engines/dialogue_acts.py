"""What kind of message a text is, which parts of it can be quoted, and what it leaves to be remembered.

Deliberately plain rules for English, German, French and Spanish; a wrong guess costs a clumsy answer, never
an error.
"""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import re
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from actors.engines.message import Utterance
from actors.slices import Steps
from actors.text import tokenizer
from actors.text.tokenizer import lexicon

MAX_QUOTE = 240
"""Characters of a passage, and so of a quote."""

MAX_PASSAGES = 512
"""Passages of a text that are looked at; more than 32,000 characters of prose have."""

_MAX_REMEMBERED = tokenizer.SLICE_CHARS  # characters of a message whose analysis is kept for a moment
_MAX_STOPS = 4 * MAX_PASSAGES  # full stops and the like that are looked at, whether or not they end a sentence
_MAX_MENTIONS = 8
_MAX_COURTESY = 6  # words

Courtesy = Literal["greeting", "thanks", "farewell"]

UNKNOWN = "I know nothing about that yet. Tell me, and I will remember it in this conversation."
NOTED = "Noted: I will remember that in this conversation."
INVITATION = "Ask me something, or tell me something to remember."
WELCOME = "You are welcome."
GOODBYE = "Goodbye."

_SAYS_NOTHING = (UNKNOWN, NOTED, INVITATION, WELCOME, GOODBYE)

_WORDS_OF_COURTESY: dict[Courtesy, str] = {
    "greeting": """hello hi hey hiya howdy greetings hallo hoi servus moin grüezi salut bonjour bonsoir coucou
        hola buenas good guten gute buenos""",
    "thanks": "thanks thank thx danke merci gracias cheers many vielen muchas",
    "farewell": "bye goodbye ciao tschüss tschüs ade adieu adiós",
}
_COURTESIES: dict[str, Courtesy] = {word: kind for kind, text in _WORDS_OF_COURTESY.items() for word in lexicon(text)}
_HALF_COURTESIES = lexicon("good guten gute buenos many vielen muchas")  # good morning, but not: good idea
_COURTEOUS = _COURTESIES.keys() | lexicon(
    """morning afternoon evening day night tag morgen abend nacht días tardes there again everyone team bye
    you very much a lot so schön sehr dank beaucoup"""
)

_FILLERS = lexicon("and so but then also ok okay please well hey hi hello und bitte et alors mais y pero")
_QUESTION_WORDS = lexicon(
    """what who whom whose which when where why how was wer wen wem wessen wann wo wohin woher warum wieso
    weshalb wie welche welcher welches welchen qu que qui quoi quand où pourquoi comment combien
    quel quelle quels quelles qué quién quiénes cuándo cuál cuáles cuánto cuántos cuántas dónde"""
)
_VERBS_THAT_ASK = lexicon(
    """is are was were do does did can could would should has ist sind hast hat kannst kennst weisst bist
    gibt est peux connais sais"""
)
_NO_QUESTION = lexicon("i you we he she they it not ich du er wir ihr")  # When I was young. Do not forget.
_REQUESTS = lexicon(
    """find search list explain describe recall summarize summarise erkläre beschreibe suche cherche
    explique dime cuéntame muéstrame recuérdame explica"""
)
_REQUEST_VERBS = lexicon("tell show give remind sag sage zeig erzähl gib dis montre donne rappelle parle")
_ME = lexicon("me us mir uns moi nous")

_QUESTION_MARK = re.compile(r"[?？؟](?=$|[\s\"'”’»)\]!?]|[^\x00-\x7f])")
_CJK_QUESTION = re.compile(r"[吗嗎呢か][。.]?$")
_STOP = re.compile(r"[.!?؟…。！？\r\n\v\f\x85\u2028\u2029]+[\"'”’»)\]]*\s*")
_UNSPACED_STOP = re.compile(r"[。！？\s]")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Hr|Fr|z\.\s?B|e\.g|i\.e|bzw|ca)|\b\d\d?)$")


def spoken(text: str) -> str:
    """The text without spaces at its ends and without the agents that it is addressed to (`@scout ...`)."""
    text = text.strip()
    for _ in range(_MAX_MENTIONS):
        if not text.startswith("@"):
            break
        text = text.partition(" ")[2].lstrip()
    return text


def courtesy(said: list[str]) -> Courtesy | None:
    """What these words (of `words.split`) are if they only greet, thank or take leave; a name may follow."""
    kind = _COURTESIES.get(said[0]) if said else None
    if kind is None or len(said) > _MAX_COURTESY:
        return None
    if said[0] in _HALF_COURTESIES and (len(said) == 1 or said[1] not in _COURTEOUS):
        return None
    return kind if sum(word not in _COURTEOUS for word in said) <= 1 else None


def asks(text: str, said: list[str]) -> bool:
    """Whether a text, its words being `said`, wants an answer: a question or a request."""
    if not said:
        return "?" in text or "？" in text
    if text.endswith(("?", "？")):
        return True
    if ("?" in text or not text.isascii()) and (_QUESTION_MARK.search(text) or _CJK_QUESTION.search(text)):
        return True
    start = 0
    while start < len(said) - 1 and said[start] in _FILLERS:
        start += 1
    first = said[start]
    following = said[start + 1] if start + 1 < len(said) else ""
    if first in _REQUESTS or (first in _REQUEST_VERBS and following in _ME):
        return True
    if first in _QUESTION_WORDS:
        return following not in _NO_QUESTION and not text.endswith((".", "!"))
    return first in _VERBS_THAT_ASK and following != "not" and not text.endswith((".", "!"))


def passages(text: str) -> list[str]:
    """The sentences of a text, those above MAX_QUOTE characters in pieces cut between words; none is blank.

    Each stands literally in the text. At most MAX_PASSAGES, the first ones. Not to be changed: it may be kept.
    """
    return _passages_of_short(text) if len(text) <= _MAX_REMEMBERED else _passages(text)


def _passages(text: str) -> list[str]:
    text = text.strip()
    stop = _STOP.search(text)
    if (stop is None or stop.end() == len(text)) and len(text) <= MAX_QUOTE:
        return [text] if text else []
    found: list[str] = []
    start = 0
    for stop in islice(_STOP.finditer(text), _MAX_STOPS):
        if _ends_sentence(stop):
            found += _pieces(text[start : stop.end()])
            start = stop.end()
            if len(found) >= MAX_PASSAGES:
                return found[:MAX_PASSAGES]
    return (found + _pieces(text[start:]))[:MAX_PASSAGES]


_passages_of_short = lru_cache(maxsize=512)(_passages)  # asked for as a question, a quote and to be remembered


def _ends_sentence(stop: re.Match[str]) -> bool:
    marks = stop.group()
    if not _UNSPACED_STOP.search(marks):  # 3.5, example.org
        return False
    text, start = stop.string, stop.start()
    return marks.rstrip(" ") != "." or not _ABBREVIATION.search(text, max(0, start - 8), start)


def _pieces(sentence: str) -> list[str]:
    found: list[str] = []
    sentence = sentence.strip()
    while len(sentence) > MAX_QUOTE:
        cut = sentence.rfind(" ", MAX_QUOTE // 2, MAX_QUOTE + 1)
        if cut < 0:
            cut = MAX_QUOTE
        found.append(sentence[:cut].rstrip())
        sentence = sentence[cut:].lstrip()
    if sentence:
        found.append(sentence)
    return found


def tells(text: str, said: list[str]) -> bool:
    """Whether a text, its words being `said`, tells something: no question, request, greeting or thanks."""
    return bool(said) and not asks(text, said) and courtesy(said) is None


class Analysis(NamedTuple):
    """What a message is: its words, their terms, and what it wants."""

    text: str  # as `spoken` leaves it
    said: list[str]
    terms: list[str]
    courtesy: Courtesy | None
    asks: bool


def analysed(text: str) -> Analysis | None:
    """Look at a short message once: it is answered, and then remembered, in one step; None for a long one."""
    return _analyse(text) if len(text) <= _MAX_REMEMBERED else None


def analysing(text: str) -> Steps[Analysis]:
    """Look at a message of any length."""
    text = spoken(text)
    said = yield from tokenizer.splitting(text)
    terms = yield from tokenizer.terming(said)
    return Analysis(text, said, terms, courtesy(said), asks(text, said))


@lru_cache(maxsize=64)
def _analyse(text: str) -> Analysis:
    text = spoken(text)
    said = tokenizer.split(text)
    return Analysis(text, said, tokenizer.terms(said), courtesy(said), asks(text, said))


def facts(utterance: Utterance) -> list[str]:
    """The terms of a short utterance by which it can be recalled; none if it tells nothing.

    Questions tell nothing, nor do an agent's replies that quote something or say that they know nothing.
    """
    if _says_nothing(utterance):
        return []
    message = _analyse(utterance.content)
    if message.courtesy:
        return []
    if not message.asks:
        return message.terms
    parts = passages(message.text)
    if len(parts) < 2:
        return []
    return tokenizer.terms([word for part in parts if tells(part, told := tokenizer.split(part)) for word in told])


def finding_facts(utterance: Utterance) -> Steps[list[str]]:
    """The terms of any utterance by which it can be recalled, as `facts` has them."""
    if len(utterance.content) <= _MAX_REMEMBERED:
        return facts(utterance)
    if _says_nothing(utterance):
        return []
    message = yield from analysing(utterance.content)
    if message.courtesy:
        return []
    if not message.asks:
        return message.terms
    told: list[str] = []
    for part in passages(message.text):
        said = tokenizer.split(part)
        if tells(part, said):
            told += said
        yield
    return (yield from tokenizer.terming(told))


def _says_nothing(utterance: Utterance) -> bool:
    return utterance.role == "agent" and bool(utterance.sources or utterance.content.endswith(_SAYS_NOTHING))
