"""Messages to the engine `recall` that neither state nor ask much: reactions, corrections, requests to forget."""

import pytest

from actors.engines import dialogue_acts
from actors.engines.turn import Reply
from tests.support.recall_talk import Conversation, after, quotes


@pytest.mark.parametrize(
    "request_to_forget",
    [
        "Forget the gate code",
        "please forget what I said about the gate code.",
        "Can you forget my gate code?",
        "I want you to forget the gate code",
        "Forget that.",
        "Delete everything you know about me",
        "Vergiss bitte den Code",
        "Oublie mon code",
        "Borra lo que sabes de mí",
    ],
)
def test_a_request_to_forget_gets_a_truthful_answer_and_is_not_quoted(request_to_forget: str):
    conversation = after("The gate code is 4471.")
    assert conversation.say(request_to_forget) == Reply(dialogue_acts.CANNOT_FORGET)
    assert quotes(conversation.say("What is the gate code?")) == ["The gate code is 4471."]


@pytest.mark.parametrize(
    "statement",
    [
        "Don't forget to call Anna.",
        "Forget-me-nots are my favourite flowers.",
        "Forget about the meeting tomorrow, it's cancelled.",
        "Forget the old code. The new one is 4417.",
        "Delete the old backups on Friday.",
        "Vergiss nicht das Treffen am Montag",
    ],
)
def test_what_only_sounds_like_a_request_to_forget_is_noted(statement: str):
    assert Conversation().say(statement) == Reply(dialogue_acts.NOTED)


@pytest.mark.parametrize(
    "reaction",
    [
        "Great!",
        "haha",
        "No, that's wrong.",
        "Forget it.",
        "never mind",
        "Genau!",
        "Got it.",
        "You're welcome!",
        "Passt.",
        "De nada",
    ],
)
def test_a_reaction_is_not_noted(reaction: str):
    conversation = after("The gate code is 4471.")
    assert conversation.say(reaction).text.startswith("All right.")
    assert quotes(conversation.say("Is it right that the gate code is 4471?")) == ["The gate code is 4471."]


@pytest.mark.parametrize(
    "thanks",
    [
        "Thanks, that's great",
        "Perfect, thank you!",
        "Thank you so much, that was really helpful",
        "Danke, das ist super",
        "Vielen lieben Dank!",
        "Danke für deine Hilfe",
        "Muchas gracias por tu ayuda",
    ],
)
def test_thanks_with_praise_are_thanks(thanks: str):
    assert Conversation().say(thanks) == Reply(dialogue_acts.WELCOME)


@pytest.mark.parametrize(
    "farewell", ["Talk to you later!", "Have a great weekend!", "Bis dann", "À demain !", "Mach's gut"]
)
def test_a_wish_at_the_end_is_a_farewell(farewell: str):
    assert Conversation().say(farewell) == Reply(dialogue_acts.GOODBYE)


@pytest.mark.parametrize("greeting", ["What's up?", "Grüß Gott!", "Long time no see", "Tutto bene?"])
def test_a_phrase_at_the_beginning_is_a_greeting(greeting: str):
    assert Conversation().say(greeting).text.startswith("Hello!")


@pytest.mark.parametrize(
    "statement",
    [
        "Herzlichen Glückwunsch an Anna",
        "Later we moved to Ghent.",
        "Besten Kuchen hat Anna.",
        "Later today.",
        "Got it this morning.",
        "I see Anna on Mondays.",
    ],
)
def test_a_statement_that_begins_like_a_courtesy_is_noted(statement: str):
    assert Conversation().say(statement) == Reply(dialogue_acts.NOTED)


def test_a_question_made_of_words_of_reactions_is_no_reaction():
    assert Conversation().say("Is that right?") == Reply(dialogue_acts.UNKNOWN)
    assert Conversation().say("Hi, is that right?") == Reply(dialogue_acts.UNKNOWN)


@pytest.mark.parametrize(
    ("corrections", "newest"),
    [
        (["No, Thursday."], "No, Thursday."),
        (["Actually it's on Thursday."], "Actually it's on Thursday."),
        (["No, Thursday.", "Sorry, I meant Friday at 11."], "Sorry, I meant Friday at 11."),
        (["make it Thursday"], "make it Thursday"),
        (["Nein, am Donnerstag."], "Nein, am Donnerstag."),
    ],
)
def test_a_correction_without_the_subject_is_quoted_before_what_it_corrects(corrections: list[str], newest: str):
    conversation = after("Our team meeting is on Monday.", "When is our team meeting?", *corrections)
    assert quotes(conversation.say("When is our team meeting?"))[0] == newest
    assert quotes(conversation.say("When is our team meeting?"))[-1] == "Our team meeting is on Monday."


def test_a_statement_with_a_subject_of_its_own_corrects_nothing():
    conversation = after("My dentist is Dr. Bloom.", "Actually, I bought a car last week.")
    assert quotes(conversation.say("Who is my dentist?")) == ["My dentist is Dr. Bloom."]


def test_others_correct_what_was_said_just_before_and_nothing_earlier():
    conversation = Conversation()
    conversation.say("I'll be on leave in July.", "bob")
    conversation.say("The meeting is on Monday.", "ada")
    conversation.say("No, Thursday.", "bob")
    reply = conversation.say("When is the meeting?", "ada")
    assert reply.text == "bob said: “No, Thursday.”\nYou said: “The meeting is on Monday.”"
    assert quotes(conversation.say("Who is on leave in July?", "ada")) == ["I'll be on leave in July."]


def test_a_question_about_oneself_is_answered_with_what_one_said_of_oneself_first():
    conversation = after("I live in Rotterdam.", "My sister lives in Leeds.")
    assert quotes(conversation.say("Where do I live?"))[0] == "I live in Rotterdam."


def test_what_was_just_said_is_the_newest_statement():
    conversation = after("My name is Ada.", "The gate code is 4471.", "Where is the key?")
    assert quotes(conversation.say("What did I just say?")) == ["The gate code is 4471."]


def test_a_question_whether_something_was_ever_mentioned_finds_it():
    conversation = after("I live in Ghent.")
    assert quotes(conversation.say("Did I ever mention Ghent?")) == ["I live in Ghent."]
