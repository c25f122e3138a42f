"""The default engine: answers by quoting earlier messages, memories and the profile, or says that it knows nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Struct, structs

from actors.engines import dialogue_acts
from actors.engines.candidates import Candidate, behind_best, by_numbers, in_conversation, of_utterance
from actors.engines.continuation import MAX_REASONS, asks_why, goes_on, tells_reason
from actors.engines.courtesies import Courtesy
from actors.engines.message import FoundUtterance, Source
from actors.engines.quote import MAX_SOURCES, best_passage
from actors.engines.relevance import questions_apart, terms_asked_for
from actors.engines.turn import LookUp, Memory, Persona, Reply, Turn
from actors.engines.window import Window
from actors.retrieval.index import Index
from actors.retrieval.question import SURE, Question
from actors.slices import Steps, whole
from actors.text import answer_kinds, tokenizer
from actors.text.answer_kinds import are_told
from actors.text.tokenizer import lexicon

_MAX_PERSONAS = 512
_MAX_ASKED_OFTEN = 16  # questions to one persona that are cached
_MAX_REMEMBERED = 200  # the longest of these questions, in characters
_MAX_HITS = 6  # utterances of the window that are read more closely
_MAX_LATEST = 24  # statements that are read for what the speaker said of themselves
_ENOUGH = 0.75  # of a question's terms; an answer with fewer may be worse than one in an older message

_ALL_RIGHT = f"All right. {dialogue_acts.INVITATION}"
_UNSURE = "I am not sure, but this may help.\n"

_ABOUT_AGENT = lexicon(
    "name help helfen hilfst job purpose role skill able agent assistant bot aufgabe aide aider ayudar work"
)
_AGENT_WORDS = lexicon(
    "you your yourself du dich dir dein deine deinen tu toi te vous votre vos tú usted ti ta ton eres"
)
_JUST = lexicon("just gerade eben")
_OWN_NAME = Question((tokenizer.SELF_NAME,))
_COPULAS = (" is ", " ist ", " est ", " es ", " heißt ", " s'appelle ", " se llama ")
_OPENING = re.compile(r"(?:(?:actually|now|no|sorry|correction|remember|note|and|but|that|also|aber)\b[,:]? *)+")


class _Asked(Struct, frozen=True):
    """A question to a persona, analysed without the conversation and the banks."""

    query: Question
    about_speaker: bool
    by_profile: list[Candidate]
    """The passages of the profile that may answer it, best first."""
    alone: Reply
    """The answer if neither conversation nor banks have one; unused if the question is only about the speaker."""
    settled: bool
    """Whether `alone` is the answer in any case."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A persona, split into passages and indexed.

    `asked` caches the last questions, because many users ask an agent the same.
    """

    persona: Persona
    name: frozenset[str]  # terms
    passages: list[str]
    index: Index
    asked: dict[str, _Asked] = field(default_factory=dict[str, _Asked])

    def ask(self, message: dialogue_acts.Analysis) -> Steps[_Asked]:
        """Analyse a question, and cache the result."""
        known = yield from self._look_at(message)
        if len(message.text) <= _MAX_REMEMBERED:
            if len(self.asked) >= _MAX_ASKED_OFTEN and message.text not in self.asked:
                del self.asked[next(iter(self.asked))]
            self.asked[message.text] = known
        return known

    def _look_at(self, message: dialogue_acts.Analysis) -> Steps[_Asked]:
        query = Question((yield from terms_asked_for(message, dialogue_acts.passages(message.text), self.name)))
        by_profile = self.says(query)
        about_agent = _ABOUT_AGENT.issuperset(query.terms) and not _AGENT_WORDS.isdisjoint(message.words)
        about_speaker = bool(answer_kinds.of_oneself(message.words))
        introduces = about_agent and (not about_speaker or not by_profile)
        alone = (yield from self.introduction()) if introduces else (yield from _answering(by_profile, query))
        return _Asked(query, about_speaker, by_profile, alone, about_agent and not about_speaker)

    def says(self, query: Question, *, sure: bool = False) -> list[Candidate]:
        """Return the passages of the profile that answer a question, best first; `sure`: without doubt."""
        if sure:
            return _ranked([_of_profile(self, one.share, one.number) for one in self.index.sure(query, MAX_SOURCES)])
        found = self.index.search(query, MAX_SOURCES)
        return _ranked([_of_profile(self, one.share, one.number) for one in found if one.answers])

    def introduction(self) -> Steps[Reply]:
        """Return the answer to "Who are you?"."""
        opening = f"I am {self.persona.name}."
        if not self.passages:
            return Reply(f"{opening} {dialogue_acts.INVITATION}")
        found = [_of_profile(self, 1.0, number) for number in range(min(2, len(self.passages)))]
        return (yield from _quoting(f"{opening}\n", found, Question(())))


class RecallEngine:
    """Answers from the persona, the memories and the window of a turn, with quotes and their sources.

    Deterministic. The only state is a bounded cache of indexed personas.
    """

    name = "recall"

    def __init__(self) -> None:
        self._personas: dict[str, _Known] = {}

    def reply(self, turn: Turn) -> Reply:
        """Answer in one step, without an archive; see `replying`."""
        reply = whole(self.replying(structs.replace(turn, archive=None)))
        assert isinstance(reply, Reply)
        return reply

    def replying(self, turn: Turn) -> Steps[Reply | LookUp]:
        """Greet, acknowledge, answer with up to MAX_SOURCES quotes, ask for older messages, or know nothing."""
        message = yield from dialogue_acts.analysing(turn.message)
        if message.forgets:
            return Reply(dialogue_acts.CANNOT_FORGET)
        if message.courtesy:
            return _courteous(message.courtesy, turn.persona)
        if message.asks:
            known = self._known(turn.persona) or (yield from self._learn(turn.persona))
            asked = known.asked.get(message.text) or (yield from known.ask(message))
            if asked.settled:
                return asked.alone
            if not asked.query.terms:
                return (yield from _about_speaker(turn)) if asked.about_speaker else asked.alone
            hits = yield from _sure(turn, asked.query)
            found = _found(turn, asked.query, hits)
            ranked = _ranked(found + asked.by_profile)
            told = are_told([hit.utterance.content for hit in hits])
            if turn.older is None and (told or not ranked or ranked[0].share < SURE):
                hits = _in_context(turn.window, asked.query, told=told)
                found = _found(turn, asked.query, hits)
                ranked = _ranked(found + asked.by_profile)
            unsure = not ranked or ranked[0].share < SURE
            if unsure and turn.older is None and (reply := (yield from _to_a_sentence(turn, message, known))):
                return reply
            if turn.archive is not None and (not ranked or ranked[0].share < _ENOUGH):
                return LookUp(asked.query, hits)
            if not found:
                return asked.alone
            return (yield from _quoting(_opening(ranked), ranked, asked.query))
        query = Question(message.terms, whole=True)
        if not query.terms:
            return Reply(_ALL_RIGHT)
        if len(query.terms) < 2:  # "We'll see." is related to nothing
            return Reply(dialogue_acts.NOTED)
        found = _found(turn, query, (yield from _sure(turn, query)), sure=True)
        known = self._known(turn.persona) or (yield from self._learn(turn.persona))
        related = _ranked(found + known.says(query, sure=True))
        if not related:
            return Reply(dialogue_acts.NOTED)
        return (yield from _quoting(f"{dialogue_acts.NOTED} I also know this.\n", related, query))

    def _known(self, persona: Persona) -> _Known | None:
        known = self._personas.get(persona.id)
        return known if known is not None and (known.persona is persona or known.persona == persona) else None

    def _learn(self, persona: Persona) -> Steps[_Known]:
        passages = dialogue_acts.passages(persona.description) + dialogue_acts.passages(persona.profile)
        known = _Known(
            persona, frozenset(tokenizer.terms(tokenizer.split(persona.name))), passages, Index(relates=False)
        )
        for number, passage in enumerate(passages):
            words = tokenizer.split(passage)
            if terms := tokenizer.terms(words):
                known.index.add(number, [*terms, *answer_kinds.held(passage, words)])
            yield
        self._personas.pop(persona.id, None)
        if len(self._personas) >= _MAX_PERSONAS:
            del self._personas[next(iter(self._personas))]
        self._personas[persona.id] = known
        return known


def _sure(turn: Turn, query: Question) -> Steps[Sequence[FoundUtterance]]:
    """Search the window for answers without doubt, unless older messages were looked up beside it."""
    if turn.older is not None:
        return turn.older
    window = turn.window
    if window.is_empty:  # many conversations have one question only, and so never need an index
        return ()
    if not window.is_indexed:
        yield from window.indexing()
    return window.sure(query, _MAX_HITS)


def _in_context(window: Window, query: Question, *, told: bool) -> Sequence[FoundUtterance]:
    """Search the window for answers; a dialogue that is `told` is searched as a bank with it would be."""
    hits = () if told else window.answers(query, _MAX_HITS)
    told = told or are_told([hit.utterance.content for hit in hits])
    return window.answers(query, _MAX_HITS, as_bank=True) if told else hits


def _to_a_sentence(turn: Turn, message: dialogue_acts.Analysis, known: _Known) -> Steps[Reply | None]:
    """Answer the first sentence of several that ask which has an answer without doubt.

    One that only names something is answered by the one message that does so, too: "Does he have asthma?".
    """
    for query in (yield from questions_apart(message.text, known.name)):
        hits = yield from _sure(turn, query)
        if len(hits) > 1 and len(query.terms) == 1:
            continue
        found = in_conversation(turn, query, hits) or known.says(query, sure=True)
        if found:
            return (yield from _quoting("", found, query))
    return None


def _found(turn: Turn, query: Question, hits: Sequence[FoundUtterance], *, sure: bool = False) -> list[Candidate]:
    """Return the answers to a question in the conversation and the banks; `sure`: without doubt."""
    found = in_conversation(turn, query, hits, sure=sure)
    if not turn.memories:
        return found
    answering = by_numbers(query, [one for one in turn.memories if one.answers and (one.share >= SURE or not sure)])
    banks: list[Candidate] = []
    best = 0.0
    for memory in reversed(answering):  # none ranks below one that follows
        best, lead = max(best, memory.share), f"From the bank {memory.bank}"
        banks.append(Candidate(best, "bank", memory.bank, memory.name, lead, memory.text))
    banks.reverse()
    if banks and not sure and (following := _part_after(turn, query, answering[0])):
        banks = behind_best(banks, banks[0]._replace(id=following.name, text=following.text))
    return found + banks


def _part_after(turn: Turn, query: Question, memory: Memory) -> Memory | None:
    """Return the part after a memory, if it was recalled, too, and goes on with it where something is missing."""
    whole, _, part = memory.name.rpartition("/")
    if not (whole and part.isdecimal()):
        return None
    text = memory.text[: tokenizer.SLICE_CHARS]
    held = answer_kinds.held(text, tokenizer.split(text)) if query.needs else ()
    if query.is_met_by(held):
        return None
    later = {one.name: one for one in turn.memories if one.bank == memory.bank}
    following = [later.get(f"{whole}/{int(part) + distance}") for distance in range(1, MAX_REASONS + 1)]
    if asks_why(turn.message):
        if tells_reason(text):
            return None
        if reason := next((one for one in following if one is not None and tells_reason(one.text)), None):
            return reason
    after = following[0]
    return after if after is not None and goes_on(query, after.text) else None


def _ranked(found: list[Candidate]) -> list[Candidate]:
    """Sort the best first; equals keep their order: conversation, banks, profile."""
    if len(found) > 1:
        found.sort(key=_by_share, reverse=True)
    return found


def _answering(found: list[Candidate], query: Question) -> Steps[Reply]:
    """Answer a question with candidates, best first."""
    if not found:
        return Reply(dialogue_acts.UNKNOWN)
    return (yield from _quoting(_opening(found), found, query))


def _opening(found: list[Candidate]) -> str:
    """Begin an answer with a reservation if the best candidate is doubtful."""
    return "" if found[0].share >= SURE else _UNSURE


def _courteous(courtesy: Courtesy, persona: Persona) -> Reply:
    if courtesy == "greeting":
        return Reply(f"Hello! I am {persona.name}. {dialogue_acts.INVITATION}")
    if courtesy == "reaction":
        return Reply(_ALL_RIGHT)
    return Reply(dialogue_acts.WELCOME if courtesy == "thanks" else dialogue_acts.GOODBYE)


def _by_share(candidate: Candidate) -> float:
    return candidate.share


def _of_profile(known: _Known, share: float, number: int) -> Candidate:
    persona = known.persona
    return Candidate(share, "profile", persona.name, persona.id, "My profile says", known.passages[number])


def _quoting(opening: str, found: list[Candidate], query: Question) -> Steps[Reply]:
    """Quote the first candidate, and others that are about as good and have another subject."""
    lines: list[str] = []
    sources: list[Source] = []
    subjects: set[str] = set()
    echoes: list[int] = []
    for share, kind, of, id, lead, text, echo, later in found:
        if len(sources) == MAX_SOURCES or share < found[0].share * 0.9:
            break
        passages = dialogue_acts.passages(text)
        quote = passages[0] if len(passages) == 1 else (yield from best_passage(text, passages, query))
        if len(found) > 1:
            subject = _subject(quote)
            if subject in subjects and not later:
                continue
            subjects.add(subject)
        lines.append(f"{lead}: “{quote}”")
        sources.append(Source(kind, of, id, quote))
        if echo:
            echoes.append(echo)
    return Reply(opening + "\n".join(lines), tuple(sources), tuple(echoes))


def _subject(quote: str) -> str:
    """Return the subject of a sentence: "my favourite colour" for "My favourite colour is green."."""
    text = quote.casefold()
    if opening := _OPENING.match(text):
        text = text[opening.end() :]
    for copula in _COPULAS:
        subject, found, _ = text.partition(copula)
        if found:
            return subject
    return text


def _about_speaker(turn: Turn) -> Steps[Reply | LookUp]:
    """Answer "Who am I?" with what the speaker stated: the name, then what is about them, then the newest."""
    window = turn.window
    yield from window.indexing()
    if not _JUST.isdisjoint(tokenizer.last_words(turn.message)):  # "What did I just say?"
        said = [of_utterance(turn, 1.0, one) for one in islice(window.statements(), _MAX_LATEST)]
        newest = [one for one in said if one.lead == "You said"][:1]
        return (yield from _quoting("", newest, _OWN_NAME)) if newest else Reply(dialogue_acts.UNKNOWN)
    naming = window.sure(_OWN_NAME, _MAX_HITS) if turn.older is None else turn.older
    if not naming and turn.archive is not None:
        return LookUp(_OWN_NAME, naming)
    names = {hit.utterance.seq: hit.utterance for hit in naming if hit.answers}
    found: list[tuple[int, int, Candidate]] = []  # by rank and seq
    for seq, stated in (names | {one.seq: one for one in islice(window.statements(), _MAX_LATEST)}).items():
        candidate = of_utterance(turn, 1.0, stated)
        if candidate.lead == "You said" and stated.content != turn.message:
            words = yield from tokenizer.splitting(stated.content)
            found.append((2 if seq in names else 1 if answer_kinds.of_oneself(words) else 0, seq, candidate))
    found.sort(reverse=True)
    return (yield from _quoting("", [one[-1] for one in found], _OWN_NAME)) if found else Reply(dialogue_acts.UNKNOWN)
