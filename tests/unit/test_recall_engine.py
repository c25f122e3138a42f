"""The window of a conversation and the engine that recalls from it."""

import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from actors.engines import dialogue_acts
from actors.engines.message import FoundUtterance, Source, Utterance
from actors.engines.quote import MAX_SOURCES
from actors.engines.recall import RecallEngine
from actors.engines.relevance import asking
from actors.engines.turn import LookUp, Memory, Persona, Reply, Turn
from actors.engines.window import CAPACITY, Window
from actors.retrieval.question import Question
from actors.slices import whole
from tests.support.pace import pace, slower
from tests.support.recall_talk import BLANK, Conversation, after, agent, quotes, user

SCOUT = Persona(
    "agt_1",
    "scout",
    "Helps visitors of the city archive.",
    "The archive opens at nine. Dr. Meier is its director.",
)


# Answers


FACTS = [
    "My dog is called Rex.",
    "My name is Ada Lovelace.",
    "My favourite colour is green.",
    "The quarterly meeting starts on Friday at ten.",
    "I work as a baker in Bern.",
    "My sister Anna lives in Lisbon.",
    "The wifi password of the office is hunter2.",
    "I am allergic to peanuts.",
    "Our budget for the kitchen is 12,000 francs.",
    "The train to Geneva leaves from platform 7.",
    "Mein Fahrrad steht im Keller.",
    "Anna hat am 3. Mai Geburtstag.",
    "Der Schlüssel liegt unter der Fußmatte.",
    "Meine Lieblingsstadt ist Zürich.",
    "Unser Vermieter heißt Herr Böhm.",
    "Mon fils s'appelle Théo.",
    "Le code du portail est 4512.",
    "Ma voiture est une Peugeot bleue.",
    "La réunion de l'équipe commence à 14 heures.",
    "J'habite à Genève depuis 2019.",
]


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is my dog called?", 0),
        ("what's the name of my dog", 0),
        ("Do you remember my dog's name?", 0),
        ("What is my name?", 1),
        ("What's my favorite color?", 2),
        ("When does the meeting start?", 3),
        ("Where do I work?", 4),
        ("Tell me about Anna in Lisbon.", 5),
        ("Where does my sister live?", 5),
        ("What is the WiFi password?", 6),
        ("Am I allergic to anything?", 7),
        ("How much is the budget of the kitchen?", 8),
        ("Which platform does the train to Geneva leave from?", 9),
        ("Wo steht mein Fahrrad?", 10),
        ("Wann hat Anna Geburtstag?", 11),
        ("Wo liegt der Schlüssel?", 12),
        ("wo ist der schluessel unter der fussmatte", 12),
        ("Was ist meine Lieblingsstadt?", 13),
        ("Wie heisst unser Vermieter?", 14),
        ("Comment s'appelle mon fils ?", 15),
        ("Quel est le code du portail ?", 16),
        ("Quelle est ma voiture ?", 17),
        ("À quelle heure commence la reunion de l'equipe ?", 18),
        ("Où est-ce que j'habite ?", 19),
    ],
)
def test_the_right_fact_is_recalled_first(question: str, fact: int) -> None:
    reply = after(*FACTS).say(question)
    assert reply.sources, reply
    assert reply.sources[0].quote == FACTS[fact]


def test_an_answer_quotes_its_sources() -> None:
    reply = after("My dog is called Rex.").say("What is my dog called?")
    assert reply == Reply(
        "You said: “My dog is called Rex.”",
        (Source("conversation", "scout", "msg_1", "My dog is called Rex."),),
    )


@pytest.mark.parametrize(
    "question",
    [
        "What is my cat called?",
        "Who won the match?",
        "Where?",
        "???",
        "Et mon chat ?",
        "Wem?",
        "Why not?",
        "Hoe oud ben ik?",
    ],
)
def test_an_unknown_thing_is_declined_plainly(question: str) -> None:
    assert after("My dog is called Rex.", "Ik ben allergisch voor pinda's.").say(question) == Reply(
        dialogue_acts.UNKNOWN
    )


