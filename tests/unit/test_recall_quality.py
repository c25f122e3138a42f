"""The questions of the bench, asked of an index in memory; `make bench-recall` asks them of a gateway."""

import functools

import pytest
from rank_bm25 import BM25Okapi

from actors.banks.loading import memory_terms
from actors.engines.relevance import asking
from actors.retrieval.found import Found, judged
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.retrieval.ranking import rarity
from actors.slices import whole
from actors.text import tokenizer
from bench.long_dialogues import ANSWERABLE, TEST, Dialogue, read, recall_at, reciprocal_rank
from bench.questions import memories_and_questions


@functools.cache
def dialogue(name: str) -> tuple[Dialogue, Index, BM25Okapi]:
    told = read(name)
    index = Index()
    for number, (turn, text) in enumerate(told.turns):
        session, part = turn.split("/")
        index.add(number, whole(memory_terms(turn, text)), session, int(part))
    return told, index, BM25Okapi([tokenizer.terms(tokenizer.split(text)) for _, text in told.turns])


def best(index: Index, question: str, limit: int = 10) -> list[Found]:
    return index.search(whole(asking(question)), limit)


def test_each_dialogue_is_long_and_has_questions_of_every_kind():
    for name in TEST:
        told, _, _ = dialogue(name)
        assert len(told.turns) >= 330
        assert {asked.kind for asked in told.questions} == {*ANSWERABLE, "none", "off"}


def test_the_context_of_a_turn_finds_eight_points_more_of_the_answers_than_plain_bm25():
    ours: list[float] = []
    plain: list[float] = []
    for name in TEST:
        told, index, bm25 = dialogue(name)
        for asked in told.questions:
            if asked.evidence:
                scores = list(bm25.get_scores(tokenizer.terms(tokenizer.split(asked.text))))
                order = sorted(range(len(scores)), key=lambda number, scores=scores: -scores[number])
                plain.append(recall_at(10, asked.evidence, order))
                ours.append(recall_at(10, asked.evidence, [one.number for one in best(index, asked.text)]))
    assert sum(ours) / len(ours) >= sum(plain) / len(plain) + 0.08


def test_questions_off_the_topic_have_no_answer():
    answered: list[str] = []
    count = 0
    for name in TEST:
        told, index, _ = dialogue(name)
        off = [asked.text for asked in told.questions if asked.kind == "off"]
        count += len(off)
        answered += [text for text in off if any(one.answers for one in best(index, text))]
    assert len(answered) < 0.02 * count, answered


def test_answers_are_among_the_best_of_long_dialogues():
    ranks = [
        reciprocal_rank(asked.evidence, [one.number for one in best(index, asked.text)])
        for told, index, _ in map(dialogue, TEST)
        for asked in told.questions
        if asked.evidence
    ]
    assert sum(ranks) / len(ranks) >= 0.52


def ranked(question: str, *texts: str) -> list[str]:
    index = Index()
    for number, text in enumerate(texts):
        index.add(number, whole(memory_terms(f"note {number}", text)))
    return [texts[one.number] for one in best(index, question)]


def test_a_question_for_a_number_or_a_date_finds_texts_with_one_first():
    number, other = "Ada: There are fourteen students here.", "Ada: The students here are nice."
    assert ranked("How many students are there?", number, other) == [number, other]
    date, other = "Ada: The concert was on Friday.", "Ada: The concert was loud."
    assert ranked("When was the concert?", date, other) == [date, other]
    assert ranked("How was the concert?", date, other) == [other, date]


def test_a_question_for_a_month_finds_dates_in_figures_and_in_other_languages():
    index = Index()
    for number, name in enumerate(("2023-06-12/1", "2023-07-22/1", "2023-08-12/1")):
        index.add(number, whole(memory_terms(name, "Ada: We rented a cabin for the week.")))
    for question in ("Which cabin did Ada rent in July?", "Ada en juillet", "Ada im Juli", "Ada en julio"):
        assert best(index, question)[0].number == 1
    assert tokenizer.terms(["märz"]) == tokenizer.terms(["march"])
    assert tokenizer.months("on 2023/05/20, 2023-13-01 and 12023-07-22") == ["mai", "may"]


def test_a_spanish_word_alone_finds_its_other_forms_with_accents_or_without():
    children, cat = "Los niños juegan en el parque.", "Mi gata duerme en la cama."
    for question in ("niños", "ninos", "niño", "Niñas"):
        assert ranked(question, children, cat) == [children]
    assert ranked("gatos", children, cat) == [cat]
    assert ranked("rosas", children, cat) == []


def test_a_text_that_ends_with_a_question_comes_after_one_that_answers():
    answers = "Ada: I paint the lighthouse at Montauk, from a photo."
    for asks in ("Bao: What did Ada paint?", "Bao: Nice brushes. What did Ada paint?"):
        assert ranked("What did Ada paint?", asks, answers) == [answers, asks]


