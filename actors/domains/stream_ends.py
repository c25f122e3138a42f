"""The ends of streams that units of actors cause: each node ends those of its own readers."""

from collections.abc import Awaitable, Sequence

from actors.agents.messages import MembersDestroyed
from actors.domains.membership import MEMBER, Membership
from actors.domains.messages import StreamsEnded
from actors.domains.streams import Feed, Streams, Whom
from actors.runtime.directory import Directory
from actors.sessions.messages import CredentialsEnded
from persistence import domains, zones
from persistence.store import Store


def end_streams(directory: Directory, store: Store, streams: Streams, feed: Feed) -> None:
    """End streams of this process from now on when that is announced."""

    def of_domain(over: StreamsEnded) -> None:
        feed.end(over.reason, over.whom, over.after)

    def of_credentials(over: CredentialsEnded) -> None:
        whom = Whom(
            user_id=over.user_id,
            credential_ids=over.ids,
            but_credential_id=over.but_id,
            sessions_only=over.sessions_only,
        )
        feed.end(over.reason, whom)

    def of_outsiders(gone: MembersDestroyed) -> Awaitable[None] | None:
        followed = [domain_id for domain_id in gone.domain_ids if streams.readers_of(domain_id)]
        return _end_outsiders(store, streams, followed) if followed else None

    directory.listen(StreamsEnded, of_domain)
    directory.listen(CredentialsEnded, of_credentials)
    directory.listen(MembersDestroyed, of_outsiders)


async def _end_outsiders(store: Store, streams: Streams, domain_ids: Sequence[str]) -> None:
    """End the streams of readers without a member left in their domain.

    The store knows; the domain's actor may be on a node that learns of the agent's end only after this one. As with
    who is kicked, what was said so far is theirs.
    """
    for domain_id in domain_ids:
        rows = await store.fetch(domains.memberships(domain_id))
        users = {row.owner_id for row in rows if Membership(row.state) is MEMBER}
        outsiders = [reader for reader in streams.readers_of(domain_id) if reader.user_id not in users]
        if outsiders:
            there = await store.fetch(domains.by_id(domain_id))
            (newest,) = await store.fetch(zones.last_number(domain_id))
            for reader in outsiders:
                if reader.last < newest:
                    reader.fall_behind()  # some of it may not have been published yet
                reader.end("agent destroyed" if there else "domain destroyed", newest)
