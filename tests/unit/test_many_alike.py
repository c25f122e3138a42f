"""Questions for one of many statements of a like form, most of them by a number or a name."""

import pytest

from actors.engines.dialogue_acts import UNKNOWN
from actors.engines.turn import Memory
from tests.support.recall_talk import Conversation, quotes, user

NOT_SURE = "I am not sure"
NAMES = [f"{a}{b}" for a in ("Lor", "Mar", "Tib", "Zen", "Kal", "Ven") for b in ("ando", "eko", "imo", "usso", "abel")]


def told(*statements: str) -> Conversation:
    conversation = Conversation()
    for statement in statements:
        conversation.append(user(statement, conversation.next()))
    return conversation


def shelf(number: int) -> str:
    return f"Shelf {number} has {number % 9 + 1} boxes with {number % 23 + 3} jars of {NAMES[number % 30]}."


@pytest.mark.parametrize("count", [20, 60, 180])
@pytest.mark.parametrize("asked", [1, 2, 5, 17])
@pytest.mark.parametrize("question", ["What is on shelf {}?", "How many boxes are on shelf {}?", "Shelf {}?"])
def test_a_number_counts_beside_the_word_that_it_has_in_the_question(count: int, asked: int, question: str) -> None:
    conversation = told(*map(shelf, range(1, count + 1)))
    assert quotes(conversation.say(question.format(asked))) == [shelf(asked)]


@pytest.mark.parametrize(
    ("fact", "other", "question"),
    [
        ("Order 12 of Lor costs 80 euros.", "Order 80 of Mar costs 12 euros.", "What does order 12 cost?"),
        ("I paid 20.50 for a lamp on May 3.", "I paid 31.10 for a chair on May 20.", "What did I pay 20.50 for?"),
        ("Rechnung Nr. 806 beträgt 900 Euro.", "Rechnung Nr. 900 beträgt 806 Euro.", "Wie hoch ist die Rechnung 806?"),
        ("Le casier 12 a le code 40.", "Le casier 40 a le code 12.", "Quel est le code du casier 12 ?"),
        ("El pedido 12 cuesta 40 euros.", "El pedido 40 cuesta 12 euros.", "¿Cuánto cuesta el pedido 12?"),
    ],
)
def test_the_same_numbers_in_other_places_are_another_fact(fact: str, other: str, question: str) -> None:
    for statements in ((fact, other), (other, fact)):
        assert quotes(told(*statements).say(question))[0] == fact


def test_memories_are_told_apart_by_the_places_of_numbers_too() -> None:
    memories = tuple(
        Memory("stock", str(number), shelf(number), 1.0, number, 1.0, answers=True) for number in (19, 10, 1)
    )
    assert quotes(Conversation(memories=memories).say("What is on shelf 1?")) == [shelf(1)]


@pytest.mark.parametrize("count", [10, 30])
def test_a_text_without_the_number_that_is_asked_for_is_told_with_doubt(count: int) -> None:
    codes = [f"The code of locker {number} is {7000 + 3 * number}." for number in range(1, count + 1)]
    reply = told(*codes, "The code of locker 5 is now 88.").say("What is the code of locker 500?")
    assert reply.text.startswith(NOT_SURE) or reply.text == UNKNOWN
    memory = Memory("codes", "one", codes[0], 1.0, 1, 0.67, answers=True)
    reply = Conversation(memories=(memory,)).say("What is the code of locker 500?")
    assert reply.text.startswith(NOT_SURE)


def test_another_number_with_more_words_is_no_better_answer() -> None:
    codes = [f"The code of locker {number} is {7000 + 3 * number}." for number in range(1, 11)]
    conversation = told(*codes, "The code of locker 5 is now 88.", "Locker 7 has a new code: 4242.")
    assert quotes(conversation.say("What's the new code of locker 5?"))[0] == "The code of locker 5 is now 88."


@pytest.mark.parametrize("count", [10, 60, 180])
def test_who_is_named_is_found_whatever_else_the_question_says(count: int) -> None:
    people = [f"Person{number}a lives in Town{number} and works as a baker." for number in range(count)]
    conversation = told(*people)
    for question in ("Where does my friend Person3a live?", "What is Person3a's profession or work?"):
        reply = conversation.say(question)
        assert quotes(reply)[0] == people[3], question
    for question in ("Where does my friend Zoltan live?", "What is Zoltan's profession?"):
        reply = conversation.say(question)
        assert reply.text.startswith(NOT_SURE) or reply.text == UNKNOWN, question
