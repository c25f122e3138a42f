"""What may answer a question by the kind of answer that it holds, in chats and banks alike."""

import pytest

from actors.banks.loading import memory_terms
from actors.engines.relevance import asked_terms
from actors.engines.turn import Persona
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.slices import whole
from tests.support.recall_talk import Conversation, after, quotes


def answering(question: str, *texts: str) -> list[str]:
    """Return the memories that answer a question."""
    index = Index()
    for number, text in enumerate(texts):
        index.add(number, whole(memory_terms(f"note {number}", text)))
    found = index.search(Question(whole(asked_terms(question))), 10)
    return [texts[one.number] for one in found if one.answers]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How old is Maisie?", "Maisie is nine and Finn is six.", "Maisie drives an old yellow Fiat."),
        ("How old is Gwen?", "Aunt Gwen turned eighty-three last week.", "Aunt Gwen sewed a banner for 20 pounds."),
        ("Wie alt ist Leo?", "Leo wird neun.", "Leo hat ein altes Fahrrad."),
        ("How old is the mill?", "The mill was built in 1620.", "The mill has an old wheel."),
    ],
)
def test_only_a_text_with_an_age_tells_how_old_someone_is(question: str, answer: str, other: str) -> None:
    assert quotes(after(answer, "It rains.", other).say(question)) == [answer]
    assert quotes(after(other).say(question)) == []
    assert answering(question, answer, other) == [answer]
    assert answering(question, other) == []


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("When was the pharmacy in Lübeck founded?", "My parents run a pharmacy."),
        ("How much did the new bike of Leo cost?", "Leo has got a bike."),
    ],
)
def test_without_a_number_or_date_a_doubtful_text_does_not_answer_when_or_how_much(question: str, other: str) -> None:
    assert quotes(after(other).say(question)) == []
    assert answering(question, other) == []


def test_a_text_with_most_words_of_the_question_needs_no_number() -> None:
    for free in ("The parking costs nothing.", "Parking in the yard costs what you like."):
        assert quotes(after(free).say("How much does the parking cost?")) == [free]
        assert answering("How much does the parking cost?", free) == [free]


def test_an_age_beside_the_subject_is_its_age_only_if_it_names_nobody_else() -> None:
    hall = "We rehearse in the old hall."
    assert quotes(after(hall, "Maisie is nine and Finn is six.").say("How old is the hall?")) == []
    parrot = "We have got a parrot from the zoo."
    assert quotes(after(parrot, "She is nine, by the way.").say("How old is the parrot?")) == [
        "She is nine, by the way."
    ]


def test_the_sentence_with_the_age_is_quoted() -> None:
    said = after("Leo came by bus. Leo is eleven now. Leo likes chess.").say("How old is Leo?")
    assert quotes(said) == ["Leo is eleven now."]


def test_what_belongs_to_someone_else_is_no_answer() -> None:
    mine = after("My shoe size is 39.")
    assert quotes(mine.say("What is Declan's shoe size?")) == []
    assert quotes(mine.say("What is my shoe size?")) == ["My shoe size is 39."]
    teacher = "Maisie's new teacher is Miss Lindqvist."
    assert quotes(after(teacher).say("Who is Finn's new teacher?")) == []
    assert quotes(after(teacher).say("Who is Maisie's new teacher?")) == [teacher]


def test_what_is_said_of_someone_by_a_pronoun_may_be_theirs() -> None:
    flight = "His flight leaves at 6:40, and Ann's is late."
    assert quotes(after("Declan is at work.", flight).say("When does Declan's flight leave?")) == [flight]


def test_the_numbers_and_ages_of_a_profile_answer_too() -> None:
    conversation = Conversation(Persona("agt_1", "scout", "", "The Moon is 384,400 km away. Ada is nine."))
    assert quotes(conversation.say("How far is the Moon?")) == ["The Moon is 384,400 km away."]
    assert quotes(conversation.say("How old is Ada?")) == ["Ada is nine."]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Gideon the tortoise, he's about thirty.", "How old is the tortoise?"),
        ("My cousin Ines is nearly 30 now.", "How old is Ines?"),
        ("Lotte ist schon acht.", "Wie alt ist Lotte?"),
    ],
)
def test_an_age_may_be_told_roughly(told: str, question: str) -> None:
    assert quotes(after(told, "The tea was cold.").say(question)) == [told]


def test_an_age_is_found_among_many_messages_about_someone() -> None:
    told = "Lotte is eight and goes to the second class of the Montessori school."
    since = [f"Lotte {verb} today." for verb in ("laughed", "cried", "sang", "ran", "slept", "ate", "swam", "read")]
    assert quotes(after(told, *since).say("How old is Lotte?")) == [told]
