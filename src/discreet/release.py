"""The public record of a release: everything in it may be published, nothing in it is private."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from html import escape
from math import inf, nextafter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from discreet import schema
from discreet.distributions import Beta, Dirichlet
from discreet.errors import ClaimError, InvalidInputError
from discreet.text import plain
from discreet.validation import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.inference import NoiseAware

__all__ = ["NO_GUARANTEE", "Guarantee", "Release", "nested_name"]

_SHOWN = 8
"""Counts that a repr shows before it is cut."""


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy promise, and what it rests on.

    `basis` is "proof" (a theorem), "computation" (the exact loss of this very configuration was computed) or "none" (no promise).
    `unit` is what one replacement replaces: a record, or all the rows of a person.
    """

    epsilon: float
    delta: float
    basis: Literal["proof", "computation", "none"]
    unit: Literal["record", "person"] = "record"
    neighbours: str = "replace one"

    def __str__(self) -> str:
        if self.basis == "none":
            return "no privacy guarantee"
        return f"{self.level} differential privacy by {self.basis}; neighbours: {self.neighbours} {self.unit}"

    @property
    def level(self) -> str:
        """The privacy parameters in symbols: ε, and δ where it is not 0."""
        return f"ε = {self.epsilon:g}" if self.delta == 0 else f"(ε, δ) = ({self.epsilon:g}, {self.delta:g})"


NO_GUARANTEE = Guarantee(inf, 1.0, "none")
"""What is said of an outcome that nothing is promised about."""


def rounded_up(value: Fraction) -> float:
    """The smallest float that, read as the decimal it prints as, is not below the value: a promise is never understated."""
    shown = float(value)
    while Fraction(repr(shown)) < value:
        shown = nextafter(shown, inf)
    return shown


def rounded_down(value: Fraction) -> float:
    """A float next to the value and not above it."""
    below = float(value)
    return below if Fraction(below) <= value else nextafter(below, -inf)


@dataclass(frozen=True, repr=False)
class Release:
    """One private outcome with its public context. There is deliberately no plain `posterior`: see `reported` and `noise_aware`."""

    mechanism: str
    """Name of the mechanism's class."""
    parameters: Mapping[str, Any]
    """Its options; a wrapper has the name of the `mechanism` inside and that one's `options`."""
    prior: Dirichlet | Beta
    n: int
    """Number of records (or persons), which is public."""
    guarantee: Guarantee
    raw: tuple[int, ...]
    """The outcome as drawn, before it was clamped, cut or projected."""
    counts: tuple[int, ...]
    """The reported counts: a fixed public function of `raw`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", _sealed(self.parameters))

    def __hash__(self) -> int:
        return hash((self.mechanism, self.prior, self.n, self.guarantee, self.raw, self.counts))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its fields: a sealed mapping is neither."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return type(self), tuple({**values, "parameters": _opened(self.parameters)}.values())

    @property
    def reported(self) -> Dirichlet | Beta:
        """The released member of the family, Dir(a + counts): the papers' object. It takes the noisy counts at face value."""
        return self.prior.plus(self.counts)

    def noise_aware(self) -> "NoiseAware":
        """The posterior that allows for the noise: what the raw outcome says, with intervals that cover what they promise."""
        from discreet.inference import noise_aware

        return noise_aware(self)

    # --- JSON ---------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The record as JSON, which `from_json` reads back exactly; docs/release.md describes it."""
        return schema.written({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The record that `to_json` wrote. Refused is what is not one, or makes another claim than its mechanism.

        A claim by computation is not computed again: `verify` does that.
        """
        found = schema.read(text)
        release = cls(**{**found, "guarantee": Guarantee(**found["guarantee"])})
        _check_consistent(release)
        return release

    # --- for people ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        counts = ", ".join(str(c) for c in self.counts[:_SHOWN]) + (", ..." if len(self.counts) > _SHOWN else "")
        return f"Release({nested_name(self.mechanism, self.parameters)}, n={self.n}, counts=({counts}), {self.guarantee})"

    def _repr_html_(self) -> str:
        means = self.reported.mean()
        shares = [means, 1.0 - means] if isinstance(means, float) else means.tolist()
        rows = "".join(
            f"<tr><th>{escape(plain(c))}</th><td>{x}</td><td>{m:.4g}</td></tr>"
            for c, x, m in zip(self.prior.categories, self.counts, shares, strict=True)
        )
        head = "<tr><th>category</th><th>reported count</th><th>reported mean</th></tr>"
        caption = f"{escape(nested_name(self.mechanism, self.parameters))}, n = {self.n}: {escape(str(self.guarantee))}"
        return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def plot(self, ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None) -> "Axes":
        """Draw each category's interval twice: noise-aware, and as reported, which takes the noisy counts at face value.

        The record does not say what was counted. `variable` names it in the title.
        """
        from discreet.plotting import plot_release

        return plot_release(self, ax, mass, variable=variable)


def nested_name(name: str, parameters: Mapping[str, Any]) -> str:
    """The mechanism's name with that of the one inside it, as `discreet.mechanism` reads it."""
    return f"{name}({nested_name(parameters['mechanism'], parameters['options'])})" if "options" in parameters else name


def _sealed(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: _sealed(value) if isinstance(value, Mapping) else value for name, value in parameters.items()})


def _opened(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _opened(value) if isinstance(value, Mapping) else value for name, value in parameters.items()}


def _check_consistent(release: Release) -> None:
    """The parts of a record that was read belong together: a mechanism, an outcome of it, and its promise or none."""
    from discreet.mechanisms import Remapped, mechanism_from

    mechanism = schema.guarded(lambda: mechanism_from(release))
    if not mechanism._can_draw(release.raw):
        raise InvalidInputError(f"raw must be an outcome of {release.mechanism} for n = {mechanism.n}; this one is not possible")
    if len(release.counts) != mechanism.k or any(not 0 <= c <= mechanism.n for c in release.counts):
        raise InvalidInputError("counts must have one entry for each category, each between 0 and n")
    remapped = isinstance(mechanism, Remapped)  # whose reports are found in floating point, and slowly
    if not remapped and mechanism.report(mechanism._within_arrays(release.raw))[0].tolist() != list(release.counts):
        raise InvalidInputError(f"counts must be what {release.mechanism} reports for this raw outcome; they are not")
    claim, stated = mechanism._claim, release.guarantee
    if stated not in (replace(claim, unit=stated.unit), replace(NO_GUARANTEE, unit=stated.unit)):
        maker = f"{nested_name(release.mechanism, release.parameters)} with ε = {shown(mechanism.epsilon)}"
        raise ClaimError(f"the record claims {_figures(stated)}; {maker} has {_figures(claim)}: do not rely on this record")


def _figures(guarantee: Guarantee) -> str:
    """A guarantee with all its digits."""
    return f"ε = {guarantee.epsilon!r} and δ = {guarantee.delta!r} (basis: {guarantee.basis})"
