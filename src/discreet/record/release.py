"""The public record of a release: everything in it may be published, nothing in it is private."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Never, overload

import numpy as np

from discreet.arrays import Counts, Drawn
from discreet.errors import ClaimError, InvalidInputError, RefusedError
from discreet.model.cells import Cells, Groups
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.tables import TableSpace
from discreet.record import json
from discreet.record.about import About
from discreet.record.guarantee import NO_GUARANTEE, Guarantee
from discreet.text import html_table, shown

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import TypeIs

    from discreet import Mechanism, NoiseAware, TablePosterior
    from discreet.arrays import Floats
    from discreet.model.cells import GroupLook
    from discreet.progress import Progress


_SHOWN_COUNTS = 8
"""Counts that a repr shows before it is cut."""
_SHOWN_GROUPS = 20
_SHOWN_CATEGORIES = 12
"""Groups and categories that a notebook shows before it is cut."""


@dataclass(frozen=True, repr=False, eq=False)
class Release(Generic[Drawn]):
    """One private outcome with its public context: of one variable, or of a table, which has groups in `by`.

    The outcome of a variable is a tuple; that of a table is a read-only array, a row a group and a column a category. There is
    deliberately no plain `posterior`: see `reported` and `noise_aware`.
    """

    mechanism: "Mechanism[Drawn]"
    """The mechanism that drew it: public, like all of its parameters."""
    guarantee: Guarantee
    raw: Drawn
    """The outcome as drawn, before it was clamped, cut or projected; 0 in cells of a table that cannot occur."""
    counts: Drawn
    """The reported counts: a fixed public function of `raw`."""
    about: About | None = None
    """Public words about it, if it was given any: what was asked, of whom, and how records were counted."""

    def __post_init__(self) -> None:
        for name in ("raw", "counts") if self.by.columns else ():
            array = np.array(getattr(self, name), dtype=np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made as a release is, so that its arrays are read-only too."""
        return Release, (self.mechanism, self.guarantee, self.raw, self.counts, self.about)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        same = (self.mechanism, self.guarantee, self.about) == (other.mechanism, other.guarantee, other.about)
        return same and np.array_equal(self.raw, other.raw) and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.guarantee, self.raw.tobytes() if is_table(self) else self.raw))

    @property
    def prior(self) -> Dirichlet | Beta:
        """The mechanism's prior."""
        return self.mechanism.prior

    @property
    def n(self) -> int | None:
        """Number of records (or persons), of all groups together, if it is public; None if it is private."""
        return self.mechanism.space.n

    @property
    def by(self) -> Groups:
        """The groups of a table: columns with their labels. One variable has no columns, and one group."""
        return self.mechanism.space.groups

    @property
    def cells(self) -> Cells:
        """The release's groups, its categories and the cells that cannot occur."""
        space = self.mechanism.space
        return space.cells if isinstance(space, TableSpace) else Cells(self.by, self.prior.categories)

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The size of every group, in their order, if these are public. `n` is their total, or the total if that alone is public."""
        space = self.mechanism.space
        return space.sizes if isinstance(space, TableSpace) else None if space.n is None else (space.n,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The mechanism's options; a wrapper has the name of the `mechanism` inside and that one's `options`."""
        return self.mechanism.parameters

    @property
    def promise(self) -> str:
        """Return what is promised, in words, and by whom if discreet did not draw it."""
        publisher = self.mechanism._publisher
        if publisher is None:
            return str(self.guarantee)
        return f"whatever is promised is promised by {publisher}; discreet promises nothing"

    @property
    def reported(self) -> Dirichlet | Beta:
        """The released member of the family, Dir(a + counts): the papers' object. It takes the noisy counts at face value.

        Raises AttributeError for a table, which has no one reported posterior.
        """
        if self.by.columns:
            raise AttributeError("a table has no reported posterior: noise_aware()[group] is that of a group, noise allowed for")
        return self.prior.plus(self.counts)

    @overload  # the first is for a release of either kind, about which the type says nothing
    def noise_aware(self: "Release[Never]", prior: Any = ..., size_prior: Any = ..., *, progress: "Progress | None" = ...) -> Any: ...

    @overload
    def noise_aware(
        self: "Release[tuple[int, ...]]",
        prior: "Dirichlet | Beta | None" = ...,
        size_prior: Any = ...,
        *,
        progress: "Progress | None" = ...,
    ) -> "NoiseAware": ...

    @overload
    def noise_aware(
        self: "Release[Counts]", prior: Any = ..., size_prior: Any = ..., *, progress: "Progress | None" = ...
    ) -> "TablePosterior": ...

    def noise_aware(
        self, prior: Any = None, size_prior: Any = None, *, progress: "Progress | None" = None
    ) -> "NoiseAware | TablePosterior":
        """Return the posterior that allows for the noise. Its intervals cover what they promise.

        Args:
            prior: The reader's own prior, over the same categories, in place of the one in the record; the law of the mechanism stays as it
                is. For a table it is one for all groups, a mapping of groups to their priors (those left out keep the record's), or a list
                with one for each group.
            size_prior: The prior of n where n is private, in a table that of the size of every group: "flat" on 0, 1, 2, ... (the default),
                "poisson:MEAN", "negative-binomial:MEAN,SHAPE", an array of log weights for n = 0, 1, 2, ..., or a function that takes an
                array of n and gives their log weights.
            progress: A function of the steps done, the steps in all and what they are. A Hellinger mechanism with many possible counts
                takes a minute or two (`discreet.capabilities` says how many pairs it goes through).

        Returns a `NoiseAware`, or for a table a `TablePosterior`, which has one for every group: `noise_aware()["north", "f"]`.

        Raises InvalidInputError where a prior does not fit the record, and TooLargeError beyond the sizes of docs/howto/reading.md.
        """
        if is_table(self):
            from discreet.inference.tables.posterior import table_posterior

            return table_posterior(self, prior, size_prior)
        from discreet.inference.noise_aware import noise_aware

        return noise_aware(self, prior, size_prior, progress=progress)

    def log_likelihood(self, theta: Any, *, size: Any = None, shares: Any = None) -> float:
        """ln P(raw outcome | theta), a plain function for any sampler, such as emcee or a model of one's own.

        Args:
            theta: The probabilities of the categories; of a table a row for each group, in their order. The prior plays no part. In a
                group where categories are impossible, those that are left are scaled to add up to 1.
            size: The expected number of records, of each group for a table. Needed where that is private, and only there: the true counts
                are then independent Poisson counts of mean `size · theta`.
            shares: The groups' shares of the population, which add up to 1. Needed for a table of which only the total is public.

        Raises:
            InvalidInputError: An argument has another shape, is not a probability, or is missing or not asked for.
            TooLargeError: The mechanism's likelihood needs longer lists than are made.
        """
        from discreet.inference.likelihoods import log_likelihood

        return log_likelihood(self.mechanism, self.raw, theta, size, shares)

    def noise_interval(self, level: float = 0.95) -> "Floats":
        """Intervals for the shares of the records by the noise alone, without a prior: (low, high) on the last axis.

        Whatever the data are, each holds the true share `x/n` with this probability or more. Where n is private, so does the interval
        of the ratio, which is wider than it need be. A cell that cannot occur has 0 and 0, and a group without records has NaN.

        Raises RefusedError where the noise depends on the data, and TooLargeError where that of several counts together is very wide.
        """
        from discreet.mechanisms.noise_intervals import noise_interval

        return noise_interval(self.mechanism, self.raw, level)

    # --- JSON ---------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The record as JSON, which `from_json` reads back exactly; docs/reference/release.md describes it.

        Raises InvalidInputError for a table of more than some thousands of cells, which `to_parquet` writes.
        """
        from discreet.record.table_json import written_table

        return written_table(self) if is_table(self) else json.written(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Release":
        """The record that `to_json` wrote.

        Raises InvalidInputError for text that is not a record, for an outcome that its mechanism cannot have drawn, and for a promise
        that is not its mechanism's. A promise by computation is not computed again: `verify` does that.
        """
        return _read_release(json.read(text))

    def to_parquet(self: "Release[Counts]", path: "str | Path") -> None:
        """Write the record of a table to a new Parquet file, which `from_parquet` reads back exactly (docs/reference/release.md).

        It has a row for each cell: the columns of the groups, `category`, `raw` and `counts`. All else is JSON in the file's metadata. The
        file is there as a whole or not at all, and no file is overwritten. Raises RefusedError for one variable, which `to_json` writes.
        """
        from discreet.record.parquet import write_parquet

        if not self.by.columns:
            raise RefusedError("Parquet files hold the records of tables; this one is of one variable, which to_json writes")
        write_parquet(self, path)

    @classmethod
    def from_parquet(cls, path: "str | Path | BinaryIO") -> "Release[Counts]":
        """The record of a table that its `to_parquet` wrote, from a file or from one that is open for reading bytes.

        Raises InvalidInputError for whatever is not such a file, and otherwise as `from_json` does.
        """
        from discreet.record.parquet import read_parquet

        return _read_release(read_parquet(path))

    def _reports_raw(self) -> bool:
        """Return whether the counts are those that the mechanism reports for the raw outcome; a report that is a search is not
        made again.
        """
        report, most = self.mechanism.report, inf if self.n is None else self.n
        if not self.by.columns and (len(self.counts) != self.mechanism.k or any(not 0 <= c <= most for c in self.counts)):
            raise InvalidInputError("counts must have one entry for each category, each at least 0 and at most n")
        return report.is_search or np.array_equal(report.one(self.raw), self.counts)

    # --- for people ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        more = ", ..." if len(self.counts) > _SHOWN_COUNTS else ""
        counts = "" if self.by.columns else f", counts=({', '.join(map(str, self.counts[:_SHOWN_COUNTS]))}{more})"
        return f"Release({self._summary}{counts}, {self.promise})"

    @property
    def _summary(self) -> str:
        shape = "{:,} groups by {:,} categories, ".format(*self.cells.shape) if self.by.columns else ""
        return f"{self.mechanism.title}, {shape}{'public sizes' if self.by.columns and self.sizes is not None else _size(self.n)}"

    def _repr_html_(self) -> str:
        if not self.by.columns:
            means = self.reported.mean()
            shares = [means, 1.0 - means] if isinstance(means, float) else means.tolist()
            rows = [[*row] for row in zip(self.prior.categories, self.counts, (f"{share:.4g}" for share in shares), strict=True)]
            return html_table(f"{self._summary}: {self.promise}", ("category", "reported count", "reported mean"), rows)
        groups, categories = self.by, self.prior.categories
        cut = len(categories) > _SHOWN_CATEGORIES
        headings = [", ".join(groups.columns), *map(str, categories[:_SHOWN_CATEGORIES]), *["..."] * cut]
        shown = range(min(len(groups), _SHOWN_GROUPS))
        rows = [
            [", ".join(map(str, groups.key(i))), *np.asarray(self.counts)[i, :_SHOWN_CATEGORIES].tolist(), *["..."] * cut] for i in shown
        ]
        if len(groups) > _SHOWN_GROUPS:
            rows.append([f"{len(groups) - _SHOWN_GROUPS:,} more", *[""] * (len(headings) - 1)])
        return html_table(f"{self._summary}, reported counts: {self.promise}", headings, rows)

    def plot(
        self, ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None, prior: Any = None, **look: "Unpack[GroupLook]"
    ) -> "Axes":
        """Draw each category's interval twice: noise-aware, and as reported, which takes the noisy counts at face value.

        Of a table, draw the interval of one category's share in every group. `plot_all` has a panel for every category.

        Args:
            ax: The axes to draw on; new ones if they are left out.
            mass: How much probability the intervals hold.
            variable: What was counted, for the title, if the record does not say it, or otherwise.
            prior: The reader's own, as in `noise_aware`.
            look: Of a table, the `category` (the first if it is left out) and `sort`: "mean" (the largest first), "group" (by their labels)
                or "declared"; and `title`, `label` and `color` as in Matplotlib.

        Returns the axes.
        """
        from discreet.plotting import plot_release, plot_table

        if is_table(self):
            return plot_table(self.noise_aware(prior), ax, mass, release=self, variable=self._variable(variable), **look)
        if look:
            raise InvalidInputError(f"{', '.join(look)} says how the groups of a table are drawn, and this is one variable; leave it out")
        return plot_release(self, ax, mass, variable=self._variable(variable), prior=prior)

    def plot_all(self, mass: float = 0.95, *, variable: str | None = None, prior: Any = None) -> "Figure":
        """Draw a new figure with all categories: of a table, a panel for each."""
        from matplotlib.pyplot import figure

        made = figure()
        self.draw_on(made, mass, variable=variable, prior=prior)
        return made

    def draw_on(self, figure: "Figure", mass: float = 0.95, *, variable: str | None = None, prior: Any = None) -> None:
        """Fill an empty figure with all categories, as tall as it needs to be: of a table, with a panel for each."""
        from discreet.plotting import draw_release, draw_table

        draw = draw_table if self.by.columns else draw_release
        draw(self, figure, mass, variable=self._variable(variable), prior=prior)

    def _variable(self, given: str | None) -> str | None:
        """Return the variable's name: the words that are given or those of the record."""
        return given if given is not None or self.about is None else self.about.variable


