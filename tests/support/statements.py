"""Calls of every function of persistence/ that makes statements, in an order in which each finds the rows it is about.

Arguments stand for every combination that gives another text. `SECTIONS` is run from its beginning on an empty store.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from persistence import (
    accounts,
    agents,
    audit,
    banks,
    censoring,
    conversation_copies,
    conversation_search,
    conversations,
    credentials,
    deleted_responses,
    deliveries,
    delivery_log,
    documents,
    domains,
    endpoints,
    events,
    failed_runs,
    graph,
    idempotency_records,
    index_removal,
    logon_places,
    master_key,
    memories,
    offers,
    own_conversations,
    push_configs,
    quotas,
    quotes,
    reindexing,
    run_keys,
    runs,
    search_index,
    skills,
    tasks,
    tool_servers,
    users,
    zones,
)
from persistence.agents import AgentChanges, AgentRow
from persistence.audit import Act
from persistence.banks import BankChanges, BankRow
from persistence.conversation_copies import Copied
from persistence.conversation_search import Stretch
from persistence.conversations import MessageRow
from persistence.credentials import SessionRow
from persistence.deliveries import Recovery, ResultRow
from persistence.documents import DocumentRow
from persistence.domains import DomainChanges, DomainRow, ZoneRow
from persistence.endpoints import EndpointRow
from persistence.events import EventRow
from persistence.failed_runs import FailedRun
from persistence.idempotency_records import IdempotencyRow
from persistence.memories import Choice, MemoryRow, Part
from persistence.own_conversations import Used
from persistence.push_configs import PushConfigRow
from persistence.search_index import DONE, IndexedText
from persistence.skills import SkillRow
from persistence.store import Query, Write
from persistence.tasks import Chosen, TaskRow
from persistence.tool_servers import ToolServerRow
from persistence.users import NO_PASSWORD, UserRow

Find = Callable[[str], list[tuple[Any, ...]]]
"""Runs a plain read in the store at hand, for what a store numbers by itself."""


class Step(NamedTuple):
    """A call: the function or constant, and what makes its statements.

    `alike` gives what of a row is the same in two stores.
    """

    of: Callable[..., Any] | Query[Any] | Write
    made: Callable[[Find], Query[Any] | tuple[Write, ...]]
    alike: Callable[[Any], Any]


def same(row: Any) -> Any:
    return row


def call(of: Callable[..., Any], *args: Any, alike: Callable[[Any], Any] = same, **named: Any) -> Step:
    """Call a function; an argument that is a function itself is given `find` and returns the argument."""

    def made(find: Find) -> Any:
        result = of(*(arg(find) if callable(arg) else arg for arg in args), **named)
        return (result,) if isinstance(result, Write) else result

    return Step(of, made, alike)


def constant(of: Query[Any] | Write) -> Step:
    """Take a statement as it is."""
    return Step(of, lambda _: (of,) if isinstance(of, Write) else of, same)


ADA = UserRow("usr_1", "Ada", "writes", "blue", "hash", "free", None, 10)
BOB = UserRow("usr_2", "bob", None, None, "hash", "enterprise", 500, 11, development_plan=True)
SANDBOX = UserRow("usr_3", "sandbox-1", None, None, NO_PASSWORD, "builder", None, 12)
EVE = UserRow("usr_4", "Éve", None, None, "hash", "free", None, 12, development_plan=True)
SCOUT = AgentRow("agt_1", "usr_1", "Ada", "Scout", "looks", None, "public", True, 20, 20)
MULE = AgentRow("agt_2", "usr_2", "bob", "mule", "", "grey", "domain", False, 21, 21)
OWL = AgentRow("agt_3", "usr_2", "bob", "owl", "", None, "bank", True, 22, 22)
HIDDEN = AgentRow("agt_4", "usr_4", "Éve", "_Hidden", "", None, "agent", True, 23, 23)
BRIEF = AgentRow("agt_5", "usr_1", "Ada", "brief", "", None, "agent", False, 24, 24)
HOME = DomainRow("dom_1", "usr_1", "Ada", "agt_1", "Scout", "Home", "ours", None, "public", 30, 30)
AWAY = DomainRow("dom_2", "usr_2", "bob", "agt_2", "mule", "away", "", "x", "domain", 31, 31)
CLUB = DomainRow("dom_3", "usr_2", "bob", "agt_3", "owl", "club", "", None, "bank", 32, 32)
LOBBY, ATTIC, CELLAR = ZoneRow("zon_1", "Lobby", 33), ZoneRow("zon_2", "attic", 34), ZoneRow("zon_3", "cellar", 34)
NOTES = BankRow(0, "bnk_1", "usr_1", "Ada", "Notes", "all", "public", 0, 40, 40, 101)
FACTS = BankRow(0, "bnk_2", "usr_2", "bob", "facts", None, "domain", 0, 41, 41, 102)
SHELF = BankRow(0, "bnk_3", "usr_2", "bob", "shelf", None, "bank", 0, 42, 42, 103)
BRIEFLY = BankRow(0, "bnk_4", "usr_1", "Ada", "briefly", None, "agent", 0, 42, 42, 104)
OTHER_SIDE = '"the ""far"" side" of a ? with :colons, @macros(…) and a \\ in \'it\''
MOON = MemoryRow(1, "mem_1", "moon", f"The moon: {OTHER_SIDE}.", "agt_1", "Scout", "usr_1", 0, 50, 50)
SUN = MemoryRow(2, "mem_2", "sun", "The sun is near. Łódź, 東京 😀", "agt_2", "mule", "usr_2", 0, 51, 51)
BOOK = tuple(
    MemoryRow(2 + n, f"mem_{2 + n}", f"book/{n}", f"Page {n} of the book.", "agt_1", "Scout", "usr_1", 0, 52, 52)
    for n in (1, 2, 3)
)
STAR = MemoryRow(6, "mem_6", "star", "A star is a sun.", "agt_3", "owl", "usr_2", 0, 53, 53)
BRIEF_NOTE = MemoryRow(7, "mem_7", "note", "A note.", None, None, None, 0, 54, 54)
DOCUMENT = DocumentRow(1, "doc_1", "usr_1", "book", "text/plain", {"of": "é"}, 60, "queued", None, 0, 0, 60, 60)
LETTER = DocumentRow(2, "doc_2", "usr_1", "letter", "text/plain", None, 60, "queued", None, 0, 0, 61, 61)
SCRAP = DocumentRow(3, "doc_3", "usr_1", "scrap", "text/markdown", None, 60, "queued", None, 0, 0, 62, 62)
TOKEN, KEY, KEY_2, PLACE = b"\x00token", b"\x00key\xff", b"key 2", b"\x7f\x00\x00\x01"
SESSION = SessionRow("ses_1", "usr_1", "Ada", TOKEN, 70, 70)
LATER = SessionRow("ses_2", "usr_1", "Ada", b"2", 71, 90, agent_id="agt_1")
API_KEY = SessionRow("key_1", "usr_1", "Ada", b"3", 72, 72, kind="key", name="deploy", prefix="pk_", expires_at=99)
API_KEY = replace(API_KEY, scopes='{"services": ["AP_*"]}', day_limit=7)
OTHERS = tuple(replace(SESSION, id=f"ses_{n}", token_hash=b"%d" % n, last_used_at=n) for n in (4, 5, 6, 7))
HOOK = EndpointRow(1, "whe_1", "usr_1", "https://a/", (), True, False, "all", b"\x01sealed", None, None, 80, 80)
SOME = EndpointRow(2, "whe_2", "usr_1", "https://b/", ("quota.*", "x.y"), True, False, None, b"", None, None, 81, 81)
OFF = EndpointRow(3, "whe_3", "usr_1", "https://c/", (), False, False, None, b"", "gone", 5, 82, 82)
SKILL = SkillRow("fold", "folds", "MIT", None, {"v": "1é"}, ["Read", "Write"], [], 90)
TASKS = (
    Chosen("usr_1", "agt_1", []),
    Chosen("usr_1", "agt_1", ["msg_3"], 1, "completed", 102),
    Chosen("usr_2", "agt_1", [], state="failed"),
    Chosen("usr_2", "agt_1", ["msg_5"], state="working", since=1),
    Chosen("usr_2", "agt_1", ["msg_5"], 2),
    Chosen("usr_2", "agt_1", [], 2, since=105),
    Chosen("usr_1", "agt_1", [], 1, "cancelled"),
)
PUSHES = (
    PushConfigRow("msg_1", "a", 1, b"\x01sealed", 120, 0, 110),
    PushConfigRow("msg_1", "b", 1, b"\x02", 121, 0, 111),
    PushConfigRow("msg_5", "a", 2, b"\x03", 122, 1, 112),
    PushConfigRow("msg_1", "b", 1, b"\x04", 123, 5, 113),
)
FAILED_RUN = FailedRun("msg_1", 5001, 502, "The engine failed: it's tired.", 150)
KEPT = IdempotencyRow(b"\x02print", 200, b"\x03sealed", "msg_1")


def source(quote: str) -> dict[str, str]:
    return {"bank": "Notes", "name": "moon", "quote": quote}


def sources(*quoted: str) -> str:
    return json.dumps([source(quote) for quote in quoted], ensure_ascii=False, separators=(",", ":"))


def first(sql: str) -> Callable[[Find], Any]:
    """Return an argument that a store gives: the first column of a read's first row."""
    return lambda find: find(sql)[0][0]


