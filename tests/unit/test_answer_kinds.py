"""The kinds of answers that questions ask for and texts hold (actors/text/answer_kinds.py)."""

import pytest

from actors.banks.loading import memory_terms
from actors.slices import whole
from actors.text import answer_kinds, tokenizer
from actors.text.answer_kinds import AGE, ASKED, ASKS, DATE, KINDS, NUMBER, OF_WHOM, ONESELF, SAID_BY


def held(text: str) -> frozenset[str]:
    return KINDS.intersection(whole(memory_terms("talk/1", text)))


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("How many students are in the class?", [NUMBER]),
        ("Do you know how old she is?", [AGE]),
        ("What time does the train leave?", [NUMBER]),
        ("When did they move?", [DATE]),
        ("Can you tell me when they moved?", [DATE]),
        ("Since when have they lived there?", [DATE]),
        ("Which day is the course?", [DATE]),
        ("What did she say when he left?", []),
        ("Who sold the bike?", []),
        ("What did the shed cost?", [NUMBER]),
        ("What was she paid when she left?", [NUMBER]),
        ("Was hat das Rad gekostet?", [NUMBER]),
        ("Qu'est-ce que le vélo a coûté ?", [NUMBER]),
        ("¿Qué cuesta el tren?", [NUMBER]),
        ("Who paid for the bike?", []),
        ("How old is my dog?", [ONESELF, AGE]),
        ("Wo wohne ich?", [ONESELF]),
        ("Où est mon vélo ?", [ONESELF]),
        ("¿Dónde está mi bici?", [ONESELF]),
        ("Wie alt ist Janas Mutter?", [AGE]),
        ("What age is Leo?", [AGE]),
        ("Quel âge a Léo ?", [AGE]),
        ("Wann zieht Jana um?", [DATE]),
        ("Combien a coûté le vélo ?", [NUMBER]),
        ("Quand part le train ?", [DATE]),
        ("¿Cuántos años tiene Ana?", [NUMBER]),
        ("¿Cuándo sale el tren?", [DATE]),
    ],
)
def test_a_question_asks_for_a_number_or_a_date_or_what_someone_says_of_themselves(question: str, kinds: list[str]):
    assert answer_kinds.asked_for(tokenizer.split(question)) == kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("There are fourteen of us.", {NUMBER, ONESELF}),
        ("Rent is 940 a month.", {NUMBER, DATE}),
        ("We left on Friday.", {DATE, ONESELF}),
        ("It was the 3rd.", {NUMBER, DATE}),
        ("Founded in 1984", {NUMBER, DATE, AGE}),
        ("Sie ist neunundsiebzig.", {NUMBER, AGE, OF_WHOM}),
        ("Am ersten März", {DATE}),
        ("You may go.", set()),
        ("Lunch is on 10 May.", {NUMBER, DATE}),
        ("On Wednesdays", {DATE}),
        ("The bill is due by the fifth.", {DATE}),
        ("Sie kommt am achtzehnten.", {DATE}),
        ("She turned eighty-three.", {NUMBER, AGE, OF_WHOM}),
        ("Tom (7) and Bella (4).", {NUMBER, AGE}),
        ("He's nineteen and tall.", {NUMBER, AGE, OF_WHOM}),
        ("Ada: Eleven, the vet says.", {NUMBER, AGE, OF_WHOM}),
        ("Eleven, she says.", {NUMBER, AGE, OF_WHOM}),
        ("Tickets, eleven and more.", {NUMBER}),
        ("My nine-year-old son", {NUMBER, DATE, AGE, ONESELF}),
        ("At the age of nine", {NUMBER, AGE}),
        ("Elle a douze ans.", {NUMBER, AGE, OF_WHOM}),
        ("Ein 27-jähriger Mann", {NUMBER, AGE}),
        ("Leo ist neun Jahre alt.", {NUMBER, DATE, AGE}),
        ("It's six hundred and forty pounds.", {NUMBER}),
        ("The code is 4711.", {NUMBER}),
        ("There are two.", {NUMBER}),
        ("It has been twenty-two years of work.", {NUMBER, DATE}),
        ("They meet at eight.", {NUMBER}),
        ("It is blue.", set()),
        ("(8 May 2023) Ada: It is blue.", set()),
        ("[2023/05/20 (Sat) 02:21] Ada: There are two.", {NUMBER}),
        ("Ada: What did you pay, 20?", {NUMBER, ASKED, ASKS}),
        ("Ada: I paid 20 euros. And you?", {NUMBER, ONESELF, ASKED, ASKS}),
        ("Ada: He said: “Are you there?”", {ASKED, ASKS}),
        ("Ada: Are you there? He asked that.", {ASKED}),
    ],
)
def test_a_text_holds_numbers_and_dates_speaks_of_oneself_and_asks(text: str, kinds: set[str]):
    assert held(text) == kinds