def test_a_statement_is_acknowledged() -> None:
    assert Conversation().say("My dog is called Rex.") == Reply(dialogue_acts.NOTED)


def test_a_statement_shows_what_was_known_of_it() -> None:
    reply = after("My favourite colour is blue.").say("My favourite colour is green.")
    assert reply.text.startswith(dialogue_acts.NOTED)
    assert quotes(reply) == ["My favourite colour is blue."]


def test_the_newest_of_two_statements_on_one_subject_counts() -> None:
    conversation = after("My favourite colour is blue.", "It rains.", "My favourite colour is dark green now.")
    assert quotes(conversation.say("What is my favourite colour?")) == ["My favourite colour is dark green now."]


def test_a_correction_counts() -> None:
    conversation = after("The deadline of the report is June 12.", "Actually, the deadline of the report is June 15.")
    assert quotes(conversation.say("When is the deadline of the report?")) == [
        "Actually, the deadline of the report is June 15."
    ]


def test_several_facts_are_told_the_newest_first_and_at_most_three() -> None:
    conversation = after("I like tea.", "I like trains.", "I like rain.", "I like bread.")
    assert quotes(conversation.say("What do I like?")) == ["I like bread.", "I like rain.", "I like trains."]


def test_a_weak_match_is_told_with_a_doubt() -> None:
    reply = after("The train departs at nine.").say("When does the train arrive?")
    assert reply.text == "I am not sure, but this may help.\nYou said: “The train departs at nine.”"


def test_a_question_is_no_answer_to_itself() -> None:
    conversation = after("What is my dog called?", "whats my dogs name", "Tell me what my dog is called.")
    assert conversation.say("What is my dog called?") == Reply(dialogue_acts.UNKNOWN)


@pytest.mark.parametrize(
    "asked",
    [
        "Write me a poem about hedgehogs.",
        "Please write a limerick about a badger",
        "Schreib mir ein Gedicht über einen Igel.",
        "Convert 350 degrees Fahrenheit to Celsius",
        'Translate "good luck with your exam" into Polish',
    ],
)
def test_a_request_for_work_is_nothing_to_remember(asked: str) -> None:
    assert Conversation().say(asked) == Reply(dialogue_acts.UNKNOWN)


@pytest.mark.parametrize(
    "note",
    [
        "Write me at ada@example.org",
        "Write to Ada about the badger.",
        "Write a letter to the landlord by Friday.",
        "Schreib mir an ada@example.org",
        "Convert the attic into a study.",
        "Translate the menu by Friday.",
    ],
)
def test_a_note_of_work_to_do_is_remembered(note: str) -> None:
    assert Conversation().say(note) == Reply(dialogue_acts.NOTED)


def test_a_message_that_is_in_the_window_already_is_no_answer_to_itself() -> None:
    window = Window([user("My dog is called Rex.")])
    assert RecallEngine().reply(Turn(BLANK, "scout", (), window, "My dog is called Rex.")) == Reply(dialogue_acts.NOTED)


def test_the_fact_of_a_message_that_also_asks_is_remembered() -> None:
    conversation = after("My dog is called Rex. What breed is he?")
    assert quotes(conversation.say("What is my dog called?")) == ["My dog is called Rex."]


def test_only_the_sentences_that_ask_are_searched_for() -> None:
    conversation = after("The meeting is at ten.", "Lunch with Bob was good.")
    assert quotes(conversation.say("I had lunch with Bob. When is the meeting?")) == ["The meeting is at ten."]


def test_an_opening_question_mark_makes_a_question() -> None:
    conversation = after("Mi bicicleta está detrás de la panadería.")
    assert conversation.say("¿donde esta mi bicicleta").text == "You said: “Mi bicicleta está detrás de la panadería.”"


def test_a_message_that_only_repeats_the_question_is_no_better_than_one_that_answers_it() -> None:
    conversation = after("My locker code is 7341.", "Locker code please")
    assert quotes(conversation.say("Can you tell me the code of my locker?")) == ["My locker code is 7341."]
    assert quotes(after("I am vegetarian.").say("Am I vegetarian?")) == ["I am vegetarian."]


