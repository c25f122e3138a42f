"""The id of a reply, which streaming clients are told before there is a reply."""

from uuid import RFC_4122, UUID

from actors.conversations.ids import reply_of
from actors.ids import new_id


def test_a_reply_s_id_sorts_right_behind_its_message_and_ends_in_the_same_shard():
    messages = [new_id("msg", "agt_0a") for _ in range(500)]
    replies = [reply_of(message) for message in messages]
    assert sorted([*messages, *replies]) == [id for pair in zip(messages, replies, strict=True) for id in pair]
    assert {reply[-2:] for reply in replies} == {"0a"}
    assert {len(reply) for reply in replies} == {36}


def test_a_reply_s_id_is_a_uuid_of_the_same_version_that_no_message_has():
    for message in (new_id("msg", "agt_0a"), "msg_0123456789ab70008" + "f" * 13 + "0a"):
        made, reply = UUID(message.removeprefix("msg_")), UUID(reply_of(message).removeprefix("msg_"))
        assert (reply.version, reply.variant) == (made.version, made.variant) == (7, RFC_4122)
        assert reply.int - made.int == 1 << 60
