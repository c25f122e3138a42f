"""Memories that answer a question (actors/engines/relevance.py), in small banks in four languages."""

import pytest

from actors.engines.relevance import asked_terms, asking
from actors.retrieval.question import Question
from actors.slices import whole
from tests.support.recall_questions import QUESTIONS

CASES = [
    pytest.param(bank, question, wanted, id=question) for bank, questions in QUESTIONS for question, wanted in questions
]
MISSED: set[str] = set()
"""Questions with wrong or missing answers, listed so that an improvement is noticed."""


def answering(bank: dict[str, str], text: str) -> set[str]:
    question = whole(asking(text))
    return {name for name, said in bank.items() if whole(question.reading(f"{name}\n{said}"))[1]}


@pytest.mark.parametrize(("bank", "question", "wanted"), CASES)
def test_the_memory_that_answers_is_taken_and_no_question_without_an_answer_gets_one(
    bank: dict[str, str], question: str, wanted: str | None
) -> None:
    found = answering(bank, question)
    right = wanted in found if wanted is not None else not found
    assert right is (question not in MISSED), f"{question}: {found or 'nothing'}"


@pytest.mark.parametrize(
    "text",
    [
        "How far is the Moon?",
        "@scout @curie  how far is the Moon from the Moon?",
        "It rains here. How far is the Moon? Thanks!",
        "My name is Ada",
        "",
        "@scout",
        "@a " * 12 + "Where is the key? I lost it.",
        "Wo liegt der Hafen? " * 80,
        "word " * 900,
    ],
)
def test_the_terms_alone_are_those_of_the_question(text: str) -> None:
    alone, question = Question(whole(asked_terms(text))), whole(asking(text))
    assert (list(alone.terms), alone.kinds) == (list(question.terms), question.kinds)
