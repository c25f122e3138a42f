"""Questions to the engine `recall` that are asked indirectly, several at once, or as courtesies."""

import pytest

from actors.engines import dialogue_acts
from actors.engines.turn import Persona, Reply
from tests.support.recall_talk import Conversation, after, quotes

LIVES = "Bridget lives in Cardiff."


@pytest.mark.parametrize(
    "indirect",
    [
        "I wonder where Bridget lives.",
        "And I\u2019d like to know where Bridget lives",
        "I don't know where Bridget lives.",
        "I forgot where Bridget lives.",
        "Sorry, I can't remember where Bridget lives.",
        "I forgot to ask where Bridget lives. It rains.",
    ],
)
def test_an_indirect_question_is_answered_and_is_no_fact(indirect: str) -> None:
    conversation = after(LIVES, "The tea is cold.")
    assert quotes(conversation.say(indirect)) == [LIVES]
    assert quotes(conversation.say("Where does Bridget live?")) == [LIVES]


@pytest.mark.parametrize(
    ("told", "indirect"),
    [
        ("Der Schlüssel liegt unter der Matte.", "Ich weiß nicht, wo der Schlüssel ist."),
        ("La clé est sous le paillasson.", "Je ne sais plus où est la clé."),
        ("La llave está en el cajón.", "No recuerdo dónde está la llave."),
        ("The key is under the mat.", "Can you remind me where the key is"),
        ("The key is under the mat.", "Tell me where the key is."),
        ("Der Schlüssel liegt unter der Matte.", "Sagen Sie mir bitte, wo der Schlüssel liegt."),
        ("Der Schlüssel liegt unter der Matte.", "Kannst du mir sagen, wo der Schlüssel liegt."),
        ("Der Schlüssel liegt unter der Matte.", "Ich wüsste gern, wo der Schlüssel liegt."),
        ("Der Schlüssel liegt unter der Matte.", "Erinnere mich bitte daran, wo der Schlüssel liegt."),
        ("La clé est sous le paillasson.", "Dis-moi où est la clé."),
        ("La chiave è sotto lo zerbino.", "Dimmi dove è la chiave."),
    ],
)
def test_indirect_questions_are_understood_in_other_languages(told: str, indirect: str) -> None:
    assert quotes(after(told).say(indirect)) == [told]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I don't know why, but the code was changed to 4711.", "What is the code?"),
        ("Do you remember when we went to Rome and Ada lost her hat.", "What did Ada lose?"),
        ("Ho dimenticato che domani arriva Carla.", "Quando arriva Carla?"),
        ("I forgot my umbrella in Leeds.", "Where did I forget my umbrella?"),
        ("I don't know where my keys are. The spare key hangs in the shed.", "Where is the spare key?"),
    ],
)
def test_what_is_told_beside_an_indirect_question_is_remembered(told: str, question: str) -> None:
    (quote,) = quotes(after(told).say(question))
    assert quote in told


@pytest.mark.parametrize(
    "indirect", ["Sagen Sie mir bitte, wann der Schulbus fährt.", "Mich würde interessieren, wann der Schulbus fährt."]
)
def test_an_indirect_question_in_german_is_no_fact(indirect: str) -> None:
    assert not after(indirect).say("Wann fährt der Schulbus?").sources


def test_a_pronoun_stands_for_whom_the_sentence_before_names() -> None:
    will = "Bernie's will is in the biscuit tin, I put it there."
    conversation = after(will, "I put the list on the fridge.")
    assert quotes(conversation.say("I can't find Bernie's will. Where did I put it?"))[0] == will
    assert quotes(conversation.say("The fridge is broken. Where did I put the list?")) == [
        "I put the list on the fridge."
    ]


def test_a_pronoun_that_refers_to_nobody_needs_no_name() -> None:
    son, rent = "My son is nine.", "The rent is 700."
    conversation = after(son, rent)
    assert quotes(conversation.say("I met Ada Palmer. How old is my son?")) == [son]
    assert quotes(conversation.say("Greetings from Bremen Hauptbahnhof. How much is it for the rent?")) == [rent]


@pytest.mark.parametrize("statement", ["We'll see.", "Love her!"])
def test_a_statement_of_one_word_is_related_to_nothing(statement: str) -> None:
    conversation = after("We shall see the doctor.", "I love the garden.")
    assert conversation.say(statement).text == dialogue_acts.NOTED


@pytest.mark.parametrize("message", ["I don't know what to do.", "I don't know what you mean."])
def test_an_indirect_question_for_nothing_is_no_question(message: str) -> None:
    assert not after("I live in Bern.").say(message).sources


def test_of_several_questions_one_is_answered_that_can_be() -> None:
    asthma = "Hector has asthma and needs his blue inhaler."
    conversation = after(asthma, *[f"The bus number {number} was late again." for number in range(60)])
    assert quotes(conversation.say("What is wrong with his health, do you know? Does he have asthma?")) == [asthma]
    assert not conversation.say("Why is it raining in Leeds? Do you need an umbrella?").sources


def test_of_several_questions_one_is_answered_from_the_profile() -> None:
    conversation = Conversation(Persona("agt_1", "scout", "", "The archive opens at nine."))
    asked = "I am in a hurry, where are the tram stops around here? When does the archive open?"
    assert quotes(conversation.say(asked)) == ["The archive opens at nine."]


@pytest.mark.parametrize(
    "greeting", ["How are you today, by the way?", "Hi, how are you?", "Morning!", "So how are things?"]
)
def test_a_greeting_with_an_aside_is_returned(greeting: str) -> None:
    reply = after("It rains today, by the way.", "In the morning there are many things to do.").say(greeting)
    assert reply == Reply(f"Hello! I am scout. {dialogue_acts.INVITATION}")


def test_marks_within_a_sentence_do_not_end_it() -> None:
    within = [
        "The alarm code... well, it is 4711.",
        "The room costs approx. 40 euros.",
        "They close at 5 p.m. on Sundays.",
        "It was blue vs. green.",
    ]
    assert dialogue_acts.passages(" ".join(within)) == within
    assert dialogue_acts.passages("It opens at 9 a.m. She is late... But why?") == [
        "It opens at 9 a.m.",
        "She is late...",
        "But why?",
    ]
