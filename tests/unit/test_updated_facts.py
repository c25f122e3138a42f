"""Facts that change in the course of a conversation, told in other words each time (actors/engines/updates.py)."""

import pytest

from tests.support.recall_talk import Conversation, after, quotes

MONDAYS = "Our choir rehearses on Mondays in the old hall."
WEDNESDAYS = "Choir has been moved to Wednesdays."


def among_others(*messages: str) -> Conversation:
    conversation = after(*messages)
    for number in range(20):
        conversation.say(f"I met neighbour number{number} in the park.")
    return conversation


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        (MONDAYS, WEDNESDAYS, "When does the choir rehearse?"),
        ("The kitchen costs £11,800.", "The kitchen price has gone up to £12,650.", "How much does the kitchen cost?"),
        ("The lawyer charges 210 pounds.", "The lawyer's new rate is 230 pounds.", "How much does the lawyer charge?"),
        ("Ralf lives in Aachen.", "Ralf has settled in Bremen meanwhile.", "Where does Ralf live?"),
        (WEDNESDAYS, "From now on choir is on Fridays instead.", "What day has choir been moved to?"),  # changed twice
        ("Der Chor probt montags.", "Der Chor wurde auf Mittwoch verschoben.", "Wann probt der Chor?"),
    ],
)
def test_a_newer_statement_that_changes_a_fact_is_told_after_it(told: str, later: str, question: str) -> None:
    reply = among_others(told, "It rains.", later).say(question)
    assert reply.text == f"You said: “{told}”\nLater you said: “{later}”"
    assert quotes(reply) == [told, later]


def test_of_several_changes_the_newest_is_told() -> None:
    conversation = among_others(MONDAYS, WEDNESDAYS, "The choir has switched to Fridays.")
    assert quotes(conversation.say("When does the choir rehearse?")) == [MONDAYS, "The choir has switched to Fridays."]


def test_what_others_said_later_is_told_with_their_names() -> None:
    conversation = Conversation()
    conversation.say(MONDAYS, name="ada")
    conversation.say(WEDNESDAYS, name="bao")
    asked = conversation.say("When does the choir rehearse?", name="ada")
    assert asked.text == f"You said: “{MONDAYS}”\nLater bao said: “{WEDNESDAYS}”"


@pytest.mark.parametrize(
    ("later", "question"),
    [
        (WEDNESDAYS, "When did the choir rehearse originally?"),  # asks for what was before
        ("Choir has been moved.", "When does the choir rehearse?"),  # tells no date
        ("Aunt Gwen now sews on Wednesdays.", "When does the choir rehearse?"),  # speaks of something else
        ("The choir sang for Aunt Gwen on Sunday.", "When does the choir rehearse?"),  # changes nothing
    ],
)
def test_what_does_not_change_the_answer_is_not_told_with_it(later: str, question: str) -> None:
    assert quotes(among_others(MONDAYS, later).say(question)) == [MONDAYS]


def test_what_was_told_before_changes_nothing() -> None:
    assert quotes(among_others(WEDNESDAYS, "It rains.", MONDAYS).say("When does the choir rehearse?")) == [MONDAYS]


def test_a_change_to_something_of_someone_else_is_not_told() -> None:
    conversation = among_others("Ann's phone number is 4711.", "I have got a new phone number: 4712.")
    assert quotes(conversation.say("What is Ann's phone number?")) == ["Ann's phone number is 4711."]
