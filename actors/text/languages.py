"""The language of a text, and the stems of its words.

A text's language is the one with most function words among its first words; without any, it is English. Words in a
script of their own (Greek, Cyrillic, Arabic, Devanagari, ...) are stemmed in that script's language. The stemmers are
Snowball's (https://snowballstem.org): Porter, M. (1980): An algorithm for suffix stripping. Program 14(3), 130-137.
"""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import re
from collections import Counter
from collections.abc import Callable
from typing import Final

import Stemmer

STEMMER_VERSION: Final[str] = f"snowball-{Stemmer.version()}"
"""The library that makes the stems; another version may make others."""

DEFAULT = "english"
_LOOKED_AT = 64  # words of a text that tell its language

_FUNCTION_WORDS = {
    "english": """the a an and or but no yes of to in on at for with from by about is are was were be been has have
        had do does did will would can could should not i you he she it we they my your his her its our their this
        that these those what which who whose when where why how there here if so than then just also too very as me
        us up out over all any some one am more him them while after before because into like now only other well s
        t m d ll ve re""",
    "german": """der die das den dem des ein eine einen einem einer und oder aber von zu zum zur in im am an auf für
        mit aus bei nach über vor ist sind war waren sein hat habe haben hatte wird werden kann nicht kein keine ich
        du er sie es wir ihr mein meine dein sein seine unser unsere was wer wen wem wann wo warum wie welche
        welcher welches wohin woher auch noch schon nur so wenn weil dass als sich mich dich uns euch doch mal
        ja nein bitte""",
    "french": """le la les l un une des du de et ou mais à au aux en dans sur pour avec par sans est sont était
        étaient être a ont avait il elle on nous vous ils elles je j tu me te se ne n pas plus mon ma mes ton ta tes
        son sa ses notre votre leur leurs ce cet cette ces que qu qui quoi quel quelle quels quelles quand où
        comment pourquoi combien c y très aussi si comme chez moi toi lui""",
    "spanish": """el la los las un una unos unas de del y o pero a al en con por para sin sobre es son era eran ser
        está están ha han había no ni se me te le les lo nos yo tú él ella ellos mi mis tu tus su sus nuestro
        nuestra que qué quién cuál cuándo dónde cómo cuánto cuántos cuántas porque si muy más también ya hay este
        esta ese esa eso como hasta desde fue""",
    "italian": """il lo la i gli le un uno una di del della dei delle da dal in nel nella con su per tra fra e o ma
        è sono era erano ha hanno aveva non mi ti si ci vi io tu lui lei noi voi loro mio mia tuo tua suo sua nostro
        che chi cosa quale quando dove come perché quanto quanti anche più molto questo questa quello c'è ho hai""",
    "portuguese": """o a os as um uma uns umas de do da dos das em no na nos nas com por para sem e ou mas é são era
        eram foi tem têm tinha não me te se lhe eu tu ele ela nós eles elas meu minha teu tua seu sua nosso nossa
        que quem qual quando onde como porquê porque quanto quantos também mais muito já este esta esse essa isso ao
        à está você""",
    "dutch": """de het een en of maar van naar in op aan voor met uit bij over is zijn was waren heeft hebben had
        wordt worden kan niet geen ik jij je hij zij ze wij we jullie mijn jouw haar ons onze wat wie waar wanneer
        waarom hoe welke ook nog al er dat dit deze die als dan te om ben bent""",
    "swedish": """den det en ett och eller men av till i på för med från är var har hade inte ingen jag du han hon
        vi ni de min mitt din sin vår vad vem var när varför hur vilken också som att om så mycket ska kan blev""",
    "danish": """den det en et og eller men af til i på for med fra er var har havde ikke ingen jeg du han hun vi de
        min mit din sin vores hvad hvem hvor hvornår hvorfor hvordan hvilken også som at om så meget skal kan blev""",
    "norwegian": """den det en et ei og eller men av til i på for med fra er var har hadde ikke ingen jeg du han hun
        vi de min mitt din sin vår hva hvem hvor når hvorfor hvordan hvilken også som å at om så mye skal kan ble""",
    "finnish": """ja tai mutta on ovat oli olivat olla ei en et se hän minä sinä me te he tämä tuo mikä kuka missä
        milloin miksi miten että jos kun niin myös vain minun sinun hänen""",
    "hungarian": """a az egy és vagy de nem van volt voltak hogy mint ez az én te ő mi ti ők mit mi ki hol mikor
        miért hogyan melyik is csak már még ha""",
    "polish": """i a ale lub oraz w we na z ze do od po za o dla przez jest są był była było być nie się ja ty on
        ona my wy oni mój moja twój jego jej nasz co kto gdzie kiedy dlaczego jak który która że to ten ta też już""",
    "romanian": """și sau dar de la în pe cu din pentru este sunt era au are avea nu se eu tu el ea noi voi ei meu
        mea tău său ce cine unde când cum care că să un o mai foarte""",
    "turkish": """ve veya ama bir bu şu o ile için de da mi mı mu mü değil var yok ben sen biz siz onlar benim senin
        ne kim nerede zaman neden nasıl hangi çok daha gibi""",
    "czech": """a i nebo ale v ve na z ze do od po za o pro je jsou byl byla bylo být ne se já ty on ona my vy oni
        můj tvůj jeho její náš co kdo kde kdy proč jak který že to ten ta také už""",
}
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
    ("\u1f00", "\u1fff", "greek"),
)