def with_sources(row: MessageRow) -> Any:
    """Return a message with its sources read, because PostgreSQL puts blanks into JSON."""
    return row._replace(sources=None), row.sources and json.loads(row.sources)


def task_with_sources(row: TaskRow) -> Any:
    """Return a run with its reply's sources read."""
    return row._replace(reply=None), row.reply and with_sources(row.reply)


def shortened(row: Any) -> Any:
    """Return a delivery's row without the random end of its id."""
    return row._replace(id=row.id[:20])


def every(sql: str) -> Callable[[Find], list[Any]]:
    return lambda find: [row[0] for row in find(sql)]


def term(name: str) -> Callable[[Find], int]:
    return first(f"SELECT number FROM vocabulary WHERE collection = 101 AND term = '{name}'")


def weights(**terms: float) -> Callable[[Find], list[tuple[int, float]]]:
    return lambda find: [(term(name)(find), weight) for name, weight in terms.items()]


def terms(*words: str) -> Callable[[Find], list[int]]:
    return lambda find: [term(word)(find) for word in words]


def matched(*args: Any) -> Step:
    return call(search_index.matches, 101, *args, alike=lambda found: found._replace(term=bool(found.term)))


CHOICES = tuple(
    Choice(name, author, owner) for name, author, owner in product((None, "book"), (None, "agt_1"), (None, "usr_1"))
)
MANY = Choice(author_id="agt_1", many=True)

PEOPLE = (
    *(call(users.insert, user) for user in (ADA, BOB, SANDBOX, EVE)),
    call(users.insert, replace(ADA, id="usr_9", name="ADA")),
    call(users.update, replace(EVE, description="d", profile="p", secret_hash="h", development_plan=False)),
    call(users.update, replace(EVE, id="usr_9")),
    call(users.update, replace(SANDBOX, role="auditor", suspended_at=13)),
    *(call(users.by_id, id) for id in ("usr_1", "usr_2", "usr_9")),
    call(users.id_by_name, "ADA"),
    call(users.on_development_plan, 5),
    call(quotas.of_user, "usr_2"),
    *(call(quotas.reserve, id, 20_000, 64, 80) for id in ("usr_1", "usr_2", "usr_9", "usr_1")),
    call(quotas.of_user, "usr_1"),
    *(call(agents.insert, agent) for agent in (SCOUT, MULE, OWL, HIDDEN, BRIEF)),
    call(agents.insert, replace(SCOUT, id="agt_9")),
    call(agents.insert, replace(SCOUT, id="agt_9", name="new", owner_id="usr_9")),
    call(agents.update, "agt_1", AgentChanges(None, "looks", None, None), 25),
    call(agents.update, "agt_1", AgentChanges("MULE", None, None, None), 25),
    call(agents.update, "agt_4", AgentChanges("hidden", "h", "p", "agent"), 25),
    call(agents.set_online, "agt_5", True, 26),
    call(agents.set_stopped, "agt_5", 26),
    call(agents.by_id, "agt_5"),
    call(agents.set_stopped, "agt_5", None),
    call(agents.set_stopped, "agt_9", None),
    call(agents.still_there, "agt_1"),
    call(agents.still_there, "agt_9"),
    *(call(users.add_to_roster, "usr_1", id, 27) for id in ("agt_2", "agt_3", "agt_5", "agt_9")),
    call(users.remove_from_roster, "usr_1", "agt_5"),
    call(users.roster, "usr_1"),
    call(domains.insert, HOME),
    call(domains.insert, AWAY),
    call(domains.insert, CLUB),
    call(domains.insert, replace(HOME, id="dom_9", founder_id="agt_9", name="nobody's")),
    call(domains.insert, replace(HOME, id="dom_9", name="AWAY")),
    call(domains.update, "dom_1", DomainChanges("home", "ours", None, None), 35),
    call(domains.update, "dom_2", DomainChanges("Away", "far", "y", "domain"), 35),
    *(call(domains.insert_zone, "dom_1", zone) for zone in (LOBBY, ATTIC, CELLAR)),
    call(domains.insert_zone, "dom_9", replace(LOBBY, id="zon_9")),
    call(domains.put_membership, "dom_1", "agt_1", "member", 36),
    call(domains.put_membership, "dom_1", "agt_2", "invited", 36),
    call(domains.put_membership, "dom_1", "agt_2", "member", 37),
    call(domains.put_membership, "dom_2", "agt_2", "member", 37),
    call(domains.put_membership, "dom_1", "agt_4", "banned", 37),
    call(domains.put_membership, "dom_1", "agt_5", "member", 37),
    call(domains.put_membership, "dom_1", "agt_9", "member", 37),
    call(domains.delete_membership, "dom_1", "agt_5"),
    call(domains.by_id, "dom_2"),
    call(domains.id_by_name, "HOME"),
    call(domains.memberships, "dom_1"),
    call(domains.memberships_after, "dom_1", "hidden", 5),
    call(domains.zones, "dom_1"),
    call(domains.names_of, ("dom_1", "dom_9")),
    call(domains.of_agent, "agt_2"),
    call(domains.founded_by, "agt_1"),
    call(domains.of_owner, "usr_2"),
    call(domains.names_of_agent, "agt_2", "usr_1"),
    *(call(domains.zones_of_member, "usr_1", after, 9) for after in (("", ""), ("home", "attic"))),
    *(call(domains.names_of_member, "usr_1", prefix, 9) for prefix in ("", "HO")),
    call(domains.visible_to, "usr_1", "", "", 9, ["dom_1"]),
    *(call(domains.visible_to, user, prefix, "", 9) for user, prefix in (("usr_1", ""), ("usr_4", ""), ("usr_1", "A"))),
    *(call(domains.shown_by_sharing, id, "usr_1") for id in ("dom_1", "dom_2")),
    *(call(domains.visible_without, id, agent, "usr_1") for id in ("dom_1", "dom_2") for agent in ("agt_1", "agt_2")),
    call(agents.by_id, "agt_1"),
    call(agents.id_by_name, "SCOUT"),
    *(call(agents.opened_to, id, "usr_1") for id in ("agt_1", "agt_2", "agt_3", "agt_4")),
    call(agents.public, "", 9),
    call(agents.public, "scout", 9),
    *(call(agents.listed_for, user, prefix, "", 9) for user, prefix in (("usr_1", ""), ("usr_1", "mU"), ("usr_2", ""))),
    call(agents.listed_for, "usr_1", "", "", 9, ["agt_1", "agt_9"]),
    call(agents.visible_of, "usr_2", "usr_1", "", "", 9),
    call(agents.visible_of, "usr_2", "usr_1", "", "", 9, []),
    call(agents.visible_of, "usr_1", "usr_1", "s", "a", 9),
    call(agents.online_members_named, "dom_1", ["SCOUT", "mule", "é"]),
    call(audit.insert, "usr_1", 38, "ses_1", "127.0.0.1", "AP_Create", '{"agent": "Scout"}', 0, "req_1"),
    call(audit.insert, "usr_9", 38, "ses_1", "127.0.0.1", "AP_Create", "{}", 0, "req_2"),
    call(audit.insert, "usr_1", 39, "ses_1", "::1", "AP_Update", "{}", 1001, "req_3"),
    call(audit.page, "usr_1", 0, None, 2**62, 9),
    call(audit.page, "usr_1", 39, "AP_Update", 2**62, 9),
    *(
        call(write, Act(at, "ses_1", "::1", "setRole", "{}", code, "req_4", name))
        for write, name, at, code in (
            (audit.insert_act, "Ada", 39, 0),
            (audit.insert_act, None, 39, 0),
            (audit.insert_read, "Ada", 40, 0),
            (audit.insert_refused, "Ada", 40, 0),
            (audit.insert_refused, "Ada", 40, 2003),
            (audit.insert_refused, "Ada", 41, 2003),
            (audit.insert_read, None, 70_000, 0),
            (audit.insert_read, None, 70_001, 0),
        )
    ),
    *(call(audit.page_of_all, 39, service, 2**62, 9) for service in (None, "setRole")),
    *(call(accounts.by_name, name) for name in ("ADA", "nobody")),
    *(
        call(accounts.listed, "", role, ["ada"], suspended, "", 9)
        for role, suspended in product((None, "user", "auditor", "operator"), (None, True, False))
    ),
    call(accounts.listed, "B", None, [], None, "a", 9),
    call(master_key.keep, b"\x00proof"),
    constant(master_key.PROOF),
    call(logon_places.put, "usr_1", PLACE, 40),
    call(logon_places.put, "usr_1", PLACE, 41),
    *(call(logon_places.put, "usr_2", bytes([n]), 42 + n) for n in range(logon_places.MAX_PLACES + 2)),
    call(logon_places.put, "usr_9", PLACE, 41),
    call(logon_places.is_known, "ada", PLACE, 41),
    call(logon_places.is_known, "ada", PLACE, 42),
    call(logon_places.delete_older, 42),
)

