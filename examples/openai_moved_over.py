"""A program for OpenAI's API, moved over to Parley by one line: the client's address and key.

The model is an agent's name. Parley keeps the conversation, which it knows again by the history that the program
sends, and cites its sources as annotations.

    make run                               # in one terminal
    python examples/openai_moved_over.py   # in another, with `pip install ./clients/python openai`

PARLEY_URL names another gateway; PARLEY_API_KEY a user of your own (else it is a sandbox key's).
"""

import os
import secrets

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from parley_client import Parley

with Parley() as visitor:
    key = os.environ.get("PARLEY_API_KEY") or visitor.keys.sandbox().key

model = f"astronomer-{secrets.token_hex(3)}"  # names are unique in a gateway

with Parley(key=key) as parley:
    parley.agents.create(model, "Knows the sky")
    parley.agents.log_on(model)
    parley.banks.create(f"{model}-notes", agent=model)
    parley.banks.load(f"{model}-notes", "Distance", agent=model, content="The Moon is 384,400 km away.")
    parley.banks.load(f"{model}-notes", "Apollo 11", agent=model, content="Neil Armstrong was there first, in 1969.")

    # The one line; it was: client = OpenAI()
    client = OpenAI(base_url=f"{parley.url}/v1", api_key=key)

    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How far away is the Moon?"}]
    reply = client.chat.completions.create(model=model, messages=messages).choices[0].message
    print(reply.content)
    for annotation in reply.annotations or []:
        print(f"  [{annotation.url_citation.title}] {annotation.url_citation.url}")

    messages.append({"role": "assistant", "content": reply.content})
    messages.append({"role": "user", "content": "Who was there first?"})
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()

    (conversation,) = parley.conversations.list(agent=model)
    print(f"Parley keeps {conversation.messages} messages in {conversation.id}.")
