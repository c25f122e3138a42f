"""Long dialogues with questions about them, and how well a gateway remembers them: `make bench-recall`.

Each dialogue is loaded turn by turn into a bank, as memories `session/turn`, and told turn by turn to an agent in a
private conversation. Every question is then asked of MB_Recall, of an agent with the bank, and of the agent that was
told everything. The yardstick is plain BM25 (`rank_bm25`) over the same tokens.

Kinds of questions: `fact` shares words with its answer, `reworded` as few as natural, `two` needs two places, `sampled`
asks about turns taken at fixed intervals; `none` sounds as if the dialogue said it, `off` has nothing to do with it.
"""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from rank_bm25 import BM25Okapi

from actors.text import tokenizer
from bench.commands import Commands, commands_to
from bench.private_postgres import stored_in
from bench.report import BenchError, table, verdict
from bench.servers import CHECKOUT, gateway

FOLDER = CHECKOUT / "bench" / "dialogues"
DEVELOPMENT = ("allotment", "startup", "theatre", "umbau")
"""The dialogues that constants were tuned on."""

TEST = ("clinic", "sisters", "assistant", "voyage")
"""The others, which decide."""

ANSWERABLE = ("fact", "reworded", "two", "sampled")
WITHOUT_ANSWER = ("none", "off")
BETTER_MARK = 0.08
FALSE_MARK = 0.02
REPORT = CHECKOUT / "docs" / "recall.md"


class Turn(NamedTuple):
    """One turn: the memory's name `session/number` and its text, `Speaker: words`."""

    name: str
    text: str


class Asked(NamedTuple):
    """A question, with the turns that answer it, counted from 0."""

    kind: str
    text: str
    evidence: tuple[int, ...]


class Dialogue(NamedTuple):
    """A dialogue and the questions about it."""

    name: str
    turns: list[Turn]
    questions: list[Asked]


class Outcome(NamedTuple):
    """The outcome of a question.

    Attributes:
        dialogue: its name.
        asked: the question.
        found: the ten best turns of MB_Recall, best first.
        plain: those of plain BM25.
        by_bank: the turns that the agent with the bank quoted.
        by_talk: the turns that the agent quoted which was told the dialogue; -1 for another text.
    """

    dialogue: str
    asked: Asked
    found: list[int]
    plain: list[int]
    by_bank: list[int]
    by_talk: list[int]


def read(name: str) -> Dialogue:
    """Read a dialogue and its questions.

    Raises:
        BenchError: a line is malformed, or an evidence does not name one turn.
    """
    turns: list[Turn] = []
    session, number = "", 0
    for line in (FOLDER / f"{name}.dialogue").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            session, number = line.removeprefix("## ").strip(), 0
        elif line.strip() and not line.startswith("#"):
            number += 1
            turns.append(Turn(f"{session}/{number}", line))
    questions: list[Asked] = []
    for line in (FOLDER / f"{name}.questions").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        kind, text, *pieces = (part.strip() for part in line.split("|"))
        evidence = tuple(_turn_with(name, turns, piece) for piece in pieces if piece)
        if kind not in (*ANSWERABLE, *WITHOUT_ANSWER) or bool(evidence) is (kind in WITHOUT_ANSWER):
            raise BenchError(f"{name}: a question is malformed: {line}")
        questions.append(Asked(kind, text, evidence))
    return Dialogue(name, turns, questions)


def together(dialogues: Sequence[Dialogue]) -> Dialogue:
    """Return one dialogue of all turns, with the questions that have an answer; the others may have one elsewhere."""
    turns: list[Turn] = []
    questions: list[Asked] = []
    for dialogue in dialogues:
        first = len(turns)
        turns += [Turn(f"{dialogue.name} {name}", text) for name, text in dialogue.turns]
        for kind, text, evidence in dialogue.questions:
            if evidence:
                questions.append(Asked(kind, text, tuple(first + turn for turn in evidence)))
    return Dialogue("together", turns, questions)