CREDENTIALS = (
    *(call(credentials.insert, session) for session in (SESSION, LATER, API_KEY, *OTHERS)),
    call(credentials.insert, replace(SESSION, id="ses_9", user_id="usr_9", token_hash=b"9")),
    call(credentials.touch, "ses_1", 73),
    call(credentials.select_agent, "ses_1", "agt_1"),
    call(credentials.select_agent, "ses_1", "agt_9"),
    call(credentials.select_agent, "ses_2", None),
    call(credentials.select_zone, "ses_1", "dom_1", "zon_1"),
    call(credentials.select_zone, "ses_9", "dom_1", "zon_1"),
    call(credentials.by_id, "ses_1"),
    call(credentials.by_id, "key_1"),
    call(credentials.ids_by_token_hash, TOKEN),
    call(credentials.by_token_hash, TOKEN),
    call(credentials.keys_of, "usr_1"),
    call(credentials.ids_of_user, "usr_1"),
    call(credentials.ids_used_since, "usr_1", 72),
    call(credentials.of_user, "usr_1", "ses_1", 0, 2),
    call(users.owned, "usr_1"),
    call(users.sandboxes_unused_since, 100),
    call(credentials.unselect_agent, "agt_1", "usr_1"),
    call(accounts.by_name, "ada"),
    call(quotas.of_key, "key_1"),
    *(call(quotas.reserve_for_key, id, day, 9) for id, day in (("key_1", 20), ("key_1", 21), ("key_9", 21))),
    call(quotas.of_key, "key_1"),
    call(credentials.delete, "ses_4"),
    call(credentials.delete_several, ["ses_5", "ses_9"]),
    call(credentials.delete_unused_since, 7),
    call(credentials.delete_others, "usr_1", "ses_1"),
    call(credentials.delete_sessions, "usr_2"),
    call(credentials.delete_key, "ses_1", "usr_1"),
    call(credentials.delete_key, "key_1", "usr_1"),
    call(credentials.insert, replace(API_KEY, id="key_2")),
    call(quotas.reserve_for_key, "key_2", 21, 9),
)

