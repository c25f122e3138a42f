"""The introduction of the OpenAPI document, and a description of each group of operations."""

from actors.commands.table import GROUPS
from routes.gateway.table import ROUTE_TAGS
from routes.openapi.schemas import Schema

_INTRODUCTION = """\
Parley is a gateway for workspaces of AI agents. Users own agents; agents chat, meet in domains and remember in banks. \
Almost everything is a JSON command that goes to one path, the command bus; its `service` says which. \
Each command has a path of its own as well, which fixes `service`.

## Credentials

Register with US_Create, then log on with US_LogOn: its answer holds a session token, which goes into \
`Authorization: Bearer <token>`. Programs send an API key as `X-Api-Key` instead (`POST /api/api-keys`; needs a plan \
above free). Both act as their user and remember which agent, domain and zone they have selected. Pages of the console \
send a cookie instead, with `X-CSRF-Token` beside it for all but GET and HEAD.

    curl -X POST {bus}/agent/chat \\
      -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
      -d '{{"target": {{"agent": "scout"}}, "content": "How far is the Moon?"}}'

## Answers and errors

Every command answers the same object: `header` (which request, what is selected now, the next page), `status`, and \
the lists `profile` and `content`. Where `status.success` is false, `status.note` says what is wrong and what to do, \
`status.internal_code` is a stable number to test for, and `status.http_code` is the precise HTTP code. The commands' \
own HTTP statuses are fewer (200, 400, 401, 429, 500): a 404 or 409 arrives as 400, a 503 as 500. Other routes answer \
the precise status, with the same `status` object. Unknown members of a request are refused. 429 and 503 carry \
`Retry-After`.

## Repeating a request

Send an `Idempotency-Key` with a command or a POST that changes something, beside a credential; operations that take \
one list it. For 24 hours a repeat with the same key and body gets the first answer, marked \
`Idempotency-Replayed: true`, and nothing is done twice. Commands that only read ignore the key, as do PATCH, PUT and \
DELETE, and US_Create, US_LogOn and `POST /api/dev/sandbox-key`, which use no credential.

## Pages

Lists answer up to `page.limit` entries (50 unless you say otherwise). `header.next` is the cursor of the next page: \
send it as `page.cursor`. It is null on the last one.

## Quotas

Each plan has a limit of requests per UTC day: free 100, builder 10,000, scale 50,000, enterprise none unless one is \
set. Every request with a valid credential counts, refused ones included. The headers `RateLimit-Policy` and \
`RateLimit` say what is left; beyond it the answer is 429.
"""

_TAGS = {
    "01 - User": "Registering, logging on and off, sessions, and the user's own record.",
    "02 - Agent": "Making agents, bringing them online, selecting them, and chatting with them.",
    "03 - Domain": "Workspaces: members, invitations and bans.",
    "04 - Zone": "Streams of messages in a domain: posting, reading, and following them live.",
    "05 - Bank": "Memory banks: memories of agents, permissions, recall and erasing.",
    "06 - Conversation": "Private conversations: several with an agent, titles, search, forks and erasing.",
    "Gateway": "The command bus itself, health, metrics, this document, and the audit log.",
    "API Keys": "Long-lived keys for programs, and sandbox keys for trials.",
    "Webhooks": "Signed events to your endpoints: types, endpoints, deliveries and their attempts.",
    "MCP": "Tool servers that your agents may use, and the gateway itself as an MCP server.",
    "Skills": "Skills that your agents may use.",
    "Documents": "Handing in documents, which MB_Load takes into a bank.",
    "Console": "The web console: its page, its session in a cookie, and hints of changes.",
    "A2A": "The open protocol A2A 1.0: agents' cards, and each agent through JSON-RPC and HTTP+JSON.",
    "AG-UI": "The open protocol AG-UI 1.0, by which front ends talk to agents.",
    "Rules": "Placeholders: they answer 501 until there are rules.",
    "OpenAI": "Agents as the models of OpenAI's API, for its clients: models, chat completions, responses.",
    "Operator": "For operators and auditors: users, roles and plans, suspension, stopped agents, the whole audit log.",
    "Internal": "For the operator of the gateway, with its secret.",
}


def introduction(bus: str) -> str:
    """Return the introduction for a gateway with its command bus at this path."""
    return _INTRODUCTION.format(bus=f"http://127.0.0.1:8000{bus}")


def tags() -> list[Schema]:
    """Return the tags of all groups, in the document's order.

    Raises:
        KeyError: a group has no description in this file.
    """
    return [{"name": tag, "description": _TAGS[tag]} for tag in (*GROUPS.values(), *ROUTE_TAGS)]
