"""The picture of a budget: a bar with a segment for every spend, and what is left of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from discreet.present.html import Html, element

_NARROW_SEGMENT = 0.5
"""Per cent of a bar: a narrower segment has no gap around it, which would leave nothing of it."""


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar: a spend, all spends before the latest ones, or what a release would take."""

    kind: Literal["spend", "earlier", "preview", "refused"]
    amount: Fraction
    words: str
    """The words shown where someone points at it."""


def spends_bar(place: str, segments: Sequence[BarSegment], whole: Fraction, words: str) -> Html:
    """A bar as long as the whole, or as all segments if these are longer; the whole has its mark then. `place` is unique on the page."""
    taken = sum((segment.amount for segment in segments), Fraction(0))
    length = max(whole, taken) or Fraction(1)
    starts = accumulate((segment.amount for segment in segments), initial=Fraction(0))
    hatch = f"{place}-hatch"
    parts = [
        _rect(segment, 100 * start / length, 100 * segment.amount / length, number, hatch)
        for number, (segment, start) in enumerate(zip(segments, starts, strict=False))
    ]
    end = _percent(100 * whole / length)
    mark = [element("line", class_="spends-end", x1=end, x2=end, y1="-12%", y2="112%")] if taken > whole else []
    picture = element("svg", _hatch(hatch), *parts, *mark, role="img", aria_label=words)
    return element("div", picture, class_="spends-bar")


def _rect(segment: BarSegment, start: Fraction, width: Fraction, number: int, hatch: str) -> Html:
    kinds = [segment.kind, *(["other"] if number % 2 else []), *(["narrow"] if width < _NARROW_SEGMENT else [])]
    fill = {"fill": f"url(#{hatch})"} if segment.kind in ("preview", "refused") else {}
    title = element("title", segment.words)
    return element("rect", title, class_=" ".join(kinds), x=_percent(start), width=_percent(width), y="0", height="100%", **fill)


def _hatch(name: str) -> Html:
    ground = element("rect", class_="hatch-ground", width="8", height="8")
    line = element("line", class_="hatch-line", x1="0", x2="0", y1="0", y2="8")
    sizes = {"width": "8", "height": "8", "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return element("defs", element("pattern", ground, line, id=name, **sizes))


def _percent(value: Fraction) -> str:
    return f"{float(value):.4f}%"
