"""The public record of a release: everything in it may be published, nothing in it is private."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.errors import ClaimError, InvalidInputError
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.record import json
from discreet.record.about import About
from discreet.record.guarantee import NO_GUARANTEE, Guarantee
from discreet.text import plain
from discreet.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet import Mechanism, NoiseAware, TableRelease
    from discreet.progress import Progress


_SHOWN_COUNTS = 8
"""Counts that a repr shows before it is cut."""


@dataclass(frozen=True, repr=False)
class Release:
    """One private outcome with its public context. There is deliberately no plain `posterior`: see `reported` and `noise_aware`."""

    mechanism: "Mechanism"
    """The mechanism that drew it: public, like all of its parameters."""
    guarantee: Guarantee
    raw: tuple[int, ...]
    """The outcome as drawn, before it was clamped, cut or projected."""
    counts: tuple[int, ...]
    """The reported counts: a fixed public function of `raw`."""
    about: About | None = None
    """Public words about it, if it was given any: what was asked, of whom, and how records were counted."""

    @property
    def prior(self) -> Dirichlet | Beta:
        """The mechanism's prior."""
        return self.mechanism.prior

    @property
    def n(self) -> int | None:
        """Number of records (or persons) if it is public; None if it is private."""
        return self.mechanism.space.n

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The mechanism's options; a wrapper has the name of the `mechanism` inside and that one's `options`."""
        return self.mechanism.parameters

    @property
    def reported(self) -> Dirichlet | Beta:
        """The released member of the family, Dir(a + counts): the papers' object. It takes the noisy counts at face value."""
        return self.prior.plus(self.counts)

    def noise_aware(
        self, prior: "Dirichlet | Beta | None" = None, size_prior: Any = None, *, progress: "Progress | None" = None
    ) -> "NoiseAware":
        """The posterior that allows for the noise: what the raw outcome says, with intervals that cover what they promise.

        `prior` is the reader's own, over the same categories, in place of the one in the record; the law of the mechanism stays as it is.

        Where n is private it has a posterior too, and `size_prior` says what is believed about it before: "flat" on 0, 1, 2, ... (the
        default), "poisson:MEAN", "negative-binomial:MEAN,SHAPE", an array of log weights for n = 0, 1, 2, ..., or a function that takes
        an array of n and gives their log weights.

        A Hellinger mechanism with many possible counts takes a minute or two (`discreet.capabilities` says how many pairs it goes
        through); `progress` is then called with the steps done, the steps in all and what they are.
        """
        from discreet.inference.noise_aware import noise_aware

        return noise_aware(self, prior, size_prior, progress=progress)

    # --- JSON ---------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The record as JSON, which `from_json` reads back exactly; docs/reference/release.md describes it."""
        return json.written(self.mechanism, self.guarantee, self.raw, self.counts, self.about)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Release":
        """The record that `to_json` wrote: a TableRelease if it is of a table.

        Raises InvalidInputError for text that is not a record, for an outcome that its mechanism cannot have drawn, and for a promise
        that is not its mechanism's. A promise by computation is not computed again: `verify` does that.
        """
        return _read_release(json.read(text))

    @classmethod
    def from_parquet(cls, path: "str | Path | BinaryIO") -> "TableRelease":
        """The record of a table that its `to_parquet` wrote, from a file or from one that is open for reading bytes.

        Raises InvalidInputError for whatever is not such a file, and otherwise as `from_json` does.
        """
        from discreet.record.parquet import read_parquet
        from discreet.record.table_release import TableRelease

        release = _read_release(read_parquet(path))
        assert isinstance(release, TableRelease)  # noqa: S101
        return release

    def _reports_raw(self) -> bool:
        """Whether the counts are those that the mechanism reports for the raw outcome; a report that is a search is not made again."""
        most = inf if self.n is None else self.n
        if len(self.counts) != self.mechanism.k or any(not 0 <= c <= most for c in self.counts):
            raise InvalidInputError("counts must have one entry for each category, each at least 0 and at most n")
        return self.mechanism.report.is_search or self.mechanism.report.one(self.raw) == self.counts

    # --- for people ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        counts = ", ".join(str(c) for c in self.counts[:_SHOWN_COUNTS]) + (", ..." if len(self.counts) > _SHOWN_COUNTS else "")
        return f"Release({self.mechanism.title}, {_size(self.n)}, counts=({counts}), {self.guarantee})"

    def _repr_html_(self) -> str:
        means = self.reported.mean()
        shares = [means, 1.0 - means] if isinstance(means, float) else means.tolist()
        rows = "".join(
            f"<tr><th>{escape(plain(c))}</th><td>{x}</td><td>{m:.4g}</td></tr>"
            for c, x, m in zip(self.prior.categories, self.counts, shares, strict=True)
        )
        head = "<tr><th>category</th><th>reported count</th><th>reported mean</th></tr>"
        caption = f"{escape(plain(self.mechanism.title))}, {_size(self.n)}: {escape(str(self.guarantee))}"
        return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def plot(
        self, ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None, prior: "Dirichlet | Beta | None" = None
    ) -> "Axes":
        """Draw each category's interval twice: noise-aware, and as reported, which takes the noisy counts at face value.

        `variable` names what was counted in the title, if the record does not, or otherwise. `prior` is the reader's own, as in
        `noise_aware`.
        """
        from discreet.plotting import plot_release

        return plot_release(self, ax, mass, variable=self._variable(variable), prior=prior)

    def draw_on(self, figure: "Figure", mass: float = 0.95, *, variable: str | None = None, prior: Any = None) -> None:
        """Fill an empty figure with the picture that `plot` draws, as tall as it needs to be."""
        from discreet.plotting import draw_release

        draw_release(self, figure, mass, variable=self._variable(variable), prior=prior)

    def _variable(self, given: str | None) -> str | None:
        """What was counted, in the words that are given or in those of the record."""
        return given if given is not None or self.about is None else self.about.variable


