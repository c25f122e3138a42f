"""The prompt of the engine `openai`: its contents, their order and budget, and the sources of a reply."""

import pytest
from msgspec import structs

from actors.engines.message import FoundUtterance, Source, Utterance
from actors.engines.openai.attribution import attributions
from actors.engines.openai.prompt import AgentSettings, build, cut, estimate_tokens, named_in, read_profile
from actors.engines.openai.tools import MAX_NAME, function_names
from actors.engines.turn import Echo, Memory, Persona, Turn
from actors.engines.window import Window
from actors.errors import EngineFailed
from actors.slices import whole
from tests.gateways.model import Offer

SETTINGS = AgentSettings("Be brief.")


def persona(profile: str = "") -> Persona:
    return Persona("agt_1", "scout", "Finds things out.", profile)


def said(seq: int, content: str, role: str = "user", name: str = "ada") -> Utterance:
    return Utterance(f"msg_{seq}", "user" if role == "user" else "agent", name, content, seq, 0)


def turn(message: str = "Hello?", *utterances: Utterance, memories: tuple[Memory, ...] = (), speaker: str = "") -> Turn:
    return Turn(persona(), "scout", memories, Window(utterances), message, speaker)


def memory(name: str, text: str) -> Memory:
    return Memory("notes", name, text, 1.0)


# profiles


@pytest.mark.parametrize(
    ("profile", "settings"),
    [
        ("", AgentSettings("")),
        ("Be brief.", AgentSettings("Be brief.")),
        ('{"instructions": "Be brief."}', AgentSettings("Be brief.")),
        ('{"model": "m-1"}', AgentSettings("", "m-1")),
        ('{"instructions": "x", "model": "m", "temperature": 0}', AgentSettings("x", "m", 0)),
        ('{"temperature": 1.5, "other": true}', AgentSettings("", None, 1.5)),
        ('{"role": "guide"}', AgentSettings('{"role": "guide"}')),
        ("{not json}", AgentSettings("{not json}")),
        ('["instructions"]', AgentSettings('["instructions"]')),
    ],
)
def test_a_profile_is_instructions_or_an_object(profile: str, settings: AgentSettings):
    assert read_profile(persona(profile)) == settings


@pytest.mark.parametrize(
    "profile",
    [
        '{"instructions": 7}',
        '{"model": ""}',
        '{"model": " m"}',
        '{"model": ["m"]}',
        '{"temperature": "0.5"}',
        '{"temperature": true}',
        '{"temperature": -1}',
        '{"temperature": 2.1}',
    ],
)
def test_a_value_that_can_t_be_meant_fails_the_chat(profile: str):
    with pytest.raises(EngineFailed, match="scout"):
        read_profile(persona(profile))


# budget


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("word", 1), ("words", 2), ("x" * 400, 100), ("日本語", 3), ("aä", 2)]
)
def test_tokens_are_estimated(text: str, tokens: int):
    assert estimate_tokens(text) == tokens


def test_a_text_is_cut_to_its_tokens():
    assert cut("short", 10) == "short"
    assert estimate_tokens(cut("x" * 10_000, 50)) <= 50
    assert estimate_tokens(cut("ä" * 10_000, 50)) <= 50


def test_instructions_and_the_message_are_always_whole():
    message = "long " * 5_000
    prompt = build(turn(message, said(1, "Before.")), AgentSettings("Do this. " * 500), [], [], 100)
    assert prompt.messages[0]["content"].count("Do this.") == 500
    assert prompt.messages[-1] == {"role": "user", "content": message}
    assert len(prompt.messages) == 2


def test_the_newest_of_the_conversation_is_kept_without_gaps():
    utterances = [said(seq, f"message {seq} " + "x" * 100) for seq in range(1, 100)]
    prompt = build(turn("Now?", *utterances), SETTINGS, [], [], 1_000)
    seqs = [utterance.seq for utterance in prompt.utterances]
    assert seqs == list(range(100 - len(seqs), 100))
    assert 10 < len(seqs) < 99
    assert sum(estimate_tokens(message["content"]) for message in prompt.messages) <= 1_000


def test_memories_leave_room_for_the_conversation():
    memories = tuple(memory(f"m{number}", "fact " * 2_000) for number in range(5))
    prompt = build(turn("Now?", said(1, "Before."), memories=memories), SETTINGS, [], [], 1_000)
    assert [utterance.seq for utterance in prompt.utterances] == [1]
    assert prompt.memories == memories[:1]
    assert "[cut off]" in prompt.messages[0]["content"]


def test_many_skills_are_named_as_far_as_there_is_room():
    skills = [(f"skill-{number}", "Does something. " * 20) for number in range(100)]
    prompt = build(turn("Now?", said(1, "Before.")), SETTINGS, skills, [], 2_000)
    assert "skill-0:" in prompt.messages[0]["content"]
    assert "more)" in prompt.messages[0]["content"]
    assert [utterance.seq for utterance in prompt.utterances] == [1]