TALK = (
    call(conversations.begin, 1, "usr_1", "agt_1"),
    call(conversations.begin, 2, "usr_2", "agt_1"),
    call(conversations.append, 1, 1, "msg_1", "user", "Ada", f"Hello, {OTHER_SIDE}", None, 100),
    call(conversations.append, 1, 2, "msg_2", "agent", "Scout", "You said: far", sources("far", "near", "él"), 101),
    call(conversations.append, 1, 3, "msg_3", "user", "Ada", "Again?", None, 102),
    call(conversations.append, 1, 4, "msg_4", "agent", "Scout", "far again", sources("far"), 103),
    call(conversations.append, 2, 1, "msg_5", "user", "bob", "", None, 104),
    call(conversations.append, 9, 1, "msg_9", "user", "bob", "", None, 104),
    call(conversations.append, 1, 4, "msg_9", "user", "bob", "", None, 104),
    call(conversations.between, "agt_1", "usr_1"),
    call(conversations.agent_summary, "agt_1"),
    call(conversations.agent_summary, "agt_2"),
    call(conversations.page_before, 1, 3, 9),
    call(conversations.page_after, 1, 2, 9),
    call(conversations.at, 1, [1, 3, 8]),
    call(conversations.begin_other, 3, "usr_1", "agt_1"),
    call(conversations.begin_other, 4, "usr_1", "agt_1", title="Trip", at=99, opening="ab", cut=2, scope="cd"),
    call(conversations.begin_other, 4, "usr_1", "agt_1"),
    call(conversations.begin_other, 5, "usr_9", "agt_1"),
    call(conversations.begin, 6, "usr_1", "agt_1"),
    call(conversations.append_marked, 3, 1, "msg_6", "user", "Ada", "So?", None, 105, "imported", None),
    call(conversations.append_marked, 3, 2, "msg_7", "agent", "Scout", "far", None, 106, "cancelled", None),
    call(conversations.append_marked, 3, 3, "msg_8", "agent", "Scout", "so far", None, 107, None, 1),
    call(conversations.append_marked, 3, 4, "msg_9", "agent", "Scout", "so far", None, 107, "lost", 1),
    call(conversations.append_marked, 9, 1, "msg_9", "agent", "Scout", "so far", None, 107, None, 1),
    call(conversations.mark_cancelled, 3, 1),
    call(conversations.numbered, 3, "agt_1", "usr_1"),
    call(conversations.numbered, 3, "agt_2", "usr_1"),
    call(conversations.of_user, 1, "usr_1"),
    call(conversations.of_user, 3, "usr_1"),
    call(conversations.of_user, 3, "usr_2"),
    call(conversations.default_of, "agt_1", "usr_1"),
    call(conversations.opened_with, "usr_1", "agt_1", "ab", "cd", 2, 2),
    call(conversations.opened_with, "usr_1", "agt_1", "", "", 4, 4),
    call(conversations.opened_with, "usr_1", "agt_1", "", "", 5, 7),
    call(conversations.bind, "usr_1", "agt_1", "thread", 3),
    call(conversations.bind, "usr_1", "agt_1", "thread", 4),
    call(conversations.bind, "usr_1", "agt_1", "other", 9),
    call(conversations.bind, "usr_1", "agt_1", "ag-ui cnv_1", 4),
    call(conversations.bound_to, "usr_1", "agt_1", "thread"),
    call(conversations.bound_to, "usr_2", "agt_1", "thread"),
    call(conversations.place_bound_to, "usr_1", "agt_1", "thread"),
    call(conversations.place_bound_to, "usr_2", "agt_1", "thread"),
    call(conversations.reply_to, 1, 1),
    call(conversations.reply_to, 1, 4),
    call(conversations.reply_to, 3, 1),
    call(run_keys.remember, "key", "msg_1", 1, "print", 100),
    call(run_keys.remember, "key", "msg_3", 1, "print", 102),
    call(run_keys.remember, "key", "msg_3", 1, "print", 103),
    call(run_keys.remember, "key", "msg_9", 9, "print", 103),
    call(run_keys.name, "name", "msg_1", 1),
    call(run_keys.show, "m-1", "msg_1", 1),
    call(run_keys.show, "m-9", "msg_9", 9),
    call(run_keys.shown, ["msg_1", "msg_3", "msg_9"]),
    call(run_keys.shown, []),
    call(run_keys.of_key, "key", 100),
    call(run_keys.of_key, "key", 103),
    *(call(tasks.page, chosen, None, 9, alike=task_with_sources) for chosen in TASKS),
    call(tasks.page, TASKS[0], (103, "msg_3"), 1, alike=task_with_sources),
    *(call(tasks.count, chosen) for chosen in TASKS),
    call(tasks.client_ids, 4, "msg_3"),
    call(tasks.client_ids, 1, "msg_1"),
    *(call(push_configs.put, config, 2) for config in PUSHES),
    call(push_configs.put, replace(PUSHES[0], id="c"), 2),
    call(push_configs.put, replace(PUSHES[0], conversation_id=9, message_id="msg_9"), 2),
    call(push_configs.of_task, "msg_1", "a", 9),
    call(push_configs.with_id, "msg_1", "a"),
    call(push_configs.due_at, 130, ("", ""), 9),
    call(push_configs.due_at, 130, ("msg_1", "a"), 1),
    call(push_configs.due_at, 130, ("", ""), 9, ["usr_1"]),
    call(push_configs.attempted, PUSHES[0], 140),
    call(push_configs.attempted, PUSHES[1], None),
    call(push_configs.with_id, "msg_1", "a"),
    call(push_configs.with_id, "msg_1", "b"),
    call(push_configs.delete, "msg_1", "b"),
    call(push_configs.delete, "msg_1", "b"),
    call(run_keys.forget, "key", 102),
    call(deleted_responses.insert, "msg_1", 1),
    call(deleted_responses.insert, "msg_1", 1),
    call(deleted_responses.insert, "msg_9", 9),
    call(deleted_responses.of_message, "msg_1"),
    call(deleted_responses.of_message, "msg_2"),
    call(failed_runs.remember, FAILED_RUN, 1),
    call(failed_runs.remember, FAILED_RUN._replace(internal_code=5003, http_code=503, note="Full.", at=None), 1),
    call(tasks.page, TASKS[0], None, 9, alike=task_with_sources),
    call(failed_runs.remember, FAILED_RUN, 1),
    call(failed_runs.remember, FAILED_RUN._replace(message_id="msg_9"), 9),
    call(failed_runs.of_message, "msg_1"),
    call(failed_runs.of_message, "msg_9"),
    call(tasks.page, TASKS[0], None, 9, alike=task_with_sources),
    call(failed_runs.forget, "msg_1"),
    call(failed_runs.of_message, "msg_1"),
    call(failed_runs.remember, FAILED_RUN._replace(message_id="msg_3"), 1),
    call(failed_runs.remember, FAILED_RUN._replace(message_id="msg_5"), 2),
    call(push_configs.due_at, 130, ("", ""), 9),
    *(call(tasks.page, chosen, None, 9, alike=task_with_sources) for chosen in TASKS),
    call(run_keys.delete_older, 101),
    call(run_keys.of_key, "key", 0),
    call(agents.destroyed, "agt_1"),
    call(agents.destroyed, "agt_9"),
    call(runs.of_message, "usr_1", "msg_3"),
    call(runs.of_message, "usr_2", "msg_3"),
    call(runs.of_message, "usr_1", "msg_6"),
    call(conversations.message, "usr_1", "msg_3"),
    call(conversations.message, "usr_2", "msg_3"),
    call(conversations.replies_to, "usr_1", ["msg_3", "msg_6"]),
    call(conversations.replies_to, "usr_2", ["msg_3"]),
    call(conversations.agents_met_by, "usr_1"),
    call(conversations.unchanged, 1, [(1, f"Hello, {OTHER_SIDE}"), (3, "Again?")]),
    call(conversations.unchanged, 1, [(1, "Hello")]),
    *(
        call(zones.append, "zon_1", seq + 1, seq, f"msg_z{seq}", "agent", "Scout", f"far {seq}", quoted, 110 + seq, id)
        for seq, quoted, id in ((1, sources("far"), "agt_1"), (2, None, None), (3, sources("far", "near"), "agt_3"))
    ),
    call(zones.append, "zon_2", 6, 1, "msg_z4", "user", "Ada", "up", None, 115),
    call(zones.append, "zon_9", 7, 1, "msg_z5", "user", "Ada", "up", None, 115),
    call(zones.membership_changed, "dom_1", 1, '{"state": "member"}'),
    call(zones.membership_changed, "dom_1", 5, '{"state": "none"}'),
    call(zones.page_before, "zon_1", 3, 2),
    call(zones.page_after, "zon_1", 1, 9),
    call(zones.at, "zon_1", [1, 2]),
    call(zones.message, "zon_1", "msg_z2"),
    call(zones.unchanged, "zon_1", [(1, "far 1"), (2, "far 2")]),
    call(zones.unchanged, "zon_1", [(1, "far 2")]),
    call(zones.events_after, "dom_1", "zon_1", 1, 9),
    *(call(zones.last_number, id) for id in ("dom_1", "dom_2")),
    call(zones.last_numbers, ["dom_1", "dom_2", "dom_9"]),
    call(domains.delete_zone, "zon_2"),
    call(zones.last_number, "dom_1"),
    call(domains.zones, "dom_1"),
)