_IRREGULAR_FORMS = """
    arise arose arisen, bear bore borne, beat beaten, become became, begin began begun, bend bent, bet, bind bound,
    bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
    burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug,
    draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed,
    feel felt, fight fought, find found, flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
    forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone, grind ground,
    grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt, know knew known,
    lay laid, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, lie lain, light lit, lose lost,
    make made, mean meant, meet met, mistake mistook mistaken, pay paid, ride rode ridden, ring rang rung,
    rise rose risen, run ran, see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
    shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
    slide slid, smell smelt, sow sown, speak spoke spoken, speed sped, spell spelt, spend spent, spill spilt,
    spin spun, spit spat, spoil spoilt, stand stood, steal stole stolen, stick stuck, sting stung, stink stank stunk,
    strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught,
    tear tore torn, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn,
    weave wove woven, weep wept, win won, wind wound, withdraw withdrew withdrawn, write wrote written,
    child children, foot feet, goose geese, man men, mouse mice, person people, tooth teeth, woman women
"""
_IRREGULAR = {form: forms[0] for forms in map(str.split, _IRREGULAR_FORMS.split(",")) for form in forms[1:]}
"""English words that no ending tells to be forms of another."""

_GERMAN_FORMS = """
    backen bäckt, bitten bittet bat baten gebeten, bieten bietet bot geboten, bleiben bleibt blieb blieben,
    brechen bricht brach brachen gebrochen, bringen bringt brachte brachten gebracht,
    brennen brennt brannte brannten gebrannt, denken denkt dachte dachten gedacht,
    dürfen darf durfte durften gedurft, essen isst aß aßen ass assen gegessen, fahren fährt fuhr fuhren,
    fallen fällt fiel fielen, fangen fängt fing fingen, finden findet fand fanden gefunden,
    fliegen fliegt flog flogen geflogen, fressen frisst fraß fraßen gefressen, frieren friert fror froren gefroren,
    geben gibt gab gaben, gehen geht ging gingen gegangen, gewinnen gewinnt gewann gewannen gewonnen,
    graben gräbt grub gruben, halten hält hielt hielten, hängen hängt hing hingen gehangen,
    heben hebt hob hoben gehoben, helfen hilft half halfen geholfen, kennen kennt kannte kannten gekannt,
    kommen kommt kam kamen, laden lädt lud luden, lassen lässt ließ ließen, laufen läuft lief liefen,
    leihen leiht lieh liehen geliehen, lesen liest las lasen, liegen liegt lag gelegen,
    nehmen nimmt nahm nahmen genommen, nennen nennt nannte nannten genannt, reiten reitet ritt ritten geritten,
    rennen rennt rannte rannten gerannt, rufen ruft rief riefen, schießen schießt schoss schossen geschossen,
    schlafen schläft schlief schliefen, schlagen schlägt schlug schlugen,
    schließen schließt schloss schlossen geschlossen, schneiden schneidet schnitt schnitten geschnitten,
    schreiben schreibt schrieb schrieben geschrieben, schwimmen schwimmt schwamm schwammen geschwommen,
    sehen sieht sah sahen, singen singt sang sangen gesungen, sitzen sitzt saß saßen gesessen,
    sprechen spricht sprach sprachen gesprochen, springen springt sprang sprangen gesprungen,
    stechen sticht stach stachen gestochen, stehen steht stand standen gestanden,
    stehlen stiehlt gestohlen, steigen steigt stieg stiegen gestiegen,
    sterben stirbt starb starben gestorben,
    streichen streicht strich strichen gestrichen, tragen trägt trug trugen, treffen trifft traf trafen getroffen,
    treten tritt trat traten, trinken trinkt trank tranken getrunken, tun tut tat taten getan,
    verlieren verliert verlor verloren, vergessen vergisst vergaß vergaßen, wachsen wächst wuchs wuchsen,
    waschen wäscht wusch wuschen, werfen wirft warf warfen geworfen, wissen wusste wussten gewusst,
    ziehen zieht zog zogen gezogen
"""
_GERMAN = {form.casefold(): forms[0] for forms in map(str.split, _GERMAN_FORMS.split(",")) for form in forms}
"""German verbs whose forms no ending tells."""

