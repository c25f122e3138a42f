"""The dialogue act of a message, the passages of it that can be quoted, and the facts in it to remember.

The rules are simple on purpose, for English, German, French and Spanish. A wrong guess leads to a clumsy answer, never
to an error.
"""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import re
from functools import lru_cache
from itertools import islice, pairwise

from msgspec import Struct

from actors.engines.courtesies import Courtesy, courtesy
from actors.engines.message import Utterance
from actors.slices import Steps
from actors.text import answer_kinds, tokenizer
from actors.text.tokenizer import lexicon

MAX_QUOTE = 240
"""The largest number of characters of a passage, and so of a quote."""

MAX_PASSAGES = 512
"""The number of passages of a text that are read; 32,000 characters of prose have fewer."""

_MAX_REMEMBERED = tokenizer.SLICE_CHARS  # the longest message whose analysis is cached, in characters
_WRAPPED = 50  # characters; a longer line may be broken within a sentence
_MAX_STOPS = 4 * MAX_PASSAGES  # full stops and similar marks that are read, whether or not they end a sentence
_MAX_MENTIONS = 8

UNKNOWN = "I know nothing about that yet. Tell me, and I will remember it in this conversation."
NOTED = "Noted: I will remember that in this conversation."
INVITATION = "Ask me something, or tell me something to remember."
WELCOME = "You are welcome."
GOODBYE = "Goodbye."

CANNOT_FORGET = (
    "I cannot forget single messages. CV_Destroy erases a conversation for good, ZN_Destroy a zone,"
    " and MB_Censor a memory in a bank."
)

_SAYS_NOTHING = (UNKNOWN, NOTED, INVITATION, WELCOME, GOODBYE, CANNOT_FORGET)

_FORGETS = re.compile(
    r"""(?:(?:please|ok|okay|and|so|then|now|just|bitte)\W+)*
    (?:(?:(?:can|could|would|will)\ you|i\ (?:want|need|would\ like)\ you\ to)\ (?:please\ )?)?
    (?:(?:forget|vergiss|oublie|oubliez|olvida)\b(?!-|\ (?:about\ )?it\W*$|\ nicht\b|\ pas\b)
    |(?:delete|erase|lösch|lösche|efface|supprime|borra)\b
    (?=.*\b(?:you|my\ messages|conversation|memory|memories|weißt|gespräch|sais|sabes|conversación)\b))
    [^,;:–—]*""",
    re.IGNORECASE | re.VERBOSE,
)

_FILLERS = lexicon("and so but then also ok okay please well hey hi hello und bitte et alors mais y pero")
_VERBS_THAT_ASK = lexicon(
    """is are was were do does did can could would should has ist sind hast hat kannst kennst weisst bist
    gibt est peux connais sais"""
)
_ASKS_WHETHER = _VERBS_THAT_ASK - answer_kinds.QUESTION_WORDS
_YOU = lexicon("you du ihr tu vous")
_NO_QUESTION = lexicon("i you we he she they it not ich du er wir ihr")  # When I was young. Do not forget.
_REQUESTS = lexicon(
    """find search list explain describe recall summarize summarise erkläre beschreibe suche cherche
    explique dime cuéntame muéstrame recuérdame explica"""
)
_REQUEST_VERBS = lexicon("tell show give remind sag sage zeig erzähl gib dis montre donne rappelle parle")
_ME = lexicon("me us mir uns moi nous")
_TASKS = lexicon("write compose convert translate schreib schreibe übersetze traduis escribe traduce")
# "Write me a poem", "Convert 72 degrees", "Translate “good luck”", but neither "Write me at a@b.org" nor "Write to Ada"
_TASK = re.compile(
    r"""\w+\s(?:(?:(?:me|us)\s(?:an?|some)|(?:mir|uns)\seine?n?)\s
    |(?:an?|eine?n?|une?|una?)\s(?:poem|haiku|limerick|sonnet|song|story|joke|gedicht|geschichte|lied|witz|poème|poema)\b
    |["“„«'‘\d])""",
    re.IGNORECASE | re.VERBOSE,
)

