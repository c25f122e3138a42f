# Made by `make client` from parley_client/_async: don't edit.
"""The services of users."""

from parley_client._sync.pages import Pages
from parley_client._sync.service import Services, body_of, entities
from parley_client.records import OwnUser, Session, Token


class Users(Services):
    """The services of users."""

    def create(self, name: str, secret: str, *, description: str | None = None, profile: str | None = None) -> OwnUser:
        """Register a user. Needs no credential.

        Sends US_Create.

        Args:
            name: The new user's name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; not taken yet.
            secret: The new user's password, 8 to 256 characters.
            description: Who the user is, for people.
            profile: More about the user.

        Example:
            client.users.create("lovelace", "correct horse battery")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3001
            LimitError: 4001
        """
        answer = self._client.send(
            "US_Create", body_of(vx={"name": name, "secret": secret, "description": description, "profile": profile})
        )
        return answer.record(OwnUser)

    def log_on(self, user: str, secret: str) -> tuple[Session, Token]:
        """Log on with name and password to get a session token. Needs no credential.

        Sends US_LogOn.

        Args:
            user: The name of the user who logs on.
            secret: That user's password.

        Example:
            client.users.log_on("lovelace", "correct horse battery")

        Raises:
            AccessError: 2002
            LimitError: 4001
        """
        answer = self._client.send("US_LogOn", body_of(target={"user": user}, vx={"secret": secret}))
        return answer.record(Session), answer.item(Token)

    def log_off(self, *, idempotency_key: str | None = None) -> None:
        """End this session.

        Sends US_LogOff.

        Args:
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.users.log_off()

        Raises:
            AccessError: 2003
        """
        self._client.send("US_LogOff", {}, idempotency_key=idempotency_key)

    def sessions(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[Session, None]:
        """List your sessions.

        Sends US_Sessions.

        Args:
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item for item in client.users.sessions()]
        """
        return entities(self._client, "US_Sessions", body_of(page={"limit": limit, "cursor": cursor}), Session)

    def revoke(self, name: str, *, idempotency_key: str | None = None) -> None:
        """End one session by its id, or `all` others.

        Sends US_Revoke.

        Args:
            name: The id of the session (`ses_...`, from US_Sessions), or `all` for every session but this one.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.users.revoke("all")

        Raises:
            EntityError: 3000
        """
        self._client.send("US_Revoke", body_of(vx={"name": name}), idempotency_key=idempotency_key)

    def read(self) -> OwnUser:
        """Read your own record, with quota and counts.

        Sends US_Read.

        Example:
            client.users.read()
        """
        answer = self._client.send("US_Read", {})
        return answer.record(OwnUser)

    def update(
        self,
        *,
        description: str | None = None,
        profile: str | None = None,
        secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> OwnUser:
        """Change your description, profile or password; a new password needs a session and ends the others.

        Sends US_Update.

        Args:
            description: Who the user is, for people; stays as it is when absent.
            profile: More about the user; stays as it is when absent.
            secret: The new password, 8 to 256 characters; it ends the user's other sessions.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.users.update(description="Mathematician")

        Raises:
            AccessError: 2003
            LimitError: 4001
        """
        answer = self._client.send(
            "US_Update",
            body_of(vx={"description": description, "profile": profile, "secret": secret}),
            idempotency_key=idempotency_key,
        )
        return answer.record(OwnUser)

    def destroy(self, secret: str, *, idempotency_key: str | None = None) -> None:
        """Remove your user and all it owns; needs a session and the password.

        Sends US_Destroy.

        Args:
            secret: Your current password, as confirmation.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.users.destroy("correct horse battery")

        Raises:
            AccessError: 2002, 2003
            LimitError: 4001
        """
        self._client.send("US_Destroy", body_of(vx={"secret": secret}), idempotency_key=idempotency_key)
