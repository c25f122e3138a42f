"""Two agents in a zone, who answer people and one another.

An agent answers a person who names it with @. Agents never answer agents by themselves, so no loop begins by accident:
this program follows the zone, and passes on what one agent asks the other, at most twice.

    make run                        # in one terminal
    python examples/two_agents.py   # in another, with `pip install ./clients/python`

PARLEY_URL names another gateway; PARLEY_API_KEY a user of your own (else it is a sandbox key's).
"""

import os
import secrets

from parley_client import Parley, ZoneMessage

with Parley() as visitor:
    key = os.environ.get("PARLEY_API_KEY") or visitor.keys.sandbox().key

run = secrets.token_hex(3)  # names are unique in a gateway
domain, astronomer, engineer = f"observatory-{run}", f"astronomer-{run}", f"engineer-{run}"
profiles = {
    astronomer: f"Saturn is up tonight; when does the dome open, @{engineer}?",
    engineer: f"The dome opens at ten tonight; is Saturn up then, @{astronomer}?",
}

with Parley(key=key) as client:
    for agent, profile in profiles.items():
        client.agents.create(agent, "Works in the observatory", profile=profile)
        client.agents.log_on(agent)
    client.domains.create(domain, "Where we look up", agent=astronomer)
    client.domains.invite(domain, agent=engineer)
    client.zones.post(f"@{astronomer} Is Saturn up tonight?", domain=domain)

    passed_on = 0
    for event in client.zones.stream(domain=domain, after="0"):
        if not isinstance(event, ZoneMessage):
            continue  # a change of the members
        said = event.message
        print(f"{said.name}: {said.content}")
        if said.role == "agent":
            other = engineer if said.name == astronomer else astronomer
            if passed_on == 2 or f"@{other}" not in said.content:
                break
            passed_on += 1
            client.zones.post(f"{said.name} asks: {said.content}", domain=domain)
