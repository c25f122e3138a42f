"""The screen of `parley top`: a second of figures as tables, made by rich."""

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from parley_client import Figures, FigureStream, ParleyError
from parley_client.cli.context import tell_of_loss
from parley_client.cli.tables import out

SERVICES = 20
"""Number of services shown, those with the most requests."""


def watch(stream: FigureStream, *, once: bool) -> bool:
    """Show figures until their end, or those of one second; return whether the stream has ended."""
    if once or not out.is_terminal:
        stream.on_loss = tell_of_loss
        for figures in stream:
            out.print(screen(figures))
            if once:
                return False
        return True
    with Live(Text("Waits for the gateway ..."), console=out, screen=True, auto_refresh=False) as live:
        shown: list[Figures] = []

        def lost(error: ParleyError, wait: float) -> None:
            told = Text(f"{error}; trying again in {wait:.1f} s.", style="bold red")
            live.update(Group(told, *(screen(figures) for figures in shown)), refresh=True)

        stream.on_loss = lost
        for figures in stream:
            shown[:] = [figures]
            live.update(screen(figures), refresh=True)
    return True


def screen(figures: Figures) -> RenderableType:
    """Return one second of figures as tables."""
    deliveries = figures.deliveries
    line = Text(
        f"{figures.at:%H:%M:%S} UTC   {figures.requests_s:g} requests/s   {figures.commits_s:g} commits/s   "
        f"waiting units: {figures.units_waiting}   loop lag {figures.loop_lag_ms:.1f} ms   "
        f"{_mib(figures.memory_bytes)}   readers: {figures.readers}   webhooks: {deliveries.attempts_s:g}/s, "
        f"{deliveries.failed_s:g} failed/s, {deliveries.in_flight} in flight",
        style="bold",
    )
    beside = Table.grid(padding=(0, 4))
    beside.add_row(_services(figures), Group(_actors(figures), Text(), _mailboxes(figures)))
    parts: list[RenderableType] = [line, Text(), beside]
    if figures.nodes is not None:
        parts += [Text(), _nodes(figures)]
    return Group(*parts)


def _services(figures: Figures) -> Table:
    table = _table("service", "/s", "p50 ms", "p99 ms", "codes")
    busiest = sorted(figures.services.items(), key=lambda item: -item[1].rate)
    for name, of in busiest[:SERVICES]:
        codes = "  ".join(f"{code}: {number}" for code, number in of.codes.items())
        table.add_row(name, f"{of.rate:.1f}", f"{of.p50:.1f}", f"{of.p99:.1f}", codes)
    if len(busiest) > SERVICES:
        table.add_row(f"{len(busiest) - SERVICES} more", "", "", "", "")
    return table


def _actors(figures: Figures) -> Table:
    table = _table("actors", "live")
    for kind, number in sorted(figures.actors.items(), key=lambda item: -item[1]):
        if number:
            table.add_row(kind, str(number))
    return table


def _mailboxes(figures: Figures) -> Table:
    table = _table("fullest mailboxes", "messages")
    for box in figures.mailboxes:
        table.add_row(f"{box.kind} {box.name or box.key}" + (f" on {box.node}" if box.node else ""), str(box.mailbox))
    if not figures.mailboxes:
        table.add_row("none has messages", "")
    return table


def _nodes(figures: Figures) -> Table:
    table = _table("node", "requests/s", "commits/s", "lag ms", "memory", "actors")
    for node in figures.nodes or ():
        table.add_row(
            node.name or node.node or "",
            f"{node.requests_s:g}",
            f"{node.commits_s:g}",
            f"{node.loop_lag_ms:.1f}",
            _mib(node.memory_bytes),
            str(sum(node.actors.values())),
        )
    for gone in figures.unreachable or ():
        table.add_row(Text(f"{gone} does not answer", style="bold red"), *[""] * 5)
    return table


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="left" if name == "codes" else "right")
    return table


def _mib(number: int) -> str:
    return f"{number / 2**20:.0f} MiB"
