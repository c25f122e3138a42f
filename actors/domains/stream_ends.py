"""The ends of streams that units of actors cause: each node ends those of its own readers."""

from collections.abc import Awaitable, Sequence

from actors.agents.messages import MembersDestroyed
from actors.domains.messages import DOMAIN, DomainViewer, ReadDomain, StreamsEnded
from actors.domains.streams import Feed, Reader, Streams, Whom
from actors.errors import NotFound
from actors.runtime.directory import Directory
from actors.sessions.messages import CredentialsEnded
from persistence import domains
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
        readers = [reader for domain_id in gone.domain_ids for reader in streams.readers_of(domain_id)]
        return _end_outsiders(directory, store, readers) if readers else None

    directory.listen(StreamsEnded, of_domain)
    directory.listen(CredentialsEnded, of_credentials)
    directory.listen(MembersDestroyed, of_outsiders)


async def _end_outsiders(directory: Directory, store: Store, readers: Sequence[Reader]) -> None:
    """End the streams of readers without a member left in their domain."""
    for reader in readers:
        try:
            view = await directory.ask(DOMAIN, reader.domain_id, ReadDomain(DomainViewer(reader.user_id)))
        except NotFound:
            there = await store.fetch(domains.by_id(reader.domain_id))
            reader.end("agent destroyed" if there else "domain destroyed")
        else:
            if not view.is_member:
                reader.end("agent destroyed")