def test_a_statement_of_the_questions_words_answers_whether_it_is_so() -> None:
    told = ("I live in Bern.", "I work at Acme as a nurse.")
    for question in ("Do I still live in Bern?", "And do we really live in Bern?"):
        assert quotes(after(*told).say(question)) == ["I live in Bern."]
    asked = after("My locker code is 7341.", "Locker code please").say("Do you know my locker code?")
    assert quotes(asked) == ["My locker code is 7341."]


def test_a_subordinate_clause_is_no_question() -> None:
    assert Conversation().say("When I was young I lived in Paris") == Reply(dialogue_acts.NOTED)


def test_quotes_of_its_own_are_not_recalled_but_replies_of_other_engines_are() -> None:
    conversation = after("My dog is called Rex.", "What is my dog called?")
    assert [s.id for s in conversation.say("My dog's name?").sources] == ["msg_1"]
    conversation.append(agent(Reply("The capital of Mongolia is Ulaanbaatar."), conversation.next()))
    assert conversation.say("What is the capital of Mongolia?").text == (
        "I said: “The capital of Mongolia is Ulaanbaatar.”"
    )


def test_nothing_that_it_says_by_itself_is_recalled() -> None:
    conversation = after(
        "Hello", "Who are you?", "Thanks!", "Bye", "Nothing.", "ok", "What is the weather?", "It rains."
    )
    for question in (
        "Who knows nothing about that yet?",
        "What did you remember in this conversation?",
        "Welcome?",
    ):
        assert not [s for s in conversation.say(question).sources if int(s.id[4:]) % 2 == 0]


def test_what_others_said_is_told_with_their_names() -> None:
    conversation = Conversation()
    conversation.say("The launch is on Monday.", name="grace")
    assert conversation.say("When is the launch?").text == "grace said: “The launch is on Monday.”"


def test_the_agent_it_is_addressed_to_is_not_searched_for() -> None:
    conversation = after("The launch is on Monday.")
    assert quotes(conversation.say("@scout when is the launch")) == ["The launch is on Monday."]
    assert quotes(conversation.say("Scout, when is the launch?")) == ["The launch is on Monday."]


@pytest.mark.parametrize(
    "greeting",
    [
        *(
            "Hello",
            "hi scout!",
            "Guten Morgen",
            "Bonjour",
            "¡Hola!",
            "Good evening, Scout.",
            "How are you?",
            "Wie geht's?",
        ),
        *("Ça va ?", "Hola, ¿qué tal?", "Buongiorno!", "Привет", "你好"),
    ],
)
def test_a_greeting_is_returned(greeting: str) -> None:
    assert Conversation().say(greeting) == Reply(f"Hello! I am scout. {dialogue_acts.INVITATION}")


@pytest.mark.parametrize(
    "thanks",
    [
        *(
            "Thanks!",
            "thank you so much",
            "Thank you so much for your help!",
            "Vielen Dank",
            "Merci beaucoup",
            "gracias",
        ),
        *("Grazie mille", "Obrigado!", "Спасибо"),
    ],
)
def test_thanks_are_accepted(thanks: str) -> None:
    assert Conversation().say(thanks) == Reply(dialogue_acts.WELCOME)


@pytest.mark.parametrize(
    "farewell",
    ["bye", "Goodbye, Scout!", "Tschüss", "Adiós", "Au revoir", "Auf Wiedersehen", "Hasta luego", "See you tomorrow!"],
)
def test_a_farewell_is_returned(farewell: str) -> None:
    assert Conversation().say(farewell) == Reply(dialogue_acts.GOODBYE)


def test_a_statement_that_begins_like_a_greeting_is_none() -> None:
    assert Conversation().say("Good dogs get treats.") == Reply(dialogue_acts.NOTED)
    assert Conversation().say("Hello Kitty is my favourite.") == Reply(dialogue_acts.NOTED)
    assert Conversation().say("Thanks for the help with Anna's boat.") == Reply(dialogue_acts.NOTED)
    assert Conversation().say("See you at the station at nine") == Reply(dialogue_acts.NOTED)


