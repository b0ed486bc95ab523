"""What a claim is: a statement of a source document, numbers computed about it, and the verdict of a search that tries to break it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from discreet_papers.search import Search

__all__ = ["HOLDS", "HOLDS_NOT", "HOLDS_WHEN", "Claim", "Condition", "Kind"]

Kind = Literal["holds", "holds when", "does not hold"]
HOLDS: Kind = "holds"
HOLDS_WHEN: Kind = "holds when"
HOLDS_NOT: Kind = "does not hold"


@dataclass(frozen=True)
class Condition:
    """A condition or a reading under which the claim may be true, and the search that tried to break it there."""

    text: str
    search: Search


@dataclass(frozen=True)
class Claim:
    """One statement of a source document with what was computed about it."""

    id: str
    where: str
    claim: str
    numbers: Mapping[str, float]
    search: Search
    """The search for a setting that breaks the statement as it stands."""
    conditions: tuple[Condition, ...] = ()
    """From the weakest to the strongest; the first that is not broken is the verdict's."""
    figure: str = ""
    """The figure or table that shows it."""

    @property
    def condition(self) -> Condition | None:
        """The condition under which it holds, if it needs one."""
        return None if self.search.holds else next((each for each in self.conditions if each.search.holds), None)

    @property
    def kind(self) -> Kind:
        """The verdict without its condition."""
        if self.search.holds:
            return HOLDS
        return HOLDS_NOT if self.condition is None else HOLDS_WHEN

    @property
    def condition_text(self) -> str:
        """The condition in words; empty if there is none."""
        return "" if self.condition is None else self.condition.text

    @property
    def reach(self) -> str:
        """How far the verdict reaches: the region that was searched, and where the statement breaks or comes nearest to it."""
        return _reach(self.condition.search if self.condition is not None else self.search)

    @property
    def verdict(self) -> str:
        """The verdict in words: what was found, and the region that was searched."""
        return f"{self.kind}{' ' if self.condition_text else ''}{self.condition_text} ({self.reach})"

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values, with the verdict beside them."""
        return asdict(self) | {"kind": self.kind, "condition": self.condition_text, "verdict": self.verdict}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The claim that `to_json` turned into plain values."""
        conditions = tuple(Condition(each["text"], Search(**each["search"])) for each in stored["conditions"])
        plain = {name: stored[name] for name in ("id", "where", "claim", "numbers", "figure")}
        return cls(**plain, search=Search(**stored["search"]), conditions=conditions)


def _reach(search: Search) -> str:
    settings = f"{search.settings:,} setting{'s' if search.settings > 1 else ''}: {search.words}"
    if search.wanted == "some":
        return f"found at {search.at}, among {settings}" if search.holds else f"not found in {settings}"
    if search.holds:
        return f"in all of {settings}" if search.settings > 1 else search.words
    return f"broken in {search.broken:,} of {settings}; most at {search.at}"