_FIRST_OF_INDIRECT = lexicon(
    """i no sorry oh hm now can could tell remind do ich mich mir keine sag sage sagt sagen verrate verrat verraten
    erinnere erinner kannst können weißt wissen je j tu dis dites rappelle rappelez sais me he quisiera dime
    dimmi ditemi vorrei non ho"""
)
_INDIRECT = re.compile(
    r"""(?:(?:and|but|so|well|oh|hm+|sorry|also|now|und|aber)\b,?+\ *+)*+
    (?:(?:i\ (?:wonder|was\ wondering|am\ wondering|want\ to\ know|have\ no\ idea)
    |i(?:'d|\ would)\ (?:like|love)\ to\ know|i'm\ wondering|no\ idea|i(?:'ve|\ have)?\ forgot(?:ten)?(?:\ to\ ask)?
    |i\ (?:don't|do\ not)\ (?:know|remember|recall)|i\ (?:can't|cannot)\ (?:remember|recall)(?:\ any\ ?more)?)\ +
    (?=(?:who|whom|whose|what|which|when|where|why|how)\b(?!\ to\b)|(?<=wonder\ )(?:if|whether)\b)
    |(?:(?:(?:can|could)\ you\ )?(?:please\ )?(?:tell|remind)\ (?:me|us)(?:\ (?:again|please))?
    |do\ you\ (?:happen\ to\ )?(?:know|remember(?!\ when))),?\ +
    (?=(?:who|whom|whose|what|which|when|where|why|how)\b(?!\ to\b))
    |(?:ich\ frage\ mich|ich\ wei(?:ß|ss)\ nicht(?:\ mehr)?|ich\ (?:möchte|will|würde\ gern(?:e)?)\ wissen
    |ich\ wüsste\ (?:zu\ )?gern(?:e)?|mich\ (?:würde\ interessieren|interessiert)|mir\ ist\ entfallen
    |ich\ hab(?:e)?\ vergessen|keine\ ahnung|weißt\ du|wissen\ sie
    |(?:kannst\ du|können\ sie)\ (?:mir|uns|mich)(?:\ (?:bitte|mal|noch\ ?mal|noch\ einmal|daran)){0,3}
    \ (?:sagen|verraten|erinnern)
    |(?:bitte\ )?(?:sag(?:en?|t)?|verrat(?:en?)?|erinner(?:e|n)?)(?:\ sie)?
    \ (?:mir|mich|uns)(?:\ (?:bitte|mal|doch|noch\ ?mal|noch\ einmal|daran)){0,3}),?\ +
    (?=(?:wer|wen|wem|wessen|was|welche[mnrs]?|wann|wo|woher|wohin|warum|wie)\b)
    |(?:je\ me\ demande|je\ ne\ (?:sais|me\ souviens)\ (?:pas|plus)|j'ai\ oublié|je\ voudrais\ savoir
    |(?:dis|dites|rappelle|rappelez)-(?:moi|nous)(?:,?\ s'il\ (?:te|vous)\ pla[iî]t,?)?|(?:tu\ )?sais(?:-tu)?)\ +
    (?=(?:qui|quand|où|comment|combien|pourquoi|quel(?:le)?s?)\b)
    |(?:me\ pregunto|no\ sé|no\ recuerdo|he\ olvidado|quisiera\ saber|dime)\ +
    (?=(?:qué|quién(?:es)?|cuándo|dónde|cómo|cuánt[oa]s?|cuál(?:es)?)\b)
    |(?:dimmi|ditemi|vorrei\ sapere|non\ (?:so|ricordo)(?:\ più)?|ho\ dimenticato)\ +
    (?=(?:chi|(?:che\ )?cosa|quando|dove|come|quant[oaie]|qual[ei]?)\b))
    (?=[^,;:–—.!?\n]*(?:[.!?\n]|$))""",  # what follows a comma may state something
    re.IGNORECASE | re.VERBOSE,
)

