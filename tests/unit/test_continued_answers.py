"""Answers that go on in the next statement or part (actors/engines/continuation.py)."""

import pytest

from actors.engines.message import FoundUtterance
from actors.engines.turn import Memory, Reply, Turn
from actors.slices import whole
from tests.support.recall_talk import BLANK, Conversation, after, quotes, user


@pytest.mark.parametrize(
    ("told", "following", "question"),
    [
        ("Trevor runs the depot.", "He lives in Leeds.", "Who runs the depot?"),
        ("Edie wants a hamster.", "And her birthday is in May.", "What does Edie want?"),
        ("Dai came to mend the fan.", "He took £85 plus VAT.", "How much did Dai take for the fan?"),
        ("I've decided to start a cheese club.", "£18 a head, wine included.", "How much does the cheese club cost?"),
        ("Petra kauft die Milch in Clun.", "Sie zahlt 90 Cent.", "Wie viel zahlt Petra für die Milch aus Clun?"),
    ],
)
def test_the_next_statement_goes_on_with_an_answer(told: str, following: str, question: str) -> None:
    reply = after(told, following, "The tea was cold.").say(question)
    assert reply.text == f"You said: “{told}”\nThen you said: “{following}”"


@pytest.mark.parametrize(
    ("told", "following", "question"),
    [
        ("Trevor runs the depot.", "It's cold today.", "Who runs the depot?"),  # speaks of the weather
        ("Trevor runs the depot.", "Leeds is in the north.", "Who runs the depot?"),  # of something else
        ("Trevor runs the depot.", "These days nobody reads.", "Who runs the depot?"),
        ("Trevor runs the depot.", "Ella plays chess.", "Who runs the depot?"),
        ("The fence fell because of the wind.", "He lives in Leeds.", "Why did the fence fall?"),  # the reason is there
        ("Dai took £85 for the fan.", "He was late.", "How much did Dai take for the fan?"),  # nothing is missing
        ("Dai came to mend the fan.", "He was late.", "How much did Dai take for the fan?"),  # it has no number either
    ],
)
def test_what_does_not_go_on_is_not_quoted(told: str, following: str, question: str) -> None:
    assert quotes(after(told, following, "The tea was cold.").say(question)) == [told]


def test_a_reason_may_come_a_little_later() -> None:
    told = ("The council turned down our plan.", "It was a long day.", "Mrs Pugh objected because of the noise.")
    assert quotes(after(*told).say("Why did the council turn down our plan?")) == [told[0], told[2]]
    with_reason = "The council turned down our plan because of the noise."
    assert quotes(after(with_reason, *told[2:]).say("Why did the council turn down our plan?")) == [with_reason]


def test_what_changed_since_comes_rather_than_what_goes_on() -> None:
    told = ("The choir rehearses on Mondays.", "It takes two hours.", "The choir has been moved to Wednesdays.")
    assert quotes(after(*told).say("When does the choir rehearse?")) == [told[0], told[2]]


def test_only_the_same_speaker_goes_on() -> None:
    conversation = Conversation()
    conversation.say("Trevor runs the depot.", name="bao")
    conversation.say("He lives in Leeds.", name="bao")
    conversation.say("Rex is my dog.", name="bao")
    conversation.say("His favourite band is Blur.", name="cem")
    reply = conversation.say("Who runs the depot?", name="ada")
    assert reply.text == "bao said: “Trevor runs the depot.”\nThen bao said: “He lives in Leeds.”"
    assert quotes(conversation.say("Who is Rex?", name="ada")) == ["Rex is my dog."]


@pytest.mark.parametrize(
    "statement", ["Halt dich an Ada.", "Moment mal.", "My bad knee hurts.", "Hold on to the receipt."]
)
def test_what_only_begins_like_a_correction_corrects_nothing(statement: str) -> None:
    told = "The labels are due on the 25th."
    assert quotes(after(told, statement).say("When are the labels due?"))[0] == told


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        ("The labels are due on the 25th.", "no, hang on, the 22nd. I was asleep.", "When are the labels due?"),
        ("The dams cut the peak by 17 per cent.", "Hold on, 12 per cent.", "By how much do the dams cut the peak?"),
        ("Die Etiketten kommen am 25. Mai.", "Quatsch, am 22. Mai.", "Wann kommen die Etiketten?"),
    ],
)
def test_a_correction_may_begin_in_many_ways(told: str, later: str, question: str) -> None:
    first, *_ = quotes(after(told, later).say(question))
    assert first in later


def test_older_messages_from_the_store_are_corrected_and_go_on_as_those_in_memory() -> None:
    """An archive returns what was said after an answer with it (actors/conversations/archive.py)."""

    def reply(*told: str) -> list[str]:
        conversation = Conversation()
        older = [
            FoundUtterance(user(text, seq), 1.0 if seq == 1 else 0.0, 0.7 if seq == 1 else 0.0, seq == 1, ())
            for seq, text in zip((1, 3), told, strict=True)
        ]
        question = "Who runs the depot in Leeds?"
        turn = Turn(BLANK, "scout", (), conversation.window, question, older=older)
        found = whole(conversation.engine.replying(turn))
        assert isinstance(found, Reply)
        return quotes(found)

    assert reply("Trevor runs the depot.", "He is from York.") == ["Trevor runs the depot.", "He is from York."]
    assert reply("Trevor runs the depot.", "Sorry, Tom.")[0] == "Sorry, Tom."
    assert reply("Trevor runs the depot.", "York is old.") == ["Trevor runs the depot."]


def test_the_next_part_of_a_document_goes_on_with_an_answer() -> None:
    parts = ("Old Prosser ran the dairy.", "He sold it to me in 2019.", "Cheese is made from milk.")
    memories = tuple(
        Memory("notes", f"shop/{number}", text, 9.0 - number, number, 0.9 if number == 1 else 0.3, answers=number == 1)
        for number, text in enumerate(parts, 1)
    )
    for of in (memories, memories[::-1]):
        assert quotes(Conversation(memories=of).say("Who ran the dairy?")) == list(parts[:2])
    assert quotes(Conversation(memories=(memories[0], memories[2])).say("Who ran the dairy?")) == [parts[0]]
    other = (memories[0], Memory("diary", "shop/2", parts[1], 7.0, 2, 0.3))
    assert quotes(Conversation(memories=other).say("Who ran the dairy?")) == [parts[0]]


def test_the_reason_may_stand_a_few_parts_after_an_answer() -> None:
    parts = ("fsync took 4182 ms.", "I like ceph.", "Cause: the pool was rebalancing.", "Because of the disk.")
    memories = tuple(
        Memory("notes", f"log/{number}", text, 9.0 - number, number, 0.9 if number == 1 else 0.3, answers=number == 1)
        for number, text in enumerate(parts, 1)
    )
    assert quotes(Conversation(memories=memories).say("Why did fsync take so long?")) == [parts[0], parts[2]]
    assert quotes(Conversation(memories=memories).say("How long did fsync take?")) == [parts[0]]
    far = (memories[0], Memory("notes", "log/5", parts[3], 2.0, 5, 0.3))
    assert quotes(Conversation(memories=far).say("Why did fsync take so long?")) == [parts[0]]
    known = (Memory("notes", "log/2", "fsync was slow because of osd.41.", 9.0, 2, 0.9, answers=True), memories[2])
    assert quotes(Conversation(memories=known).say("Why was fsync slow?")) == [known[0].text]