@pytest.mark.parametrize("message", ["ok", "👍", "...", "yes"])
def test_a_message_that_tells_nothing_gets_an_invitation(message: str) -> None:
    assert Conversation().say(message) == Reply(f"All right. {dialogue_acts.INVITATION}")


@pytest.mark.parametrize("question", ["Who are you?", "What is your name?", "What can you do?", "Wer bist du?"])
def test_a_question_about_the_agent_is_answered_from_its_profile(question: str) -> None:
    reply = Conversation(SCOUT).say(question)
    assert reply.text.startswith("I am scout.\nMy profile says: “Helps visitors of the city archive.”")
    assert reply.sources[0].record() == {
        "profile": "scout",
        "id": "agt_1",
        "quote": "Helps visitors of the city archive.",
    }


def test_an_agent_without_a_profile_knows_its_name() -> None:
    assert Conversation().say("Who are you?") == Reply(f"I am scout. {dialogue_acts.INVITATION}")


def test_the_profile_answers_questions_by_its_sentences() -> None:
    conversation = Conversation(SCOUT)
    assert quotes(conversation.say("When does the archive open?")) == ["The archive opens at nine."]
    assert quotes(conversation.say("Who is the director?")) == ["Dr. Meier is its director."]


def test_a_changed_profile_counts_at_once() -> None:
    conversation = Conversation(SCOUT)
    conversation.say("When does the archive open?")
    conversation.persona = Persona(SCOUT.id, SCOUT.name, "", "The archive opens at noon.")
    assert quotes(conversation.say("When does the archive open?")) == ["The archive opens at noon."]


def test_the_cache_of_personas_is_bounded() -> None:
    engine = RecallEngine()
    for n in range(2_000):
        engine.reply(Turn(Persona(f"agt_{n}", "a", "Bakes.", ""), "a", (), Window(), "Who are you?"))
    assert len(engine._personas) <= 512  # pyright: ignore[reportPrivateUsage]


def test_a_dialogue_that_is_told_is_quoted_by_what_came_before_its_turns() -> None:
    conversation = after("Ada: I have got a parrot.", "Bao: Really? How old is it?", "Ada: Eleven, the vet says.")
    assert quotes(conversation.say("How old is the parrot?"))[0] == "Ada: Eleven, the vet says."
    assert not conversation.say("Who is the plumber?").sources


def test_a_question_that_is_told_is_no_answer() -> None:
    assert not after("Bao: What is the wifi password?").say("What is the wifi password?").sources


def test_memories_of_banks_are_quoted() -> None:
    text = "We are kind. Refunds take five days.\nAsk Bob."
    memories = (Memory("handbook", "refunds", text, 3.0, share=1.0, answers=True),)
    reply = Conversation(memories=memories).say("How long do refunds take?")
    assert reply.text == "From the bank handbook: “Refunds take five days.”"
    assert [s.record() for s in reply.sources] == [
        {"bank": "handbook", "name": "refunds", "quote": "Refunds take five days."}
    ]


def test_a_memory_of_questions_and_answers_is_quoted_with_the_answer() -> None:
    faq = "What does shipping cost? Nothing. When do refunds arrive? After five days. Who pays? We do."
    memories = (Memory("faq", "all", faq, 1.0, share=1.0, answers=True),)
    reply = Conversation(memories=memories).say("When do refunds arrive?")
    assert quotes(reply) == ["When do refunds arrive? After five days."]


@pytest.mark.parametrize(
    ("turn", "question", "quote"),
    [
        ("Ros: She's loud. The dog next door has moved.", "Does Ros have a dog?", "The dog next door has moved."),
        ("Ros: The dog is called Bella. She's loud.", "What is Ros's dog called?", "Ros: The dog is called Bella."),
        ("Tea: at four. Cake is served at five.", "When is tea?", "Tea: at four."),
    ],
)
def test_the_name_of_a_speaker_does_not_choose_the_sentence_to_quote(turn: str, question: str, quote: str) -> None:
    memories = (Memory("chat", "monday/3", turn, 1.0, share=1.0, answers=True),)
    assert quotes(Conversation(memories=memories).say(question)) == [quote]