_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_AFTER_MARKS = " \n\t\"'”’»)"
_QUESTION_MARK = re.compile(r"¿|[?？؟](?=$|[\s\"'”’»)\]!?]|[^\x00-\x7f])")
_CJK_QUESTION = re.compile(r"[吗嗎呢か][。.]?$")
_STOP = re.compile(r"[.!?؟…。！？\r\n\v\f\x85\u2028\u2029]+[\"'”’»)\]]*\s*")
_UNSPACED_STOP = re.compile(r"[。！？\s]")
_ELLIPSIS = re.compile(r"(?:\.{2,}|…)\s*")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Hr|Fr|z\.\s?B|e\.g|i\.e|bzw|ca)|\b\d\d?)$")
_WITHIN = re.compile(r"\b(?:approx|vs|etc|incl|usw|inkl|evtl|ggf|[ap]\.?\s?m)$")  # not always the end of a sentence


def spoken(text: str) -> str:
    """Strip a text of spaces at its ends and of the agents that it is addressed to (`@scout ...`)."""
    text = text.strip()
    for _ in range(_MAX_MENTIONS):
        if not text.startswith("@"):
            break
        text = text.partition(" ")[2].lstrip()
    return text


def direct(text: str) -> str:
    """Return the question in an indirect one, "how old Ada is" of "I wonder how old Ada is.", else the text."""
    indirect = _INDIRECT.match(text.replace("’", "'"))
    return text[indirect.end() :] if indirect else text


def asks(text: str, words: list[str]) -> bool:
    """Return whether a text with these words is a question or a request."""
    if not words:
        return "?" in text or "？" in text
    if text.endswith(("?", "？")):
        return True
    if ("?" in text or not text.isascii()) and (_QUESTION_MARK.search(text) or _CJK_QUESTION.search(text)):
        return True
    start = 0
    while start < len(words) - 1 and words[start] in _FILLERS:
        start += 1
    first = words[start]
    following = words[start + 1] if start + 1 < len(words) else ""
    if first in _REQUESTS or (first in _REQUEST_VERBS and following in _ME):
        return True
    if first in _TASKS and _TASK.match(text, text.lower().find(first)):
        return True
    if first in _FIRST_OF_INDIRECT and (question := direct(text)) is not text:
        return bool(tokenizer.terms(tokenizer.split(question)))  # "I don't know what you mean." asks for nothing
    if first in answer_kinds.QUESTION_WORDS:
        return following not in _NO_QUESTION and not text.endswith((".", "!"))
    return first in _VERBS_THAT_ASK and following != "not" and not text.endswith((".", "!"))


def asks_whether(words: list[str]) -> bool:
    """Return whether the words of a question ask if something is so, as "Do I live in Bern?" does.

    What the agent knows or can do is not meant: "Do you know my address?".
    """
    for first, following in pairwise(words):
        if first not in _FILLERS:
            return first in _ASKS_WHETHER and following not in _YOU
    return False


def ends_asking(text: str) -> bool:
    """Return whether a text ends with a question, in quotation marks or not."""
    return text.rstrip(_AFTER_MARKS).endswith(_QUESTION_MARKS)


def questions_in(text: str) -> list[str]:
    """Return the terms of a text that has a question, and that ends with one."""
    if ("?" not in text and text.isascii()) or not _QUESTION_MARK.search(text):
        return []
    return [answer_kinds.ASKED, answer_kinds.ASKS] if ends_asking(text) else [answer_kinds.ASKED]


def only_asks(text: str) -> bool:
    """Return whether each sentence of a text is a question."""
    text = text.rstrip()
    return text.endswith(_QUESTION_MARKS) and all(passage.endswith(_QUESTION_MARKS) for passage in passages(text))