def test_roles_follow_who_said_it():
    utterances = (said(1, "Hi."), said(2, "Hello.", "agent", "scout"), said(3, "Me too.", "agent", "other"))
    prompt = build(turn("Now?", *utterances, speaker="ada"), SETTINGS, [], [], 1_000)
    assert prompt.messages[1:] == [
        {"role": "user", "content": "ada: Hi."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "other: Me too."},
        {"role": "user", "content": "ada: Now?"},
    ]


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Use star-maps now", ["star-maps"]),
        ("STAR-MAPS!", ["star-maps"]),
        ("$star-maps and maps", ["star-maps", "maps"]),
        ("my-star-maps", []),
        ("star-maps-2", []),
        ("roadmaps", []),
    ],
)
def test_a_message_names_skills_as_whole_words(message: str, named: list[str]):
    assert named_in(message, ["star-maps", "maps"]) == named


# functions


def test_tools_get_names_that_models_take_and_that_lead_back():
    names = [
        "clock.time",
        "clock__time",
        "a.b.c",
        "ümlaut.tool",
        "long." + "x" * 100,
        "long." + "x" * 101,
        "read.skill",
    ]
    functions = function_names([Offer(name, "", {}) for name in names], ["read__skill"])
    assert [tool.name for tool in functions.values()] == names
    assert all(len(name) <= MAX_NAME and name.replace("_", "").replace("-", "").isalnum() for name in functions)
    assert all(name.isascii() for name in functions)
    assert list(functions)[:2] == ["clock__time", "clock__time_2"]
    assert "read__skill" not in functions


# sources of a reply


def test_a_memory_is_a_source_where_the_reply_shares_its_words():
    memories = (memory("Door", "It is green. The code is quartz-7731."), memory("Window", "It faces north."))
    assert whole(attributions("The code: 7731.", "What is it?", memories, ())) == [
        Source("bank", "notes", "Door", "The code is quartz-7731.")
    ]
    assert whole(attributions("I don't know.", "What is it?", memories, ())) == []


def test_words_of_the_question_alone_make_no_source_unless_they_are_most_of_the_memory():
    door = (memory("Door", "The observatory door, at the north end behind the library, takes the code 7731."),)
    assert whole(attributions("I know no door.", "Which door?", door, ())) == []
    ada = (memory("Ada", "Born in May."),)
    assert len(whole(attributions("Yes, Ada was born in May.", "Was Ada born in May?", ada, ()))) == 1


def test_an_agent_s_message_that_a_reply_repeats_is_an_echo():
    utterances = (said(1, "The code is 7731."), said(2, "Quartz it is.", "agent"), said(3, "Good evening.", "agent"))
    assert whole(attributions("Quartz, 7731.", "Again?", (), utterances)) == [Echo(2)]


# older messages


def older(*utterances: Utterance) -> tuple[FoundUtterance, ...]:
    """Older messages, best first."""
    return tuple(
        FoundUtterance(utterance, 1.0 / number, 1.0, True, ()) for number, utterance in enumerate(utterances, 1)
    )


def test_older_messages_stand_before_the_newest_with_time_and_speaker_in_their_order():
    best, second = said(9, "The code is quartz."), said(4, "The door is green.", role="agent", name="scout")
    prompt = build(
        structs.replace(turn("Hello?", said(300, "Newest.")), older=older(best, second)), SETTINGS, [], [], 1_000
    )
    system = prompt.messages[0]["content"]
    assert "[1970-01-01 00:00, scout] The door is green.\n[1970-01-01 00:00, ada] The code is quartz." in system
    assert [message["content"] for message in prompt.messages[1:]] == ["Newest.", "Hello?"]
    assert [utterance.seq for utterance in prompt.utterances] == [4, 9, 300]


def test_no_message_is_in_a_prompt_twice():
    window = [said(seq, f"Message {seq}.") for seq in range(300, 310)]
    prompt = build(structs.replace(turn("Hello?", *window), older=older(window[9], window[0])), SETTINGS, [], [], 1_000)
    assert [utterance.seq for utterance in prompt.utterances] == list(range(300, 310))
    assert "Message 300" not in prompt.messages[0]["content"]


def test_a_message_of_the_window_that_does_not_fit_any_more_is_found_as_an_older_one():
    window = [said(1, "The code is quartz."), *(said(seq, "x" * 200) for seq in range(2, 40))]
    prompt = build(structs.replace(turn("Hello?", *window), older=older(window[0])), SETTINGS, [], [], 600)
    assert "The code is quartz." in prompt.messages[0]["content"]
    assert [utterance.seq for utterance in prompt.utterances[:1]] == [1]
    assert prompt.utterances[-1].seq == 39


def test_older_messages_take_up_to_a_quarter_of_the_budget_left():
    found = [said(seq, f"{seq} " + "word " * 100) for seq in range(1, 20)]
    newest = said(300, "Newest. " + "word " * 600)
    prompt = build(structs.replace(turn("Hello?", newest), older=older(*found)), SETTINGS, [], [], 1_200)
    assert newest in prompt.utterances
    assert 1 <= len(prompt.utterances) - 1 <= 3
    assert prompt.utterances[0] == found[0]


def test_a_reply_that_repeats_an_older_reply_is_noted_as_its_echo():
    told = said(4, "The code is quartz.", role="agent", name="scout")
    prompt = build(
        structs.replace(turn("What code?", said(300, "Newest.")), older=older(told)), SETTINGS, [], [], 1_000
    )
    assert whole(attributions("It is quartz.", "What code?", (), prompt.utterances)) == [Echo(4)]