@pytest.mark.parametrize(
    ("told", "question", "quote"),
    [
        (
            "Yesterday I met Peter at the station. He is moving to Graz in June, for a job. It rained.",
            "When is Peter moving?",
            "Yesterday I met Peter at the station. He is moving to Graz in June, for a job.",
        ),
        (
            "Nous sommes ouverts du lundi au samedi. Nous sommes fermés le dimanche.",
            "Êtes-vous ouverts le dimanche ?",
            "Nous sommes ouverts du lundi au samedi. Nous sommes fermés le dimanche.",
        ),
        ("My boat lies in Graz. It is blue. Peter steers it.", "Where is my boat?", "My boat lies in Graz."),
    ],
)
def test_a_sentence_is_quoted_with_the_one_beside_it_that_has_what_it_lacks_of_the_question(
    told: str, question: str, quote: str
) -> None:
    assert quotes(after(told).say(question)) == [quote]


def test_a_long_sentence_beside_the_one_that_is_quoted_stays_away() -> None:
    told = f"Peter called. He is moving to Graz {'very ' * 50}soon. Bye."
    assert quotes(after(told).say("Where is Peter moving?")) == ["Peter called."]


def test_a_turn_that_the_turns_beside_it_found_is_quoted_from_its_beginning() -> None:
    turn = "Ben: Yes! It's in Leith, above a fishmonger."
    memories = (Memory("chat", "talk/2", turn, 1.0, share=0.6, answers=True),)
    assert quotes(Conversation(memories=memories).say("Where is Ben's flat?")) == [turn]


def test_a_memory_that_does_not_answer_the_question_is_not_quoted() -> None:
    memories = (Memory("handbook", "refunds", "Refunds take five days.", 3.0, share=0.3),)
    assert Conversation(memories=memories).say("Who is the mayor of Lisbon?") == Reply(dialogue_acts.UNKNOWN)


def test_of_memories_that_answer_the_first_leads() -> None:
    memories = (
        Memory("handbook", "refunds", "Refunds take five days.", 3.0, share=0.6, answers=True),
        Memory("handbook", "returns", "Refunds of returns take nine days.", 2.0, share=0.4),
        Memory("handbook", "exchanges", "Refunds after an exchange take six days.", 1.0, share=0.9, answers=True),
    )
    reply = Conversation(memories=memories).say("How long do refunds take after an exchange?")
    assert quotes(reply) == ["Refunds take five days.", "Refunds after an exchange take six days."]


def test_what_the_user_states_brings_up_only_memories_that_surely_fit() -> None:
    sure = Memory("facts", "tea", "Tea is served at four.", 3.0, share=0.6, answers=True)
    doubtful = Memory("facts", "cake", "Cake is served at five.", 2.0, share=0.4, answers=True)
    assert quotes(Conversation(memories=(sure, doubtful)).say("I like green tea.")) == ["Tea is served at four."]
    assert quotes(Conversation(memories=(doubtful,)).say("I like green tea.")) == []


def test_what_the_user_told_last_answers_what_is_known_about_them() -> None:
    conversation = after("My dog is called Rex.", "I work in Bern.", "What time is it?")
    assert quotes(conversation.say("What do you know about me?")) == [
        "I work in Bern.",
        "My dog is called Rex.",
    ]
    assert quotes(conversation.say("Summarize what I told you.")) == [
        "I work in Bern.",
        "My dog is called Rex.",
    ]
    assert Conversation().say("What do you know about me?") == Reply(dialogue_acts.UNKNOWN)


