"""Greetings, thanks, farewells and reactions: messages that neither ask nor state anything."""

from typing import Literal

from actors.text.tokenizer import lexicon

Courtesy = Literal["greeting", "thanks", "farewell", "reaction"]

_MAX_COURTESY = 8  # words

_WORDS_OF_COURTESY: dict[Courtesy, str] = {
    "greeting": """hello hi hey hiya howdy greetings hallo hoi servus moin grüezi salut bonjour bonsoir coucou
        hola buenas good guten gute buenos buongiorno buonasera olá привет здравствуйте 你好""",
    "thanks": "thanks thank thx danke merci gracias cheers many vielen muchas grazie obrigado obrigada спасибо 谢谢",
    "farewell": "bye goodbye ciao tschüss tschüs ade adieu adiós arrivederci",
}
_PHRASES_OF_COURTESY: dict[Courtesy, str] = {
    "greeting": """morning, how are you, how are things, how have you been, how is it going, how s it going,
        how do you do, nice to meet you, wie geht s, wie geht es dir, wie geht es ihnen, ça va, comment ça va,
        comment vas tu, comment allez vous, qué tal, hola qué tal, cómo estás, cómo está usted""",
    "farewell": """good night, see you, see you soon, see you later, see you tomorrow, gute nacht, auf wiedersehen,
        bis bald, bis später, bis morgen, au revoir, à bientôt, à demain, bonne nuit, hasta luego, hasta pronto,
        hasta mañana, buenas noches""",
}
_PHRASES: dict[str, Courtesy] = {
    " ".join(one.split()): kind for kind, text in _PHRASES_OF_COURTESY.items() for one in text.split(",")
}
_BEFORE_PHRASE = lexicon("and so well hello hi hey hallo salut hola oh")
_FIRST_OF_PHRASE = _BEFORE_PHRASE | {phrase.split()[0] for phrase in _PHRASES}
_AFTER_PHRASE = lexicon("today doing then by the way this morning afternoon evening heute denn so aujourd hui hoy")
_COURTESIES: dict[str, Courtesy] = {word: kind for kind, text in _WORDS_OF_COURTESY.items() for word in lexicon(text)}
_HALF_COURTESIES = lexicon("good guten gute buenos many vielen muchas")  # good morning, but not: good idea
_THANKS = lexicon(_WORDS_OF_COURTESY["thanks"]) - _HALF_COURTESIES
_REACTIONS = lexicon(
    """great perfect nice cool awesome wonderful amazing super lol haha hahaha hm hmm wow oh ah aha ok okay yes yeah yep
    yup no nope right correct wrong true sure fine exactly indeed good understood interesting funny that s is it so very
    really all alright never mind forget about genau richtig falsch stimmt gut prima toll klasse schön ja nein das ist
    alles klar accord bien sûr parfait génial oui non c est ça vale perfecto genial claro sí"""
)
_COURTEOUS = _COURTESIES.keys() | lexicon(
    """morning afternoon evening day night tag morgen abend nacht días tardes there again everyone team bye
    you very much a lot so schön sehr dank beaucoup mille for your help everything"""
)
_THANKFUL = (_COURTEOUS | _REACTIONS | lexicon("was helpful helped")) - {"forget", "about"}


def courtesy(words: list[str]) -> Courtesy | None:
    """Return the courtesy of these words (of `tokenizer.split`) if they are nothing else; a name may follow."""
    if not 0 < len(words) <= _MAX_COURTESY:
        return None
    if words[0] in _FIRST_OF_PHRASE and (phrase := _phrase_among(words)):
        return phrase
    if _REACTIONS.issuperset(words):
        return "reaction"
    kind = _COURTESIES.get(words[0])
    if kind is None:  # "Perfect, thank you!"
        wholly = words[0] in _REACTIONS and _THANKFUL.issuperset(words)
        return "thanks" if wholly and not _THANKS.isdisjoint(words) else None
    if words[0] in _HALF_COURTESIES and (len(words) == 1 or words[1] not in _COURTEOUS):
        return None
    courteous = _THANKFUL if kind == "thanks" else _COURTEOUS
    return kind if sum(word not in courteous for word in words) <= 1 else None


def _phrase_among(words: list[str]) -> Courtesy | None:
    """Return the courtesy of a phrase, with asides or not: "Hi, how are you today, by the way?"."""
    if phrase := _PHRASES.get(" ".join(words)):
        return phrase
    start, end = 0, len(words)
    while start < end and words[start] in _BEFORE_PHRASE:
        start += 1
    while start < end and words[end - 1] in _AFTER_PHRASE:
        end -= 1
    return _PHRASES.get(" ".join(words[start:end]))
