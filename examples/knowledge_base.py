"""A bank as a knowledge base: an agent answers from its memories, and cites them.

    make run                                                 # in one terminal
    python examples/knowledge_base.py                        # in another, with `pip install ./clients/python`
    python examples/knowledge_base.py "Who gets a laptop?"   # questions of your own

PARLEY_URL names another gateway; PARLEY_API_KEY a user of your own (else it is a sandbox key's).
"""

import os
import secrets
import sys

from parley_client import ChatDelta, Parley

HANDBOOK = {
    "Leave": "Every employee has 28 days of leave a year. Leave that is not taken by March is lost.",
    "Travel": "Trains are booked in second class. Flights need the approval of the team's lead.",
    "Laptops": "A laptop is replaced after four years, or at once if it is broken.",
}
QUESTIONS = ("How many days of leave do I have?", "Who approves flights?", "What is the capital of France?")

with Parley() as visitor:
    key = os.environ.get("PARLEY_API_KEY") or visitor.keys.sandbox().key

run = secrets.token_hex(3)  # names are unique in a gateway
agent, bank = f"librarian-{run}", f"handbook-{run}"

with Parley(key=key) as client:
    client.agents.create(agent, "Answers from the handbook")
    client.agents.log_on(agent)
    client.banks.create(bank, agent=agent, description="The employees' handbook")
    for name, text in HANDBOOK.items():
        client.banks.load(bank, name, agent=agent, content=text)

    for question in sys.argv[1:] or QUESTIONS:
        print(f"> {question}")
        for event in client.agents.stream_chat(question, agent=agent):
            if isinstance(event, ChatDelta):
                print(event.text, end="", flush=True)
            else:
                print()
                for source in event.reply.sources:
                    print(f"  [{source.bank}: {source.name}] {source.quote}")
