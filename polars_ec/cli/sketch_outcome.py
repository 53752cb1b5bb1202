"""What a sketch job has to do, and what a run of it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from polars_ec.cli.places import Place, State


@dataclass(frozen=True)
class Task:
    """An input to read: where it is, what it is known by, and what it is like before it is read."""

    file: Place
    source: str
    state: State


@dataclass
class Outcome:
    """What a run did."""

    sketched: int = 0
    unchanged: int = 0
    elsewhere: int = 0
    rows: int = 0
    invalid: int = 0
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What became of the sketches of inputs that have vanished, as was asked."""
        kept = [f"{source} has vanished; its sketch still counts (--vanished keep)" for source in self.kept]
        return kept + [f"{source} has vanished; its sketch was removed (--vanished drop)" for source in self.dropped]

    def problems(self) -> list[str]:
        """What makes the numbers wrong, or may, a line each."""
        lines = [*self.warnings, *self.failures.values()]
        if self.waiting:
            more = f" and {len(self.waiting) - 1} more" if len(self.waiting) > 1 else ""
            lines.append(
                f"{self.waiting[0]}{more}, which is new, waits until it is settled what became of the inputs that have "
                "vanished"
            )
        return lines

    def summary(self, out: Path) -> str:
        """The run in a line."""
        parts = {
            "sketched": self.sketched,
            "unchanged": self.unchanged,
            "of other inputs": self.elsewhere + len(self.kept),
            "waiting": len(self.waiting),
            "failed": len(self.failures),
        }
        told = ", ".join(f"{n} {what}" for what, n in parts.items() if n or what in ("sketched", "unchanged"))
        return f"{out}: {told}; {self.rows} rows"
