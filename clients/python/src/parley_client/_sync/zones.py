# Made by `make client` from parley_client/_async: don't edit.
"""The services of zones."""

from parley_client._sync.pages import Pages
from parley_client._sync.service import Services, body_of, entities, entries
from parley_client._sync.streams import ZoneStream
from parley_client.records import Message, Zone


class Zones(Services):
    """The services of zones."""

    def create(self, name: str, *, domain: str | None = None, idempotency_key: str | None = None) -> Zone:
        """Add a zone to a domain in which you have a member.

        Sends ZN_Create.

        Args:
            name: The new zone's name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; not taken yet in its domain.
            domain: The domain's name; the selected domain when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.zones.create("nightly", domain="observatory")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = self._client.send(
            "ZN_Create", body_of(target={"domain": domain}, vx={"name": name}), idempotency_key=idempotency_key
        )
        return answer.record(Zone)

    def destroy(
        self, zone: str | None = None, *, domain: str | None = None, idempotency_key: str | None = None
    ) -> None:
        """Remove a zone and its messages; the lobby can't be removed.

        Sends ZN_Destroy.

        Args:
            domain: The domain's name; the selected domain when absent.
            zone: The zone's name; when absent, the selected zone if it is in that domain, else the lobby.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.zones.destroy("nightly", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        self._client.send(
            "ZN_Destroy", body_of(target={"domain": domain, "zone": zone}), idempotency_key=idempotency_key
        )

    def list(
        self, *, domain: str | None = None, zone: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Pages[Zone, None]:
        """List a domain's zones; target.zone is a name prefix.

        Sends ZN_List.

        Args:
            domain: The domain's name; the selected domain when absent.
            zone: The beginning of the zones' names, in any case; `nig` finds `nightly`.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item for item in client.zones.list(domain="observatory")]

        Raises:
            EntityError: 3000, 3003
        """
        return entities(
            self._client,
            "ZN_List",
            body_of(target={"domain": domain, "zone": zone}, page={"limit": limit, "cursor": cursor}),
            Zone,
        )

    def post(
        self, content: str, *, domain: str | None = None, zone: str | None = None, idempotency_key: str | None = None
    ) -> Message:
        """Post a message in a zone; online members that it names with @ reply there.

        Sends ZN_Post.

        Args:
            content: What to say, 1 to 32,000 characters; `@name` asks that agent for a reply.
            domain: The domain's name; the selected domain when absent.
            zone: The zone's name; when absent, the selected zone if it is in that domain, else the lobby.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.zones.post("Clear skies tonight.", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        answer = self._client.send(
            "ZN_Post",
            body_of(target={"domain": domain, "zone": zone}, content=content),
            idempotency_key=idempotency_key,
        )
        return answer.item(Message)

    def read(
        self,
        zone: str | None = None,
        *,
        domain: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        after: int | None = None,
    ) -> Pages[Message, Zone]:
        """Read the messages of a zone, newest last: the newest ones, or those after the seq `page.after`.

        Sends ZN_Read.

        Args:
            domain: The domain's name; the selected domain when absent.
            zone: The zone's name; when absent, the selected zone if it is in that domain, else the lobby.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.
            after: A message's `seq`: returns the messages after it, oldest first, instead of the newest ones.

        Example:
            [item for item in client.zones.read(domain="observatory")]

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        return entries(
            self._client,
            "ZN_Read",
            body_of(target={"domain": domain, "zone": zone}, page={"limit": limit, "cursor": cursor, "after": after}),
            Message,
            Zone,
        )

    def select(self, zone: str | None = None, *, domain: str | None = None, idempotency_key: str | None = None) -> Zone:
        """Select a zone and its domain for the session.

        Sends ZN_Select.

        Args:
            domain: The domain's name; the selected domain when absent.
            zone: The zone's name; when absent, the selected zone if it is in that domain, else the lobby.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.zones.select("lobby", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        answer = self._client.send(
            "ZN_Select", body_of(target={"domain": domain, "zone": zone}), idempotency_key=idempotency_key
        )
        return answer.record(Zone)

    def stream(self, zone: str | None = None, *, domain: str | None = None, after: str | None = None) -> ZoneStream:
        """Follow a zone: messages and membership changes as server-sent events.

        Sends ZN_Stream.

        Args:
            domain: The domain's name; the selected domain when absent.
            zone: The zone's name; when absent, the selected zone if it is in that domain, else the lobby.
            after: The id of the event after which to begin, `0` for all there are; now where absent.

        Example:
            for event in client.zones.stream(domain="observatory"):
                print(event)

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        return self._client.stream_zone(body_of(target={"domain": domain, "zone": zone}), after=after)