BANKS = (
    *(call(banks.insert, bank, "v1") for bank in (NOTES, FACTS, SHELF, BRIEFLY)),
    call(banks.insert, NOTES._replace(id="bnk_9", collection=109), "v1"),
    call(banks.insert, NOTES._replace(id="bnk_9", name="new", owner_id="usr_9", collection=109), "v1"),
    call(banks.update, "bnk_1", BankChanges(), 43),
    call(banks.update, "bnk_1", BankChanges("notes", "some", "public"), 44),
    call(banks.update, "bnk_9", BankChanges(), 44),
    call(banks.attach, "bnk_1", "agt_1", "admin", 45),
    call(banks.attach, "bnk_2", "agt_2", "admin", 45),
    call(banks.attach, "bnk_3", "agt_3", "read", 45),
    call(banks.attach, "bnk_3", "agt_3", "admin", 46),
    call(banks.attach, "bnk_1", "agt_5", "read", 46),
    call(banks.attach, "bnk_1", "agt_2", "none", 46),
    call(banks.attach, "bnk_1", "agt_9", "read", 46),
    call(offers.put, "bnk_1", "agt_3", "read", 47, ["read", "write", "admin"]),
    call(offers.put, "bnk_1", "agt_3", "write", 48, ["write", "admin"]),
    call(offers.put, "bnk_1", "agt_3", "write", 49, ["write", "admin"]),
    call(offers.put, "bnk_1", "agt_2", "read", 49, []),
    call(offers.put, "bnk_1", "agt_1", "read", 49, ["admin"]),
    call(offers.of_agent, "agt_3", 9),
    call(offers.offered_in, "bnk_1", "OWL"),
    call(offers.all_of_bank, "bnk_1"),
    call(offers.page_of_bank, "bnk_1", None, "", 3),
    *(
        call(list_around, user, 9)
        for user in ("usr_1", "usr_2", "usr_0")
        for list_around in (graph.around, graph.relations)
    ),
    call(graph.around, "usr_1", 1),
    call(offers.page_of_bank, "bnk_1", None, "mule attached", 3),
    call(offers.page_of_bank, "bnk_1", "MULE", "", 3),
    call(offers.withdraw, "bnk_1", "agt_2", ["write"]),
    call(offers.withdraw, "bnk_1", "agt_2", ["read", "write"]),
    call(offers.accept, "bnk_1", "agt_3", "read", 50),
    call(offers.accept, "bnk_1", "agt_3", "write", 50),
    call(offers.lower, "bnk_1", "agt_3", "read", ["write", "admin"]),
    call(banks.detach, "bnk_1", "agt_5"),
    call(banks.by_id, "bnk_1"),
    call(banks.id_by_name, "NOTES"),
    *(call(banks.opened_to, bank, user) for bank in ("bnk_1", "bnk_2", "bnk_3") for user in ("usr_1", "usr_4")),
    call(banks.listed_for, "usr_2", "", "", 9),
    call(banks.listed_for, "usr_2", "", "", 9, ["bnk_1"]),
    call(banks.visible_of, "usr_2", "usr_1", "", "a", 9, ["bnk_1"]),
    call(banks.visible_of, "usr_2", "usr_1", "", "a", 9),
    call(banks.visible_of, "usr_1", "usr_4", "no", "", 9),
    call(banks.of_agent, "agt_3", "usr_2", 9),
    call(banks.of_agent, "agt_3", "usr_2", 9, ["bnk_1"]),
    call(banks.recalled_by, "agt_3", "usr_2", 9),
    call(banks.recalled_by, "agt_3", "usr_2", 9, ["bnk_1"]),
    call(banks.shown_among, [1, 2, 3, 99], "agt_3", "usr_2"),
    *(call(domains.visible_to, "usr_1", "", "", 9), call(agents.opened_to, "agt_3", "usr_1")),
    call(conversations.agent_summary, "agt_1"),
)

DOCUMENTS = (
    call(documents.add, DOCUMENT, "Page 1 of the book. Page 2 of the book."),
    call(documents.add, DOCUMENT, "Page 1 of the book. Page 2 of the book."),
    call(documents.add, LETTER, "Dear Ada"),
    call(documents.add, SCRAP, f"It said: {MOON.text} Indeed."),
    call(documents.add, LETTER._replace(position=9, id="doc_9", user_id="usr_9"), ""),
    call(documents.by_id, "usr_1", "doc_1"),
    call(documents.by_name, "usr_1", "letter"),
    call(documents.listed, "usr_1", "", 9),
    call(documents.listed, "usr_1", "book", 1),
    call(documents.remove, "usr_2", "doc_3"),
    call(documents.next_waiting),
    call(documents.next_waiting, [0xF1, 0x1F]),
    call(documents.next_waiting, None, "usr_1"),
    call(documents.begin, "doc_1", 63),
    call(documents.finish, "doc_1", [str(row.text) for row in BOOK], 64),
    call(documents.finish, "doc_1", ["again"], 64),
    call(documents.fail, "doc_9", "gone", 64),
    call(documents.parts_of, "doc_1"),
    call(documents.still_whole, "doc_1"),
    *(call(memories.add, "bnk_1", row) for row in (MOON, SUN, STAR)),
    *(call(memories.add, "bnk_1", row, Part("doc_1", n, "book")) for n, row in enumerate(BOOK, 1)),
    call(memories.add, "bnk_1", MOON._replace(position=9, id="mem_9")),
    call(memories.add, "bnk_9", MOON._replace(position=9, id="mem_9")),
    call(memories.add, "bnk_4", BRIEF_NOTE),
    call(memories.replace, BRIEF_NOTE._replace(text="Another."), Part("doc_2", 1, None)),
    call(memories.replace, BRIEF_NOTE._replace(text="One more.", updated_at=55)),
    call(memories.replace, BRIEF_NOTE._replace(position=9)),
    call(memories.are_replaced, "bnk_1", "book", ["book/1"], 3),
    call(memories.are_replaced, "bnk_1", "moon", [], 2),
    *(call(memories.chosen, "bnk_1", choice) for choice in CHOICES),
    call(memories.replaced_by, "bnk_1", "book", ["book/1", "star"]),
    call(memories.page_after, "bnk_1", None, 1, 2),
    call(memories.page_after, "bnk_1", "book", 3, 2),
    call(memories.wrote_in, "bnk_1", "SCOUT"),
    call(memories.wrote_in, "bnk_1", "brief"),
    call(memories.at_positions, [1, 3, 9]),
    call(memories.uncensored_after, "bnk_1", 1, 2),
    call(memories.uncensored_positions, "bnk_1"),
    call(memories.uncensored_names, "bnk_1", "book", 9),
    call(banks.by_id, "bnk_1"),
)