def test_what_comes_after_a_turn_that_asks_and_says_more_ranks_before_it():
    turns = ("Bao: What was the landlord called? It slipped my mind.", "Ada: Evaristo, from Huesca.", "Bao: Right.")
    index = Index()
    for part, text in enumerate(turns, 1):
        index.add(part, whole(memory_terms(f"talk/{part}", text)), "talk", part)
    assert [one.number for one in best(index, "What was the landlord called?")][:2] == [2, 1]


def test_what_comes_after_a_question_is_found_by_its_words_more_than_after_a_statement():
    def told(before: str) -> float:
        index = Index()
        for part, text in enumerate((before, "Ada: Pickle.", "Bao: It rains."), 1):
            index.add(part, whole(memory_terms(f"talk/{part}", text)), "talk", part)
        return next(one.score for one in best(index, "What is the name of the cat?") if one.number == 2)

    assert told("Bao: Is there a cat?") > told("Bao: There is a cat.")


def test_an_answer_is_found_by_what_came_before_its_question():
    def told(between: str) -> float:
        index = Index()
        for part, text in enumerate(("Ada: There is a parrot.", between, "Ada: It swears.", "Bao: Ha!"), 1):
            index.add(part, whole(memory_terms(f"talk/{part}", text)), "talk", part)
        return next(one.score for one in best(index, "What does the parrot do?") if one.number == 3)

    assert told("Bao: So it talks?") > told("Bao: So it talks.")


@pytest.mark.parametrize(("place", "answers"), [(("talk", 3), True), (("talk", 6), False), (("", 3), False)])
def test_a_part_that_ranks_above_one_before_it_that_answers_does_so_too(place: tuple[str, int], answers: bool):
    question, having = Question(["rose", "tulip", "fern"]), {"rose": 1, "tulip": 1, "fern": 1}
    full = rarity(300, 1)
    own = {1: {"rose": full, "tulip": full}}
    found = own | {2: {"rose": 0.75 * full, "tulip": 0.75 * full}}
    places = {1: (place[0], 1), 2: place}
    best = judged(question.judging(300, having), 300, having, {}, own, found, {2: 1.5}, 5, places.get)
    assert [(one.number, one.answers) for one in best] == [(2, answers), (1, True)]


def test_a_question_that_names_someone_finds_what_they_say_first():
    ada, bao = "Ada: I bought a red bike, Bao.", "Bao: I bought a blue bike, Ada."
    assert ranked("Which bike did Ada buy?", ada, bao) == [ada, bao]
    assert ranked("Which bike did Bao buy?", ada, bao) == [bao, ada]


def test_a_long_question_is_answered_by_a_text_with_several_of_its_rare_words():
    index = Index()
    for number in range(300):
        index.add(number, whole(memory_terms(f"note {number}", f"Ada: It rains in village{number}.")))
    index.add(300, whole(memory_terms("note 300", "Ada: The huber makes windows and doors of larch.")))
    asked = "Which larch windows was the huber going to"
    found = [
        best(index, f"{asked} {rest}?")[0]
        for rest in ("build", "build cheaply", "build cheaply beyond summer holidays")
    ]
    assert [(one.number, one.answers) for one in found] == [(300, True)] * 3
    assert not best(index, "Which larch trees grow beyond Oslo?")[0].answers


def test_the_best_text_answers_by_a_high_score_though_it_has_few_of_the_rare_words():
    def answered(text: str) -> bool:
        index = Index()
        for number in range(300):
            index.add(number, whole(memory_terms(f"note {number}", f"Cem: It rains in village{number}.")))
        index.add(300, whole(memory_terms("note 300", text)))
        return best(index, "How much larch did the huber deliver to the mill?")[0].answers

    assert answered("Ada: The mill gets 40 of larch.")
    assert not answered("Ada: The mill gets larch, if the weather stays dry and nobody falls off that ladder again.")
    assert not answered("Bao: 40, of larch.")


def test_a_question_about_oneself_finds_what_someone_says_of_themselves_first():
    oneself, other = "User: I ride an old red bike to work, up the hill.", "Assistant: A red bike is good for work."
    assert ranked("What colour is my bike?", oneself, other) == [oneself, other]
    assert ranked("What colour is the bike?", oneself, other) == [other, oneself]


def test_the_small_questions_are_all_answered_among_the_five_best():
    memories, questions = memories_and_questions()
    index = Index()
    for number, (name, text) in enumerate(memories):
        index.add(number, whole(memory_terms(name, text)))
    found = {question: [memories[one.number][0] for one in best(index, question, 5)] for question, _ in questions}
    assert [question for question, answer in questions if answer not in found[question]] == []