def test_what_is_known_of_the_user_begins_with_the_name_and_what_is_about_them() -> None:
    others = [f"Train {number} is late." for number in range(30)]
    conversation = after("My name is Rosalind.", *others, "I live in Bristol.", "It rains.", "The car is red.")
    assert quotes(conversation.say("Who am I?")) == ["My name is Rosalind.", "I live in Bristol.", "The car is red."]


def test_who_the_user_is_is_looked_up_among_older_messages() -> None:
    class Older:
        async def answers(self, question: Question, limit: int) -> list[FoundUtterance]:
            raise NotImplementedError

        async def best(self, question: Question, before: int, limit: int) -> list[FoundUtterance]:
            raise NotImplementedError

    turn = Turn(BLANK, "scout", (), Window([user("It rains.", 9)]), "Who am I?", archive=Older())
    wanted = whole(RecallEngine().replying(turn))
    assert isinstance(wanted, LookUp)
    name = FoundUtterance(user("My name is Rosalind.", 1), 1.0, 1.0, True, tuple(wanted.question.terms))
    reply = RecallEngine().reply(structs.replace(turn, archive=None, older=[name]))
    assert quotes(reply) == ["My name is Rosalind.", "It rains."]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I have two kids, Tom (7) and Bella (4).", "How old is Tom?"),
        ("Nous acceptons PayPal et le virement.", "Puis-je payer par PayPal ?"),
        ("Sonntags haben wir geschlossen.", "Habt ihr sonntags offen?"),
        ("We build an app called Nimbus.", "List everything about Nimbus."),
        ("my dogs name is rex", "whats my dogs name"),
        ("my keys are in the shed", "wheres my keys"),
        ("会議は水曜日の午後3時です。", "会議はいつですか?"),
        ("Mia turned six.", "How old is Mia?"),
        ("Ella prefers trains.", "What does Ella like?"),
        ("Ben moved house.", "What do you know about Ben?"),
        ("Vivo en Sevilla.", "¿Dónde vivo?"),
        ("Nací en Cuba.", "¿Dónde nací?"),
    ],
)
def test_neither_words_that_ask_nor_names_that_are_words_elsewhere_hide_what_is_asked_for(
    told: str, question: str
) -> None:
    assert quotes(after(told).say(question)) == [told]


def test_the_matching_sentence_of_a_long_message_is_quoted() -> None:
    conversation = after("I am Ada. " * 50 + "My boat is called Argo. " + "It is windy today. " * 500)
    assert quotes(conversation.say("What is my boat called?")) == ["My boat is called Argo."]


def test_a_long_sentence_is_cut_between_words_around_the_match() -> None:
    conversation = after("so " * 300 + "the boat is called Argo " + "and " * 300)
    (quote,) = quotes(conversation.say("What is the boat called?"))
    assert len(quote) <= dialogue_acts.MAX_QUOTE
    assert "boat" in quote
    assert quote.split()[0] in ("so", "the")


def test_a_date_or_an_abbreviation_ends_no_sentence() -> None:
    assert dialogue_acts.passages("Dr. Wu comes on 3. Mai at 4.30. She stays. See example.org!") == [
        "Dr. Wu comes on 3. Mai at 4.30. She stays.",
        "See example.org!",
    ]


def test_a_long_line_that_goes_on_in_the_next_ends_no_sentence() -> None:
    wrapped = "The breaker of an endpoint opens after ten failures in a row,\n  and lets one probe through."
    assert dialogue_acts.passages(f"{wrapped}\nLater.") == [wrapped, "Later."]
    listed = "We need milk and honey from the market in the old town\n- bread\nEggs\nand a cake"
    assert len(dialogue_acts.passages(listed)) == 4
    assert len(dialogue_acts.passages(wrapped.replace("\n", "\n\n"))) == 2


@pytest.mark.parametrize(
    "source",
    [
        Source("bank", "b", "m", "q"),
        Source("conversation", "c", "msg_1", "q"),
        Source("profile", "p", "agt_1", "q"),
    ],
)
def test_a_source_is_read_back_from_its_record(source: Source) -> None:
    assert Source.from_record(source.record()) == source


# The window