INDEX = (
    call(search_index.of_bank, "bnk_1"),
    call(search_index.add, 101, [IndexedText(1, "moon", 0, ["moon", "far", "side", "far"])]),
    call(search_index.add, 101, [IndexedText(n, "book", n - 2, ["page", "book", f"p{n}"]) for n in (3, 4, 5)]),
    call(
        search_index.add, 101, [IndexedText(1, "moon", 0, ["moon", "far"]), IndexedText(2, "sun", 0, ["łódź", "東京"])]
    ),
    call(search_index.add, 101, [IndexedText(6, "star", 0, ["star", "sun", "far", "book"]), IndexedText(2, "", 0, [])]),
    call(search_index.add, 109, [IndexedText(6, "star", 0, ["star"])]),
    call(search_index.begin_for_bank, 110, "bnk_9", "v1"),
    call(search_index.begin_for_conversation, 201, 1, "v1"),
    call(search_index.begin_for_conversation, 202, 1, "v1"),
    call(search_index.begin_for_zone, 301, "zon_1", "v1"),
    call(search_index.begin_for_zone, 302, "zon_9", "v1"),
    call(search_index.add, 201, [IndexedText(1, "", 1, ["hello", "far"]), IndexedText(3, "", 2, ["again"])]),
    call(search_index.add, 301, [IndexedText(1, "", 1, ["far"])]),
    call(search_index.advance, 201, 0, 4),
    call(search_index.advance, 201, 0, 4),
    call(search_index.of_conversation, 1),
    call(search_index.of_zone, "zon_1"),
    call(search_index.remove, 201, 3),
    call(search_index.remove, 201, 3),
    call(search_index.frequencies, 101, ["far", "book", "東京", "none"], alike=lambda found: found._replace(number=0)),
    call(search_index.relatives, 101, ["p", "s"], 64, alike=lambda found: (found[0], found[1]._replace(number=0))),
    call(search_index.having, 101, ["far", "book", "none"], [1, 3, 6, 9]),
    call(search_index.documents_between, 101, 1, 9, 3),
    matched(weights(far=1.5, book=0.5), terms("far", "book"), 3.5, 1.3, 0.6, 5),
    matched(weights(far=1.5), terms("far", "star", "book"), 3.5, 1.3, 0.6, 5, 1, 2),
    matched(weights(far=1.5, book=0.5), terms("far", "book"), 3.5, 1.3, 0.6, 5, 1, 1, None, 1),
    matched(weights(far=1.0, book=1.0), terms("page"), 3.0, 1.0, 1.0, 5, 2, 1, [1, 2]),
    matched(weights(book=1.0), [], 3.5, 1.3, 0.6, 5, 1, 1, [2]),
    call(search_index.begin_anew, 104, "v1", DONE, "v2"),
    call(search_index.begin_anew, 104, "v1", DONE, "v2"),
    call(reindexing.banks_to_do, "v1"),
    call(reindexing.are_as_read, "bnk_1", [(1, str(MOON.text)), (2, str(SUN.text))]),
    call(reindexing.are_as_read, "bnk_1", [(1, str(SUN.text))]),
    call(reindexing.conversations_after, 0, 9),
    call(reindexing.zones_after, "", 9),
    call(reindexing.conversation, 1),
    call(reindexing.zone, "zon_1"),
)

KEPT_ANSWERS = (
    call(idempotency_records.begin, "ses_1", KEY, "usr_1", 200, 100, KEPT, None),
    call(idempotency_records.begin, "ses_1", KEY, "usr_1", 201, 100, replace(KEPT, message_id="msg_2"), None),
    call(idempotency_records.begin, "ses_1", KEY, "usr_1", 201, 100, replace(KEPT, message_id="msg_2"), "msg_1"),
    call(idempotency_records.keep, "ses_1", KEY, "usr_1", 202, 100, KEPT),
    call(idempotency_records.keep, "ses_1", KEY, "usr_1", 203, 100, KEPT),
    call(idempotency_records.keep, "ses_1", KEY, "usr_1", 204, 203, KEPT),
    call(idempotency_records.keep, "ses_1", KEY_2, "usr_1", 204, 203, replace(KEPT, status=None, answer=None)),
    call(idempotency_records.of_key, "ses_1", KEY, 100),
    call(idempotency_records.of_key, "ses_1", KEY_2, 100),
    *(call(quotes.quote, memory, 1, 2, n) for n, memory in enumerate((1, 2, 3))),
    call(quotes.quote, 1, 1, 4, 0, whole=True),
    call(quotes.quote, 1, 9, 4, 0),
    call(quotes.quote_in_zone, 1, "zon_1", 1, 0),
    call(quotes.quote_in_zone, 3, "zon_1", 3, 0, whole=True),
    call(quotes.echo, 1, [2, 4], 4, 0),
    call(quotes.echo_in_zone, "zon_1", [1, 2], 3, 0),
    call(quotes.quote_imported, 2, 3, 1, "[censored]"),
    call(quotes.quote_imported, 9, 3, 1, "[censored]"),
    call(quotes.repeated, "usr_1", ["You said: far", "far again", "Again?", "Hello"]),
    call(quotes.redacted, "usr_1", ["Again?", f"Hello, {OTHER_SIDE}"]),
    call(quotes.repeated, "usr_2", ["You said: far"]),
    call(idempotency_records.quote, [1], "ses_1", KEY),
    call(idempotency_records.quote, [1, 9], "ses_1", KEY),
    call(idempotency_records.quote, [9], "ses_1", KEY),
    call(idempotency_records.quote_alike, "conversation", 1, 2, "ses_1", KEY),
    call(idempotency_records.quote_alike, "zone", "zon_1", 1, "ses_1", KEY_2),
    call(idempotency_records.quote_alike, "conversation", 1, 2, "ses_1", b"none"),
    *(call(censoring.quoted_by, "bnk_1", choice) for choice in CHOICES),
    call(memories.censored_among, [1, 2, 3, 9]),
    call(idempotency_records.forget_notes, "ses_1", KEY_2),
    call(idempotency_records.show, ["agt_1", "dom_1", "zon_1", "bnk_1"], "ses_1", KEY),
    call(idempotency_records.show, ["agt_1", "bnk_1"], "ses_1", KEY),
    call(idempotency_records.redact_if_destroyed, "ses_1", KEY),
    call(idempotency_records.of_key, "ses_1", KEY, 100),
    call(idempotency_records.keep, "ses_1", b"key 4", "usr_1", 204, 203, KEPT),
    call(idempotency_records.show, ["agt_1", "zon_none"], "ses_1", b"key 4"),
    call(idempotency_records.redact_if_destroyed, "ses_1", b"key 4"),
    call(idempotency_records.redact_showing, "whe_none"),
    call(idempotency_records.of_key, "ses_1", b"key 4", 100),
)

_COPIES = [
    Copied(1, "msg_1", None, "msg_c1", None),
    Copied(2, "msg_2", sources("far", "near", "él"), "msg_c2", sources("far", "near", "él")),
]

