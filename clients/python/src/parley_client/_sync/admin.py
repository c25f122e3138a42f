# Made by `make client` from parley_client/_async: don't edit.
"""The operator's routes."""

from datetime import datetime
from typing import Literal

from parley_client._decoding import decode, encode
from parley_client._sync.figure_stream import FigureStream
from parley_client._sync.pages import Pages
from parley_client._sync.requests import Routes, query_of, segment_of
from parley_client.answers import Page, page_of
from parley_client.records import Account, OperatorsAgent, OperatorsAuditEntry, OwnUser, ResetAccount


class Admin(Routes):
    """The operator's routes: users and their roles and plans, the kill switch of agents, the audit log of all, figures.

    Reading needs the role auditor, changes the role operator, an API key also `scopes.admin`; or, in place of a
    credential, the client's `internal_secret`. All raise AccessError without (2003), RequestError where the gateway has
    no such secret (1006), and EntityError where there is no such user or agent (3000).
    """

    def users(
        self,
        *,
        prefix: str | None = None,
        role: Literal["user", "auditor", "operator"] | None = None,
        state: Literal["active", "suspended"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Account, None]:
        """List users, by name.

        Args:
            prefix: only users whose names begin like this, in any case.
            role: only users with this role.
            state: only users in this state.
            limit: users on a page.
            cursor: `next` of an earlier page.

        Example:
            [user.name for user in client.admin.users(role="user")]
        """

        def read(cursor: str | None) -> Page[Account, None]:
            query = query_of(prefix=prefix, role=role, state=state, limit=limit, cursor=cursor)
            page = self._client.request("GET", f"/api/admin/users{query}")
            return page_of(Account, page, "users")

        return Pages(read, cursor)

    def user(self, name: str) -> Account:
        """Read one user.

        Example:
            client.admin.user("babbage")
        """
        return decode(Account, self._client.request("GET", _user(name)))

    def set_role(self, name: str, role: Literal["user", "auditor", "operator"]) -> Account:
        """Give a user a role.

        Example:
            client.admin.set_role("babbage", "auditor")
        """
        return decode(Account, self._client.request("PUT", f"{_user(name)}/role", {"role": role}))

    def set_plan(
        self, name: str, plan: Literal["free", "builder", "scale", "enterprise"], *, limit: int | None = None
    ) -> OwnUser:
        """Put a user on a plan; `limit` is its number of requests a day, for enterprise only.

        Example:
            client.admin.set_plan("babbage", "enterprise", limit=5_000)
        """
        body = {"plan": plan} | ({} if limit is None else {"limit": limit})
        return decode(OwnUser, self._client.request("PUT", f"{_user(name)}/plan", body))

    def suspend(self, name: str) -> Account:
        """Suspend a user: its sessions end, its keys are refused, its agents answer nobody, its deliveries wait.

        Example:
            client.admin.suspend("babbage")
        """
        return decode(Account, self._client.request("POST", f"{_user(name)}/suspend", repeatable=True))

    def resume(self, name: str) -> Account:
        """Let a suspended user in again.

        Example:
            client.admin.resume("babbage")
        """
        return decode(Account, self._client.request("POST", f"{_user(name)}/resume", repeatable=True))

    def reset_secret(self, name: str) -> ResetAccount:
        """Give a user a new password, which only this answer shows; its sessions end.

        Example:
            client.admin.reset_secret("babbage")
        """
        return decode(ResetAccount, self._client.request("POST", f"{_user(name)}/reset-secret"))

    def stop_agent(self, name: str) -> OperatorsAgent:
        """Stop an agent: chats with it are refused until it is started.

        Example:
            client.admin.stop_agent("marlow")
        """
        return decode(OperatorsAgent, self._client.request("POST", f"{_agent(name)}/stop", repeatable=True))

    def start_agent(self, name: str) -> OperatorsAgent:
        """Let a stopped agent answer again.

        Example:
            client.admin.start_agent("marlow")
        """
        return decode(OperatorsAgent, self._client.request("POST", f"{_agent(name)}/start", repeatable=True))

    def audit(
        self,
        *,
        since: datetime | None = None,
        service: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[OperatorsAuditEntry, None]:
        """Read the audit log of all users, newest first.

        Args:
            since: only entries from this time on.
            service: only those of this service, or of this operation of a gateway route.
            limit: entries on a page.
            cursor: `next` of an earlier page.

        Example:
            [entry.service for entry in client.admin.audit(limit=20)]
        """

        def read(cursor: str | None) -> Page[OperatorsAuditEntry, None]:
            query = query_of(since=encode(since), service=service, limit=limit, cursor=cursor)
            page = self._client.request("GET", f"/api/admin/audit{query}")
            return page_of(OperatorsAuditEntry, page, "entries")

        return Pages(read, cursor)

    def figures(self) -> FigureStream:
        """Follow the gateway's figures, one record a second.

        Example:
            for figures in client.admin.figures():
                print(figures.requests_s)
                break
        """
        return self._client.stream_figures()


def _user(name: str) -> str:
    return f"/api/admin/users/{segment_of(name)}"


def _agent(name: str) -> str:
    return f"/api/admin/agents/{segment_of(name)}"