def test_a_window_keeps_the_last_utterances_oldest_first() -> None:
    window = Window(user(str(n), n) for n in range(CAPACITY + 5))
    window.append(user("last", 999))
    assert len(window) == CAPACITY
    assert [u.seq for u in window] == [*range(6, CAPACITY + 5), 999]


def test_what_left_the_window_is_forgotten() -> None:
    conversation = after("My dog is called Rex.")
    assert conversation.say("What is my dog called?").sources
    for n in range(CAPACITY):
        conversation.append(user(f"Line {n}.", n))
    assert conversation.say("What is my dog called?") == Reply(dialogue_acts.UNKNOWN)


def test_a_compacted_window_finds_the_same() -> None:
    window = Window(user(f"I like tea number {n}.", n) for n in range(CAPACITY))
    window.append(user("I like milk.", CAPACITY))
    before = window.search(Question(["tea", "milk"]), 5)
    window.compact()
    assert window.search(Question(["tea", "milk"]), 5) == before


def test_a_window_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one utterance, not 0"):
        Window(capacity=0)


WORDS = ["tea", "milk", "dog", "Rex", "train", "name", "is", "the", "what", "my", "Hello", "?", ".", "!"]
SAID = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@given(
    st.lists(st.tuples(SAID, st.booleans(), st.booleans())),
    st.integers(1, 8),
    st.sets(st.sampled_from(["tea", "milk", "dog"])),
)
def test_a_window_searched_at_any_time_equals_one_built_anew(
    said: list[tuple[str, bool, bool]], capacity: int, query: set[str]
) -> None:
    window = Window(capacity=capacity)
    for seq, (content, by_user, search) in enumerate(said):
        window.append(user(content, seq) if by_user else agent(Reply(content), seq))
        if search:
            window.search(Question(query), 5)
    anew = Window(window, capacity)
    assert window.search(Question(query), 5) == anew.search(Question(query), 5)
    assert list(window.statements()) == list(anew.statements())


# Any text


def talk(messages: Iterable[str], persona: Persona, memories: tuple[Memory, ...]) -> list[Reply]:
    conversation = Conversation(persona, memories)
    return [conversation.say(message) for message in messages]


MESSAGE = st.text(max_size=200) | SAID


@given(st.lists(MESSAGE, max_size=12), MESSAGE, MESSAGE, MESSAGE)
def test_any_texts_are_answered_and_always_the_same(
    messages: list[str], description: str, profile: str, memory: str
) -> None:
    persona = Persona("agt_1", "scout", description, profile)
    answers = bool(memory.strip())  # a memory has a text
    memories = (Memory("facts", "note", memory, 1.0, share=0.5, answers=answers),)
    replies = talk(messages, persona, memories)
    assert replies == talk(messages, persona, memories)
    told = {f"msg_{2 * n + 1}": message for n, message in enumerate(messages)}
    for reply in replies:
        assert reply.text
        assert len(reply.sources) <= MAX_SOURCES
        for source in reply.sources:
            assert source.quote
            assert len(source.quote) <= dialogue_acts.MAX_QUOTE
            assert source.quote in reply.text
            taken_from = {
                "bank": memory,
                "profile": f"{description}\n{profile}",
                "conversation": told.get(source.id, ""),
            }
            assert source.quote in taken_from[source.kind]


@pytest.mark.parametrize(
    "unit",
    [
        "word{n} ",
        "what{n}? ",
        "!?.",
        "Ab. ",
        "1. ",
        "@ ",
        "😀",
        "x",
        "\u0301",
        "字{n}",
        " ؟",
        "”.",
        "a\n",
        "Dr. ",
        "\t",
    ],
)
def test_texts_of_32000_characters_are_answered_in_no_time(unit: str) -> None:
    text = "".join(unit.format(n=n) for n in range(32_000))[:32_000]
    conversation = Conversation(SCOUT)
    before, started = pace(), time.thread_time()  # processor time, independent of other load
    for end in ("", "!", "?"):
        conversation.say(text[:-1] + end)
    spent = time.thread_time() - started
    assert spent / slower(before, pace()) < 2  # a quadratic step takes minutes