def test_the_name_of_a_memory_and_its_stamp_hold_no_answer():
    assert KINDS.isdisjoint(whole(memory_terms("2023-05-20/7", "Ada: It is blue.")))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Ada: It is blue.", {"ada"}),
        ("Ada Lovelace: It is blue.", {"ada", "lovelac"}),
        ("[2023/05/20 (Sat) 02:21] Ada: It is blue.", {"ada"}),
        ("Ada (8 May 2023): It is blue.", {"ada"}),
        ("**Ada**: It is blue.", {"ada"}),
        ("Ada said: It is blue.", {"ada"}),
        ("Noémie : elle est dans la rue.", {"noem"}),
        ("It is blue: the sea.", {"blue"}),
        ("https://example.org", set()),
        ("At 12:30 they left.", set()),
        ("The sea that we saw then: blue.", set()),
    ],
)
def test_a_text_that_begins_with_a_name_is_said_by_that_person(text: str, terms: set[str]):
    said = {term for term in whole(memory_terms("talk/1", text)) if term.startswith(SAID_BY)}
    assert said == {SAID_BY + term for term in terms}


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("How old is Ada?", "is ada"),
        ("Wie alt ist der alte Baum?", "ist der alte baum"),
        ("What age is Leo?", "is leo"),
        ("Who lives in the old house?", "who lives in the old house"),
        ("", ""),
    ],
)
def test_the_word_that_asks_for_an_age_is_no_subject(question: str, subject: str):
    words = answer_kinds.subject(tokenizer.split(question))
    assert " ".join(word for word in words if word not in ("how", "wie", "what")) == subject


@pytest.mark.parametrize(
    ("text", "owners", "owned"),
    [
        ("What is Declan's shoe size?", ["declan"], ["shoe", "size"]),
        ("Declan\u2019s shoe size is 39.", ["declan"], ["shoe", "size", "is"]),
        ("My shoe size is 39.", [], ["shoe", "size", "is"]),
        ("What's for lunch? It's soup.", [], []),
        ("They are the Smiths' shoes.", [], []),
    ],
)
def test_a_text_names_whose_something_is(text: str, owners: list[str], owned: list[str]):
    assert (answer_kinds.owners(text), answer_kinds.owned(text)) == (owners, owned)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ada: It is.", True),
        ("ada: It is.", True),
        ("[8 May 2023] Ludwig van Beethoven: It must be.", True),
        ("Speaker 2: It is.", True),
        ("Quick one: who makes the soup?", False),
        ("It is: nothing.", False),
        ("It is.", False),
    ],
)
def test_a_turn_of_a_dialogue_begins_with_a_name(text: str, told: bool):
    assert answer_kinds.is_told(text) is told
    assert answer_kinds.are_told([text, "Ben: Yes."]) is told
    assert not answer_kinds.are_told([text, "Yes."])
    assert not answer_kinds.are_told([])
