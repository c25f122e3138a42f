"""Greetings, thanks, farewells and reactions: messages that neither ask nor state anything."""

from typing import Literal

from actors.text.tokenizer import lexicon, split

Courtesy = Literal["greeting", "thanks", "farewell", "reaction"]

_MAX_COURTESY = 8  # words

_WORDS_OF_COURTESY: dict[Courtesy, str] = {
    "greeting": """hello hi hey hiya howdy greetings hallo hoi servus moin grüezi salut bonjour bonsoir coucou
        hola buenas good guten gute buenos buongiorno buonasera olá привет здравствуйте 你好""",
    "thanks": """thanks thank thx danke merci gracias cheers many vielen herzlichen besten lieben muchas mil grazie
        obrigado obrigada спасибо 谢谢""",
    "farewell": "bye goodbye ciao tschüss tschüs tschau ade adieu adiós chao arrivederci",
}
_PHRASES_OF_COURTESY: dict[Courtesy, str] = {
    "greeting": """morning, how are you, how are things, how have you been, how is it going, how s it going,
        how do you do, nice to meet you, good to see you, long time no see, what s up, welcome back,
        wie geht s, wie geht es dir, wie geht es ihnen, wie läuft s, grüß gott, grüß dich, grüß euch,
        ça va, comment ça va, comment vas tu, comment allez vous, qué tal, hola qué tal, cómo estás, cómo está usted,
        cómo te va, come va, come stai, tutto bene, buon giorno, buona sera""",
    "farewell": """good night, see you, see you soon, see you later, see you tomorrow, see you around,
        talk to you later, talk to you soon, talk to you tomorrow, talk later, talk soon, take care,
        have a good one, have a nice day, have a good day, have a great day, have a nice evening, have a good evening,
        have a good night, have a nice weekend, have a good weekend, have a great weekend,
        gute nacht, auf wiedersehen, bis bald, bis dann, bis gleich, bis nachher, bis später, bis morgen, mach s gut,
        schönen tag, schönen tag noch, schönen abend, schönen abend noch, schönes wochenende, schönen feierabend,
        au revoir, à bientôt, à plus, à plus tard, à demain, bonne nuit, bonne journée, bonne soirée, bon week end,
        hasta luego, hasta pronto, hasta mañana, buenas noches, nos vemos, a presto, a domani, buona notte,
        buona giornata""",
    "reaction": """got it, gotcha, i see, makes sense, that makes sense, sounds good, you re welcome,
        no problem, no worries, sorry, verstehe, verstanden, passt, kein problem, gern geschehen, bitte sehr,
        entschuldigung, d accord, de rien, je t en prie, je vous en prie, désolé, désolée, de nada, entendido, perdón,
        va bene, capito, prego, scusa""",
}
_PHRASES: dict[str, Courtesy] = {
    " ".join(split(one)): kind for kind, text in _PHRASES_OF_COURTESY.items() for one in text.split(",")
}
_BEFORE_PHRASE = lexicon("and so well hello hi hey hallo salut hola oh")
_FIRST_OF_PHRASE = _BEFORE_PHRASE | {phrase.split()[0] for phrase in _PHRASES}
_AFTER_PHRASE = lexicon("today doing then by the way this morning afternoon evening heute denn so aujourd hui hoy")
_COURTESIES: dict[str, Courtesy] = {word: kind for kind, text in _WORDS_OF_COURTESY.items() for word in lexicon(text)}
_HALF_COURTESIES = lexicon(  # good morning, but not: good idea
    "good guten gute buenos many vielen herzlichen besten lieben muchas mil"
)
_THANKS = lexicon(_WORDS_OF_COURTESY["thanks"]) - _HALF_COURTESIES
_REACTIONS = lexicon(
    """great perfect nice cool awesome wonderful amazing super lol haha hahaha hm hmm wow oh ah aha ok okay yes yeah yep
    yup no nope right correct wrong true sure fine exactly indeed good understood interesting funny that s is it so very
    really all alright never mind forget about genau richtig falsch stimmt gut prima toll klasse schön ja nein das ist
    alles klar accord bien sûr parfait génial oui non c est ça vale perfecto genial claro sí"""
)
_COURTEOUS = _COURTESIES.keys() | lexicon(
    """morning afternoon evening day night tag morgen abend nacht días tardes there again everyone team bye
    you very much a lot so schön sehr dank beaucoup mille for your help everything
    für deine ihre hilfe pour ton votre aide por tu su ayuda per il tuo aiuto l"""
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
    kind = _PHRASES.get(" ".join(words[start:end]))
    return None if kind == "reaction" and end < len(words) else kind  # "Got it today."