OWN_TALK = (
    *(
        call(own_conversations.listed, "usr_1", agent, upto, after, 2)
        for agent, upto, after in product((None, ["agt_1"]), (2**62, 101), (None, Used(106, 1)))
    ),
    call(own_conversations.listed, "usr_2", ["agt_2", "agt_9"], 2**62, None, 9),
    call(own_conversations.set_title, 3, "usr_1", OTHER_SIDE, 108),
    call(own_conversations.set_title, 3, "usr_2", "Mine", 108),
    call(own_conversations.messages_between, "agt_1", "usr_1"),
    call(own_conversations.messages_between, "agt_2", "usr_1"),
    *(
        call(conversation_search.searched, "usr_1", agents_, number, 9)
        for agents_, number in ((None, None), (["agt_1"], None), (None, 3), (["agt_2"], 3))
    ),
    call(conversation_search.searched, "usr_2", None, 1, 9),
    call(conversation_search.messages_of, [Stretch(3, 1, 2), Stretch(1, 0, 1), Stretch(9, 0, 1)]),
    call(conversation_search.messages_at, "usr_1", [(3, 1), (1, 4), (2, 1), (3, 9)]),
    call(conversation_copies.begin, 7, 1, "usr_1", OTHER_SIDE),
    call(conversation_copies.begin, 8, 1, "usr_2", None),
    call(conversation_copies.begin, 8, 7, "usr_1", None),
    call(conversation_copies.to_copy, 1, 0, 4, 2),
    call(conversation_copies.to_copy, 1, 2, 3, 9),
    call(conversation_copies.add, 7, 1, _COPIES),
    call(conversation_copies.add, 9, 1, _COPIES),
    call(conversation_copies.add, 7, 1, [_COPIES[1]._replace(sources=sources("close"))]),
    call(conversation_copies.add, 7, 1, [_COPIES[0]._replace(id="msg_9")]),
    call(conversation_copies.cut_off, 7, 1, 1, ["msg_1"]),
    call(conversation_copies.cut_off, 7, 1, 4, ["msg_1", "msg_9"]),
    call(conversations.page_after, 7, 0, 9),
    call(conversations.of_user, 7, "usr_1"),
    call(conversations.numbered, 7, "agt_1", "usr_1"),
    call(conversations.numbered, 7, "agt_1", "usr_1", 1),
    call(conversation_copies.left_before, 8),
    call(conversation_copies.left_before, 7),
    call(conversation_copies.drop, 1),
    call(conversation_copies.finish, 7),
    call(conversation_copies.drop, 7),
    call(conversations.of_user, 7, "usr_1"),
    call(conversation_copies.begin, 8, 7, "usr_1", None),
    call(idempotency_records.keep, "ses_1", b"key 3", "usr_1", 204, 203, replace(KEPT, conversation_id=7)),
    call(idempotency_records.redact_if_erased, 7, "ses_1", b"key 3"),
    call(idempotency_records.of_key, "ses_1", b"key 3", 100),
    call(idempotency_records.redact_of_conversation, 7),
    call(idempotency_records.of_key, "ses_1", b"key 3", 100),
    call(idempotency_records.of_key, "ses_1", KEY, 100),
    call(own_conversations.erase, 3, "usr_2"),
    call(own_conversations.erase, 3, "usr_1"),
    call(own_conversations.erase, 3, "usr_1"),
    call(idempotency_records.redact_if_erased, 3, "ses_1", KEY),
    call(idempotency_records.of_key, "ses_1", KEY, 100),
    call(conversations.bound_to, "usr_1", "agt_1", "thread"),
)

CENSORED = (
    call(conversation_copies.begin, 9, 7, "usr_1", None),
    call(censoring.censor, "bnk_1", Choice("moon"), 300),
    call(conversations.page_after, 1, 0, 9, alike=with_sources),
    call(zones.page_after, "zon_1", 0, 9, alike=with_sources),
    call(documents.by_id, "usr_1", "doc_3"),
    call(idempotency_records.redact_if_censored, [9, 1], "ses_1", KEY),
    call(idempotency_records.of_key, "ses_1", KEY, 100),
    call(quotes.quote, 1, 1, 1, 0),
    call(quotes.echo, 1, [2], 3, 300),
    call(quotes.echo, 1, [2], 3, 301),
    call(quotes.redacted, "usr_1", ["Again?", f"Hello, {OTHER_SIDE}"]),
    call(quotes.quote_imported, 1, 1, 3, "[censored]"),
    call(quotes.pass_on, [1, 2], 3),
    call(quotes.pass_on, [9], 3),
    call(memories.remove_uncensored, 1),
    call(memories.remove_uncensored, 6),
    call(censoring.censor, "bnk_1", CHOICES[-1], 301),
    call(documents.parts_of, "doc_1"),
    call(documents.still_whole, "doc_1"),
    call(memories.counted, "bnk_1", MANY),
    call(memories.out_of_index, "bnk_1", MANY),
    call(censoring.censor, "bnk_1", MANY, 301),
    *(call(censoring.censor, "bnk_1", choice, 301) for choice in CHOICES[:-1]),
    call(memories.chosen, "bnk_1", Choice()),
    constant(censoring.DUE),
    constant(censoring.ERASURES_DUE),
    call(censoring.erased, 2),
    constant(censoring.ERASURES_DUE),
    call(idempotency_records.delete_older, 204),
    call(idempotency_records.delete_of_user, "usr_1"),
    call(memories.remove, "bnk_1", MANY),
    *(call(memories.remove, "bnk_1", choice) for choice in reversed(CHOICES)),
    call(banks.by_id, "bnk_1"),
)

