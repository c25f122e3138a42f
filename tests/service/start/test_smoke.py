from tests.support.gateway import Client


async def test_a_chat_answers_the_message_and_the_reply(user: Client, unique: str):
    await user.agent(f"{unique}-scout")
    answer = (await user.command("AP_Chat", content="My dog is called Rex.")).ok()
    assert [message["role"] for message in answer.content] == ["user", "agent"]