def _turn_with(name: str, turns: Sequence[Turn], piece: str) -> int:
    found = [number for number, turn in enumerate(turns) if piece in turn.text]
    if len(found) != 1:
        raise BenchError(f"{name}: {len(found)} turns have the evidence {piece!r}, and one should")
    return found[0]


async def ask_all(dialogues: Iterable[Dialogue], url: str | None) -> list[Outcome]:
    """Ask every question of a gateway that was told the dialogues and stores them in SQLite, or in a database."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="parley-recall-") as name, gateway(Path(name), **stored_in(url)) as server:
        async with commands_to(server.base) as commands:
            for dialogue in dialogues:
                outcomes += await _ask(commands, dialogue)
    return outcomes


async def _ask(commands: Commands, dialogue: Dialogue) -> list[Outcome]:
    send, bank = commands.send, {"bank": dialogue.name}
    reader, hearer = f"{dialogue.name}-reader", f"{dialogue.name}-hearer"
    token, _ = await commands.sessions(f"{dialogue.name}-user", [reader, hearer])
    await send("MB_Create", token, target={**bank, "agent": reader}, vx={"name": dialogue.name})
    places: dict[str, int] = {}
    heard: dict[str, int] = {}
    for number, turn in enumerate(dialogue.turns):
        await send("MB_Load", token, target={**bank, "agent": reader}, vx={"name": turn.name}, content=turn.text)
        told = await send("AP_Chat", token, target={"agent": hearer}, content=turn.text)
        places[turn.name], heard[told["content"][0]["id"]] = number, number
    plain = BM25Okapi([_terms(turn.text) for turn in dialogue.turns])
    outcomes: list[Outcome] = []
    for asked in dialogue.questions:
        recalled = await send("MB_Recall", token, target=bank, content=asked.text, page={"limit": 10})
        by_bank = await send("AP_Chat", token, target={"agent": reader}, content=asked.text)
        by_talk = await send("AP_Chat", token, target={"agent": hearer}, content=asked.text)
        scores = [float(score) for score in plain.get_scores(_terms(asked.text))]
        outcomes.append(
            Outcome(
                dialogue.name,
                asked,
                [places[memory["name"]] for memory in recalled["content"]],
                sorted(range(len(scores)), key=lambda number: -scores[number])[:10],
                [places.get(source["name"], -1) for source in by_bank["content"][1]["sources"] if "bank" in source],
                [heard.get(source["id"], -1) for source in by_talk["content"][1]["sources"] if "id" in source],
            )
        )
    return outcomes


def _terms(text: str) -> list[str]:
    return tokenizer.terms(tokenizer.split(text))


def recall_at(count: int, evidence: Sequence[int], found: Sequence[int]) -> float:
    """Return the share of the evidence among the first `count` turns found."""
    return sum(number in found[:count] for number in evidence) / len(evidence)


def reciprocal_rank(evidence: Sequence[int], found: Sequence[int]) -> float:
    """Return one divided by the rank of the first evidence found, 0 if none is."""
    return max((1 / (found.index(number) + 1) for number in evidence if number in found), default=0.0)


def _figures(outcomes: Sequence[Outcome], *, plain: bool) -> list[float]:
    found = [(one.asked.evidence, one.plain if plain else one.found) for one in outcomes]
    return [
        fmean(recall_at(5, evidence, turns) for evidence, turns in found),
        fmean(recall_at(10, evidence, turns) for evidence, turns in found),
        fmean(reciprocal_rank(evidence, turns) for evidence, turns in found),
    ]


def _by_kind(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        kinds[outcome.asked.kind].append(outcome)
    return kinds


def ranking_rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Make the rows of recall@5, recall@10 and MRR for each kind of question and all, with plain BM25's."""
    kinds = _by_kind(one for one in outcomes if one.asked.evidence)
    rows: list[list[str]] = []
    everything = [one for of_kind in kinds.values() for one in of_kind]
    for kind, of_kind in [*((kind, kinds[kind]) for kind in ANSWERABLE), ("all", everything)]:
        ours, plain = _figures(of_kind, plain=False), _figures(of_kind, plain=True)
        shown = [f"{figure:.3f}" for pair in zip(ours, plain, strict=True) for figure in pair]
        rows.append(
            [kind, str(len(of_kind)), *shown, verdict(ours[1] - plain[1], BETTER_MARK) if kind == "all" else ""]
        )
    return rows