WEBHOOKS = (
    *(call(endpoints.insert, endpoint, 3) for endpoint in (HOOK, SOME, OFF)),
    call(endpoints.insert, replace(OFF, number=9, id="whe_9"), 3),
    call(endpoints.insert, replace(OFF, number=9, id="whe_9", user_id="usr_9"), 3),
    call(endpoints.update, replace(OFF, description="off"), active_too=False),
    call(endpoints.update, replace(SOME, url="https://b/2", updated_at=83), active_too=True),
    call(endpoints.update, replace(SOME, number=9), active_too=True),
    call(endpoints.set_failing_since, 1, "https://a/", 84),
    call(endpoints.set_failing_since, 1, "https://a/", None),
    call(endpoints.set_failing_since, 2, "https://b/2", 84),
    call(endpoints.forget_failures, "usr_1"),
    call(endpoints.of_user, "usr_1"),
    call(endpoints.number_of, "usr_1", "whe_1"),
    call(endpoints.number_of, "usr_9", "whe_1"),
    call(endpoints.numbered, [1, 3, 9]),
    *(
        call(events.insert, EventRow(f"evt_{n}", user, kind, {"é": OTHER_SIDE * long}, 400 + n))
        for n, user, kind, long in (
            (1, "usr_1", "quota.warning", 1),
            (2, "usr_1", "x.y", 200),
            (3, "usr_1", "x.z", 1),
            (4, "usr_9", "x.z", 1),
        )
    ),
    call(deliveries.fan_out, "evt_1", "dlv_0123456789abcde1", "quota.*", 410),
    call(deliveries.fan_out, "evt_2", "dlv_0123456789abcde2", "x.*", 411),
    call(deliveries.fan_out, "evt_3", "dlv_0123456789abcde3", "x.*", 412),
    call(deliveries.waiting_endpoints, 0, 10),
    call(deliveries.waiting_with_users, 0, 10),
    call(deliveries.waiting_in_shard, "_1", alike=sorted),
    call(deliveries.waiting_of, ["usr_1", "usr_9", "usr_none"], alike=lambda rows: [sorted(row) for row in rows]),
    call(deliveries.due_first, [1, 2, 9], 2, alike=lambda rows: [shortened(row) for row in rows]),
    call(deliveries.due_first, [9], 2),
    call(events.after, "usr_1", 0, 9, alike=lambda row: row[:5]),
    call(
        events.after,
        "usr_1",
        first("SELECT place FROM events WHERE id = 'evt_1'"),
        1,
        alike=lambda row: row[:5],
    ),
    call(events.newest, "usr_1"),
    call(events.newest, "usr_none"),
    call(events.created_at, "usr_1", first("SELECT place FROM events WHERE id = 'evt_2'")),
    call(events.created_at, "usr_9", first("SELECT place FROM events WHERE id = 'evt_2'")),
    call(events.first_since, "usr_1", 401),
    call(events.first_since, "usr_1", 999),
    *(
        call(events.insert, EventRow(f"evt_{id}_{n}", "usr_1", kind, {"endpoint_id": id, "url": "https://a/"}, 99))
        for id in ("whe_1", "whe_2")
        for n, kind in enumerate(("webhook.endpoint.created", "webhook.endpoint.updated", "webhook.test"))
    ),
    call(events.insert, EventRow("evt_odd", "usr_1", "webhook.endpoint.created", {"endpoint_id": "whe_1", "a": 1}, 99)),
    call(events.forget_url, "usr_9", "whe_1"),
    call(events.forget_url, "usr_1", "whe_1"),
    call(events.after, "usr_1", 0, 99, alike=lambda row: (row[2], json.loads(row[4] or "{}").get("url", "none"))),
    call(deliveries.event_data, first("SELECT place FROM events WHERE id = 'evt_2'")),
    call(
        deliveries.record,
        [
            ResultRow(1, "succeeded", None, 1, 420, 200, 35, None, "ok é"),
            ResultRow(2, "retrying", 999, 1, 421, None, 35, "timeout", None),
            ResultRow(3, "exhausted", None, 1, 422, 500, 35, "status", "no"),
            ResultRow(99, "exhausted", None, 1, 422, 500, 35, "status", "no"),
        ],
    ),
    call(deliveries.cancel, 2, 9),
    call(deliveries.record, [ResultRow(2, "retrying", 999, 2, 423, None, 35, "timeout", None)]),
    *(
        call(delivery_log.listed_for, "usr_1", endpoint, kind, state, 99, 9, alike=shortened)
        for endpoint, kind, state in product((None, 1), (None, "x.y"), (None, "exhausted"))
    ),
    call(delivery_log.of_user, "usr_1", first("SELECT id FROM deliveries WHERE place = 2"), alike=shortened),
    call(delivery_log.attempts_of, [1, 2, 3]),
    call(deliveries.failed_since, 1, 0),
    call(deliveries.failed_since, 2, 0),
    call(deliveries.begin_recovery, 1, 0, 99),
    call(deliveries.next_recovery),
    call(deliveries.next_recovery, "_1"),
    call(deliveries.next_recovery, None, "usr_1"),
    constant(deliveries.RECOVERING),
    call(deliveries.to_recover, Recovery(1, 1, 0, 0, 99), 9),
    call(deliveries.recovered, Recovery(1, 1, 0, 0, 99), 3),
    call(deliveries.repeat, first("SELECT id FROM deliveries WHERE place = 3"), "dlv_new", 430),
    call(deliveries.repeat, "dlv_none", "dlv_none", 430),
    call(deliveries.repeat_all, every("SELECT place FROM deliveries ORDER BY place"), "dlv_0123456789abcde4", 431),
    call(deliveries.end_recovery, Recovery(1, 1, 0, 0, 99)),
    call(deliveries.failed_since, 1, 0),
    call(delivery_log.old_events, 0, 9),
    call(delivery_log.forget_events, [1, 2, 3], 999),
    call(deliveries.cancel, 1, 9),
    call(delivery_log.forget_events, [1, 3], 999),
    call(endpoints.disable, 1, "https://a/", "gone", 440),
    call(endpoints.disable, 1, "https://a/", "gone", 440),
    call(endpoints.delete, 1, 441),
    call(endpoints.delete, 1, 441),
    call(endpoints.delete, 3, 442),
    call(endpoints.number_of, "usr_1", "whe_1"),
    call(endpoints.drop_deleted),
    call(endpoints.of_user, "usr_1"),
)

LIBRARY = (
    call(skills.install, "usr_1", SKILL, "# Fold", {"b.txt": b"\x00b", "a/é": b""}, 1),
    call(skills.install, "usr_1", SKILL._replace(name="more"), "", {}, 1),
    call(skills.install, "usr_1", SKILL, "", {}, 9),
    call(skills.install, "usr_9", SKILL, "", {}, 9),
    call(skills.install, "usr_1", SKILL._replace(name="bare", license=None), "", {}, 9),
    call(skills.of_user, "usr_1"),
    call(skills.described, "usr_1"),
    call(skills.body_of, "usr_1", "fold"),
    call(skills.paths_of, "usr_1", "fold"),
    call(skills.file_of, "usr_1", "fold", "b.txt"),
    call(skills.uninstall, "usr_1", "fold"),
    call(skills.uninstall, "usr_1", "fold"),
    call(tool_servers.insert, ToolServerRow("mcp_1", "usr_1", "Clock", "clock", None, None, None, 500), 2),
    call(tool_servers.insert, ToolServerRow("mcp_2", "usr_1", "web", None, "https://w/", b"\x00h", "[]", 501), 2),
    call(tool_servers.insert, ToolServerRow("mcp_3", "usr_1", "third", "clock", None, None, None, 502), 2),
    call(tool_servers.insert, ToolServerRow("mcp_3", "usr_1", "CLOCK", "clock", None, None, None, 502), 9),
    call(tool_servers.keep_tools, "mcp_1", '[{"name": "now"}]'),
    call(tool_servers.by_id, "mcp_1"),
    call(tool_servers.by_id, "mcp_2"),
    call(tool_servers.id_by_name, "usr_1", "WEB"),
    call(tool_servers.ids_of, "usr_1"),
    call(tool_servers.delete, "mcp_1"),
)

KEPT_TO_THE_END = {b"key 5": "bnk_1", b"key 6": "agt_5", b"key 7": "dom_2", b"key 8": "zon_1", b"key 9": "agt_4"}

FAREWELL = (
    *(call(idempotency_records.keep, "ses_1", key, "usr_1", 600, 0, KEPT) for key in KEPT_TO_THE_END),
    *(call(idempotency_records.show, [id], "ses_1", key) for key, id in KEPT_TO_THE_END.items()),
    call(index_removal.clear_many, "bnk_1", "bank_id = ? AND name <> ?", ("bnk_1", "moon")),
    call(index_removal.clear_bank, "bnk_1"),
    call(banks.delete, "bnk_1"),
    call(banks.delete, "bnk_1"),
    *(call(idempotency_records.of_key, "ses_1", key, 0) for key in KEPT_TO_THE_END),
    call(agents.destroy, "agt_5", 600),
    call(agents.destroy, "agt_5", 600),
    call(domains.delete, "dom_2"),
    call(domains.leave_all, "agt_1"),
    call(domains.leave_all, "agt_4"),
    call(domains.leave_all_of, "usr_2"),
    call(domains.delete, "dom_1"),
    call(agents.destroy_all_of, "usr_2", 601),
    *(call(idempotency_records.of_key, "ses_1", key, 0) for key in KEPT_TO_THE_END),
    call(users.delete, "usr_2"),
    call(users.delete, "usr_2"),
    call(agents.destroy_all_of, "usr_1", 602),
    call(users.delete, "usr_1"),
)

SECTIONS: Mapping[str, tuple[Step, ...]] = {
    "people": PEOPLE,
    "credentials": CREDENTIALS,
    "talk": TALK,
    "banks": BANKS,
    "documents": DOCUMENTS,
    "index": INDEX,
    "kept answers": KEPT_ANSWERS,
    "own talk": OWN_TALK,
    "censored": CENSORED,
    "webhooks": WEBHOOKS,
    "library": LIBRARY,
    "farewell": FAREWELL,
}