@settings(max_examples=30)
@given(st.text(min_size=1, max_size=4))
def test_any_repeated_text_is_answered(unit: str) -> None:
    talk([unit * (8_000 // len(unit)), unit, f"{unit}?"], SCOUT, ())


# Older messages


class Unread:
    """An archive that no one has searched yet: engines only see that it is there."""

    async def answers(self, question: Question, limit: int) -> list[FoundUtterance]:
        raise AssertionError("engines search nothing themselves")

    async def best(self, question: Question, before: int, limit: int) -> list[FoundUtterance]:
        raise AssertionError("engines search nothing themselves")


def older(question: str, *utterances: Utterance) -> tuple[FoundUtterance, ...]:
    """Find all of these utterances that answer a question, as a search in all of them does."""
    return tuple(Window(utterances).search(whole(asking(question)), 10))


def asked(question: str, *window: Utterance, older: Iterable[FoundUtterance] | None = None) -> Reply | LookUp:
    """Ask with these messages of the window, or with those that a look-up has found."""
    archive = Unread() if older is None else None
    found = None if older is None else tuple(older)
    return whole(
        RecallEngine().replying(Turn(SCOUT, "scout", (), Window(window), question, archive=archive, older=found))
    )


@pytest.mark.parametrize("question", ["What is my locker code?", "Is the code of my big green locker easy?"])
def test_a_question_without_a_good_answer_is_looked_up(question: str) -> None:
    reply = asked(question, user("My code is easy."), user("The locker is easy to find."))
    assert isinstance(reply, LookUp)
    assert {"locker", "code"} <= set(reply.question.terms)


def test_a_question_that_a_message_only_repeats_is_looked_up() -> None:
    assert isinstance(asked("What is my locker code?", user("Locker code please")), LookUp)


@pytest.mark.parametrize(
    "message",
    [
        "My locker code is 4711.",
        "Who are you?",
        "Hello!",
        "When does the archive open?",
        "What is my dog called?",
    ],
)
def test_nothing_else_is_looked_up(message: str) -> None:
    assert isinstance(asked(message, user("My dog is called Rex.")), Reply)


LOCKER = "What is my locker code?"


def test_an_older_message_answers_and_is_the_source() -> None:
    reply = asked(LOCKER, older=older(LOCKER, user("My locker code is 4711.", 7)))
    assert isinstance(reply, Reply)
    assert reply.text == "You said: “My locker code is 4711.”"
    assert reply.sources == (Source("conversation", "scout", "msg_7", "My locker code is 4711."),)


def test_of_two_older_messages_on_one_subject_the_newer_one_counts() -> None:
    found = older(LOCKER, user("My locker code is 4711.", 7), user("My locker code is 9922.", 90))
    for order in (found, found[::-1]):
        reply = asked(LOCKER, older=order)
        assert isinstance(reply, Reply)
        assert quotes(reply) == ["My locker code is 9922."]


def test_the_window_corrects_an_older_message() -> None:
    old, new = user("My locker code is 4711.", 7), user("My locker code is 9922.", 300)
    looked_up = asked(LOCKER, new)
    if isinstance(looked_up, LookUp):  # then both are found
        looked_up = asked(LOCKER, older=(*looked_up.found, *older(LOCKER, old)))
    assert isinstance(looked_up, Reply)
    assert quotes(looked_up) == ["My locker code is 9922."]


def test_what_the_window_has_comes_with_what_is_looked_up() -> None:
    question = "What is the code of my big green locker?"
    reply = asked(question, user("The locker is green.", 300))
    assert isinstance(reply, LookUp)
    assert [hit.utterance.seq for hit in reply.found] == [300]


def test_older_messages_that_do_not_answer_are_not_quoted() -> None:
    found = older(LOCKER, user("My locker code is 4711.", 7))
    reply = asked("What is my sister's name?", older=(found[0]._replace(share=0.0, answers=False),))
    assert reply == Reply(dialogue_acts.UNKNOWN)