def _read_release(found: Mapping[str, Any]) -> Release:
    """A release from the fields that were read, which must belong together."""
    from discreet.mechanisms.registry import rebuilt  # whose classes make releases
    from discreet.record.table_release import TableRelease

    layout = found.get("layout")
    mechanism = json.guarded(lambda: rebuilt(found["mechanism"], found["parameters"], found["prior"], found["n"], layout))
    if any(getattr(mechanism, name) != value for name, value in (layout or {}).items()):
        raise InvalidInputError("impossible and priors must be in the order of the groups, with their labels as they are declared")
    made = Release if layout is None else TableRelease
    stated = Guarantee(**found["guarantee"])
    if stated.basis == "proof":
        stated = replace(stated, theorem=mechanism.claim.theorem)
    release = made(mechanism, stated, found["raw"], found["counts"], found["about"])
    _check_consistent(release)
    return release


def _check_consistent(release: Release) -> None:
    """The parts of a record that was read belong together: a mechanism, an outcome of it, and its promise or none."""
    mechanism = release.mechanism
    if not mechanism.is_outcome(release.raw):
        raise InvalidInputError(f"raw must be an outcome of {mechanism.title} with {_size(release.n)}; this one is not possible")
    if not release._reports_raw():
        raise InvalidInputError(f"counts must be what {mechanism.title} reports for this raw outcome; they are not")
    if release.about is not None:
        release.about.check_fits(release.prior.categories, mechanism.space.groups, release.guarantee.unit)
    claim, stated = mechanism.claim, release.guarantee
    nothing = replace(NO_GUARANTEE, unit=stated.unit, neighbours=mechanism.space.relation)
    if stated not in (replace(claim, unit=stated.unit), nothing):
        maker = f"{mechanism.title} with ε = {shown(mechanism.epsilon)}"
        raise ClaimError(f"the record claims {_figures(stated)}; {maker} has {_figures(claim)}: do not rely on this record")


def _size(n: int | None) -> str:
    return "private n" if n is None else f"n={n}"


def _figures(guarantee: Guarantee) -> str:
    """A guarantee with all its digits."""
    return f"ε = {guarantee.epsilon!r} and δ = {guarantee.delta!r} (basis: {guarantee.basis}; neighbours: {guarantee.neighbours})"
