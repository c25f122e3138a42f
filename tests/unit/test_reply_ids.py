"""The id of a reply, which streaming clients are told before there is a reply."""

from actors.conversations.ids import reply_of
from actors.ids import new_id


def test_a_reply_s_id_sorts_right_behind_its_message_and_ends_in_the_same_shard():
    messages = [new_id("msg", "agt_0a") for _ in range(500)]
    replies = [reply_of(message) for message in messages]
    assert sorted([*messages, *replies]) == [id for pair in zip(messages, replies, strict=True) for id in pair]
    assert {reply[-2:] for reply in replies} == {"0a"}
    assert {len(reply) for reply in replies} == {36}


def test_the_last_of_the_random_digits_is_followed_by_the_first():
    assert reply_of("msg_0123456789ab7000" + "8" + "f" * 13 + "0a") == "msg_0123456789ab7000" + "8" + "0" * 13 + "0a"
