"""The greeting of a start: where the gateway listens, where its data is, and what to try first."""

from collections.abc import Collection, Sequence

from config.settings import Settings, variable
from config.version import VERSION

FIRST_USER = "lovelace"
"""The name in the command to try first."""


def greeting(settings: Settings, urls: Sequence[str], *, open_to_network: bool, store: str, more: str) -> str:
    """Return the greeting.

    Args:
        settings: the operator's settings.
        urls: where it listens, the best one for this machine first.
        open_to_network: whether other machines can connect.
        store: the place of its data.
        more: further lines.
    """
    base, *others = urls
    open_to_all = ""
    if open_to_network:
        also = f" It also answers at {', '.join(others)}" if others else ""
        open_to_all = f"\nIt is open to the network, without TLS: other machines can reach it.{also}"
    console = f"\nIn a browser: {base}/console" if settings.console_enabled else ""
    return f"""Parley {VERSION} listens on {base}{open_to_all}
Data is in {store}{_first_command(settings, base)}
All commands, with examples to send: {base}/docs{console}{more}"""


def _first_command(settings: Settings, base: str) -> str:
    """Return the line with a registration to try first; nothing where it would be refused, or make an operator."""
    is_closed = settings.registration == "closed"
    # An operator's password has to be the operator's own.
    if FIRST_USER in map(str.lower, settings.operators) or (is_closed and settings.internal_secret is None):
        return ""
    secret = f'-H "X-Internal-Secret: ${variable("internal_secret")}" ' if is_closed else ""
    return f"""
Try first: curl {base}/demo/v1/{settings.brand}/tps/user/create -H 'Content-Type: application/json' \\
  {secret}-d '{{"vx": {{"name": "{FIRST_USER}", "secret": "correct horse battery"}}}}'"""


def development_lines(settings: Settings, developed: Collection[str]) -> str:
    """Return the greeting's lines on a development start, which has set the settings named `developed`."""
    lines = "\nThis is a development start."
    if "default_plan" in developed:
        lines += f" New users have the plan {settings.default_plan} ({variable('default_plan')} sets another one)."
    if "sandbox_keys_enabled" in developed:
        lines += f" Sandbox keys are issued ({variable('sandbox_keys_enabled')}=false turns them off)."
    return lines


def development_plan_lines(count: int, names: Sequence[str]) -> str:
    """Return the greeting's lines on users whose plan is from an earlier development start, if there are any."""
    if not count:
        return ""
    whose = "1 user has its plan" if count == 1 else f"{count} users have their plan"
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return (
        f"\n{whose} from a development start (make run): {', '.join(names)}{more}."
        "\nTo set a plan: PUT /api/admin/users/NAME/plan with X-Internal-Secret (docs/operations.md, Plans)."
    )