def is_table(release: Release) -> "TypeIs[Release[Counts]]":
    """Return whether a release is of a table, and its outcome an array."""
    return bool(release.by.columns)


def _read_release(found: Mapping[str, Any]) -> Release:
    """A release from the fields that were read, which must belong together."""
    from discreet.mechanisms.registry import rebuilt  # whose classes make releases

    layout = found.get("layout", {})
    mechanism = json.guarded(lambda: rebuilt(found["mechanism"], found["parameters"], found["prior"], found["n"], layout))
    if any(getattr(mechanism, name) != value for name, value in layout.items()):
        raise InvalidInputError("impossible and priors must be in the order of the groups, with their labels as they are declared")
    release: Release = Release(mechanism, stated_guarantee(mechanism, found), found["raw"], found["counts"], found["about"])
    _check_consistent(release)
    return release


def stated_guarantee(mechanism: "Mechanism", found: Mapping[str, Any]) -> Guarantee:
    """The promise that a record states, with what its mechanism proves beside it."""
    stated, claim = Guarantee(**found["guarantee"]), mechanism._claim
    if stated.basis == "none":
        return stated
    return replace(stated, theorem=claim.theorem if stated.basis == "proof" else "", rho=claim.rho)


def _check_consistent(release: Release) -> None:
    """The parts of a record that was read belong together: a mechanism, an outcome of it, and its promise or none."""
    mechanism = release.mechanism
    if not mechanism._is_outcome(release.raw):
        raise InvalidInputError(f"raw must be an outcome of {mechanism.title} with {_size(release.n)}; this one is not possible")
    if not release._reports_raw():
        raise InvalidInputError(f"counts must be what {mechanism.title} reports for this raw outcome; they are not")
    if release.about is not None:
        release.about.check_fits(release.prior.categories, release.by, release.guarantee)
    check_claim(mechanism, release.guarantee)


def check_claim(mechanism: "Mechanism", stated: Guarantee) -> None:
    """Refuse the promise of a record that is neither its mechanism's nor none at all."""
    claim = mechanism._claim
    nothing = replace(NO_GUARANTEE, unit=stated.unit, neighbours=mechanism.space.relation, period=stated.period)
    if stated not in (replace(claim, unit=stated.unit, period=stated.period), nothing):
        maker = f"{mechanism.title} with ε = {shown(mechanism.epsilon)}"
        raise ClaimError(f"the record claims {_figures(stated)}; {maker} has {_figures(claim)}: do not rely on this record")


def _size(n: int | None) -> str:
    return "private n" if n is None else f"n={n}"


def _figures(guarantee: Guarantee) -> str:
    """A guarantee with all its digits."""
    return f"ε = {guarantee.epsilon!r} and δ = {guarantee.delta!r} (basis: {guarantee.basis}; neighbours: {guarantee.neighbours})"