def answer_rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Make the rows of what agents answered: of questions with an answer, the share answered and answered right."""
    rows: list[list[str]] = []
    for kind, of_kind in _by_kind(outcomes).items():
        row = [kind, str(len(of_kind))]
        for quoted in ([one.by_bank for one in of_kind], [one.by_talk for one in of_kind]):
            right = [set(one.asked.evidence) & set(turns) for one, turns in zip(of_kind, quoted, strict=True)]
            row += [f"{fmean(bool(turns) for turns in quoted):.3f}"]
            row += [f"{fmean(bool(turns) for turns in right):.3f}" if kind in ANSWERABLE else "-"]
        false = max(fmean(bool(one.by_bank) for one in of_kind), fmean(bool(one.by_talk) for one in of_kind))
        rows.append([*row, verdict(false, FALSE_MARK, at_most=True) if kind == "off" else ""])
    return rows


RANKING_HEAD = ["", "questions", "recall@5", "plain", "recall@10", "plain", "MRR", "plain", ""]
ANSWER_HEAD = ["", "questions", "with the bank: answered", "right", "told everything: answered", "right", ""]


def misses(dialogues: Sequence[Dialogue], outcomes: Sequence[Outcome]) -> list[str]:
    """List each question whose evidence is not all among the ten best, and each false answer."""
    turns = {dialogue.name: dialogue.turns for dialogue in dialogues}
    lines: list[str] = []
    for dialogue, asked, found, _, by_bank, by_talk in outcomes:
        missing = [number for number in asked.evidence if number not in found]
        for number in missing:
            turn = turns[dialogue][number]
            lines.append(f"- {dialogue}, {asked.kind}: {asked.text} *{turn.name}* {turn.text}")
        if not asked.evidence:
            for how, quoted in (("with the bank", by_bank), ("told everything", by_talk)):
                said = "; ".join(turns[dialogue][number].text for number in quoted if number >= 0)
                if quoted:
                    lines.append(f"- {dialogue}, {asked.kind}, {how}: {asked.text} *answered* {said or 'another text'}")
    return lines


def measure(url: str | None, *, write: bool = False) -> None:
    """Ask all questions and print the figures of both splits; `write`: keep them with every miss in docs/recall.md."""
    dialogues = [read(name) for name in (*DEVELOPMENT, *TEST)]
    outcomes = asyncio.run(ask_all(dialogues, url))
    report = [_HEADING]
    for split, names in (("Development", DEVELOPMENT), ("Test", TEST)):
        chosen = [one for one in outcomes if one.dialogue in names]
        ranking, answers = ranking_rows(chosen), answer_rows(chosen)
        table(f"{split}: MB_Recall and plain BM25 ({', '.join(names)})", RANKING_HEAD, ranking)
        table(f"{split}: what agents answer", ANSWER_HEAD, answers)
        report += [f"## {split}: {', '.join(names)}\n", *_markdown(RANKING_HEAD, ranking)]
        report += [*_markdown(ANSWER_HEAD, answers), "### Misses\n", *misses(dialogues, chosen), ""]
    if write:
        REPORT.write_text("\n".join(report), encoding="utf-8")


def measure_together(url: str | None) -> None:
    """Ask all questions of one bank with all dialogues, and of an agent that was told all; print the figures."""
    outcomes = asyncio.run(ask_all([together([read(name) for name in (*DEVELOPMENT, *TEST)])], url))
    table("All dialogues in one: MB_Recall and plain BM25", RANKING_HEAD, ranking_rows(outcomes))
    table("All dialogues in one: what agents answer", ANSWER_HEAD, answer_rows(outcomes))


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""]


_HEADING = """# Recall over long dialogues

Written by `make bench-recall ARGS=--write`; see bench/long_dialogues.py for what is measured. "Plain" is BM25 by
`rank_bm25` over the same tokens, in the same run. A miss is a turn that answers a question and is not among the ten
best memories, or an answer to a question that has none.
"""