def passages(text: str) -> list[str]:
    """Split a text into sentences, and those above MAX_QUOTE characters between words; none is blank.

    Each is a literal part of the text; only the first MAX_PASSAGES are returned. The cached list is read-only.
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


_passages_of_short = lru_cache(maxsize=512)(_passages)  # a text is read as a question, as a quote and for its facts


def _ends_sentence(stop: re.Match[str]) -> bool:
    marks = stop.group()
    if not _UNSPACED_STOP.search(marks):  # 3.5, example.org
        return False
    text, start = stop.string, stop.start()
    goes_on = text[stop.end() : stop.end() + 1]
    if marks.strip() == "" and goes_on.islower() and marks.count("\n") == 1:
        return start - text.rfind("\n", 0, start) <= _WRAPPED  # else the line goes on in the next
    if goes_on.islower() and _ELLIPSIS.fullmatch(marks):  # "The alarm code... is 4711."
        return False
    if marks.rstrip(" ") != ".":
        return True
    if (goes_on.islower() or goes_on.isdigit()) and _WITHIN.search(text, max(0, start - 8), start):
        return False
    return not _ABBREVIATION.search(text, max(0, start - 8), start)


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


def is_statement(text: str, words: list[str]) -> bool:
    """Return whether a text with these words is a statement: no question, request, greeting or thanks."""
    return bool(words) and not asks(text, words) and courtesy(words) is None


class Analysis(Struct, frozen=True):
    """The analysis of a message: its words, their terms, and its dialogue act."""

    text: str  # as `spoken` leaves it
    words: list[str]
    terms: list[str]
    courtesy: Courtesy | None
    asks: bool
    forgets: bool = False
    """Whether something that was said is to be forgotten."""


def analysing(text: str) -> Steps[Analysis]:
    """Analyse a message; the analysis of a short one is cached between answering and remembering it."""
    if len(text) <= _MAX_REMEMBERED:
        return _analyse(text)
    text = spoken(text)
    words = yield from tokenizer.splitting(text)
    terms = yield from tokenizer.terming(words)
    return Analysis(text, words, terms, courtesy(words), asks(text, words))


@lru_cache(maxsize=64)
def _analyse(text: str) -> Analysis:
    text = spoken(text)
    words = tokenizer.split(text)
    kind, question = courtesy(words), asks(text, words)
    if question:
        if kind == "reaction":  # "Is that right?"
            kind = None
        if len(passages(text)) < 2 and (asked := direct(text)) is not text:
            text, words = asked, tokenizer.split(asked)
    forgets = _FORGETS.fullmatch(text) is not None and len(passages(text)) == 1
    return Analysis(text, words, tokenizer.terms(words), kind, question, forgets)


def facts(utterance: Utterance) -> list[str]:
    """Return the terms by which a short utterance can be recalled; none if it states nothing.

    Questions state nothing, unless someone tells of them ("Ada: How old?"), nor do an agent's replies that quote
    something or say that they know nothing.
    """
    if _says_nothing(utterance):
        return []
    message = _analyse(utterance.content)
    if message.courtesy or message.forgets:
        return []
    if (stated := _stated(message)) is not None:
        return stated
    parts = passages(message.text)
    if len(parts) < 2:
        return []
    stated = [word for part in parts if is_statement(part, words := tokenizer.split(part)) for word in words]
    return _with_kinds(message.text, tokenizer.terms(stated), stated)


def _stated(message: Analysis) -> list[str] | None:
    """Return the terms of a message that wholly states something; None for one that asks.

    The turn of a dialogue that is told does not ask the agent, even if it is a question.
    """
    if said_by := answer_kinds.said_by(message.text, message.words):
        return [*_with_kinds(message.text, message.terms, message.words), *said_by, *questions_in(message.text)]
    return None if message.asks else _with_kinds(message.text, message.terms, message.words)


def _with_kinds(text: str, terms: list[str], words: list[str]) -> list[str]:
    return [*terms, *answer_kinds.held(text, words[: tokenizer.SLICE_CHARS])] if terms else terms


def finding_facts(utterance: Utterance) -> Steps[list[str]]:
    """Return the terms by which an utterance of any length can be recalled, as `facts` does."""
    if len(utterance.content) <= _MAX_REMEMBERED:
        return facts(utterance)
    if _says_nothing(utterance):
        return []
    message = yield from analysing(utterance.content)
    if message.courtesy:
        return []
    if (told := _stated(message)) is not None:
        return told
    stated: list[str] = []
    for part in passages(message.text):
        words = tokenizer.split(part)
        if is_statement(part, words):
            stated += words
        yield
    return _with_kinds(message.text, (yield from tokenizer.terming(stated)), stated)


def _says_nothing(utterance: Utterance) -> bool:
    return utterance.role == "agent" and bool(utterance.sources or utterance.content.endswith(_SAYS_NOTHING))