_SEPARATED = re.compile(
    r"(?:ab|an|auf|aus|bei|durch|ein|fest|heim|her|hin|los|mit|nach|um|vor|weg|weiter|wieder|zu|zurück|zusammen)?"
    r"(ge(?!\w*(?:heit|keit|schaft)$)\w{3,}(?:t|en))"
)
_LIKE_PARTICIPLES = """
    gebiet geburt gedicht gefecht gefährt gehalt gehört gerät gericht gerücht geschlecht geschäft gesicht gespenst
    gestalt gewalt gewicht gewährt gemüt gefällt geniesst gelangt gelingt geleit gerüst gegenwart germanist
    gebhardt gerhardt gerhart gernot
"""
_NO_PARTICIPLES = frozenset(_LIKE_PARTICIPLES.split())


def _infinitive(word: str) -> str:
    """Return the infinitive of another form of a German verb: "ging", "abgefahren", "gekauft"; else the word."""
    if known := _GERMAN.get(word):
        return known
    separated = _SEPARATED.fullmatch(word)
    if separated is None or (participle := separated[1]) in _NO_PARTICIPLES:
        return word
    if known := _GERMAN.get(participle) or _GERMAN.get(participle[2:]):
        return known
    return f"{participle[2:-1].removesuffix('e')}en" if participle.endswith("t") else word


_stem_of: dict[str, Callable[[str], str]] = {
    language: Stemmer.Stemmer(language, 0).stemWord
    for language in {*_FUNCTION_WORDS, *(language for _, _, language in _SCRIPTS)}
}
LANGUAGES: Final = tuple(_FUNCTION_WORDS)
"""The languages that a text's words tell; of equal evidence the first one counts."""


_NAMES = frozenset(("ben", "dan", "ella", "kim", "mia"))
"""Function words of a language that are names in others, and so tell no language: "Mia plays chess." is English."""


def _languages_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in words.split():
            if word not in _NAMES:
                found[word] = (*found.get(word, ()), language)
    return found


_LANGUAGES_OF = _languages_by_word()
_DEFAULT_ONLY = (DEFAULT,)
_LOOKS_SPANISH = re.compile("[áíñóú]|[ao]s?$")


_FUNCTION_WORDS_OF = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}


def is_function_word(word: str, language: str) -> bool:
    """Return whether a word says nothing by itself in this language: "hat" in German, not in English."""
    return word in _FUNCTION_WORDS_OF[language]


def language_of(words: list[str]) -> str:
    """Return the language of a text with these words (lower case, with accents), a name of Snowball's."""
    told = list(filter(None, map(_LANGUAGES_OF.get, words[:_LOOKED_AT])))
    if 2 * told.count(_DEFAULT_ONLY) >= len(told):  # none, or no other language can have more
        return DEFAULT
    counts = Counter(language for languages in told for language in languages)
    most = max(counts.values())
    if counts[DEFAULT] == most:
        return DEFAULT
    found = next(language for language in LANGUAGES if counts[language] == most)
    if found == "french" and counts["spanish"] == most:  # "en", "la", "me" are both: "Vivo en Sevilla."
        others = [word for word in words[:_LOOKED_AT] if word.isalpha() and word not in _LANGUAGES_OF]
        if 2 * len([word for word in others if _LOOKS_SPANISH.search(word)]) > len(others):
            return "spanish"
    return found


def stem(word: str, plain: str, language: str) -> str:
    """Return the stem of a word of a text in this language.

    Latin words are stemmed without their accents, because many people type none.

    Args:
        word: in lower case, with its accents.
        plain: the same without them.
        language: see `language_of`; counts only where the script does not tell it.
    """
    if language == "german" and (infinitive := _infinitive(word)) is not word:
        return _stem_of[language](infinitive)
    if word.isascii():
        if language == "english":
            plain = _IRREGULAR.get(plain, plain)
        return _stem_of[language](plain)
    first = word[0]
    for start, end, of_script in _SCRIPTS:
        if start <= first <= end:
            return _stem_of[of_script](word)
    if language == "french" and word.endswith(("ée", "ées", "és")):  # without accents these look like other endings
        plain = plain.rstrip("es") + "e"
    return _stem_of[language](plain)
