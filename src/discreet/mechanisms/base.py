"""The base class of mechanisms: public parameters, a law over raw outcomes given counts, and a report (docs/explain/mechanisms.md).

A mechanism draws a *raw* outcome, integers whose law the proof is about, and *reports* counts, a fixed public function of it. Laws,
likelihoods and later inference are about the raw outcome. `law` and `simulate` are for study; only `release` may be published.

A mechanism holds no data. What can be computed about it follows from its capabilities, which are values: the law it lists
(`_raw_law`), noise that is independent by cell (`noise`), the privacy loss of its worst pair of datasets (`_loss_atoms`), and the exact
sampler for given counts (`_sampler`), which owns what is private and is dropped after the draw. As in `scipy.stats`, what a class gives
and the library asks for begins with an underscore; what a user calls does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal

import numpy as np
from attrs import Attribute, define, field, fields, frozen
from numpy.typing import ArrayLike

from discreet import __version__, limits
from discreet.arrays import Counts, Drawn, Floats
from discreet.errors import InternalError, InvalidInputError, RefusedError, TooLargeError
from discreet.frames import forgets_variables
from discreet.mechanisms.changed_counts import RandomizedAnswers
from discreet.mechanisms.laws import Law, ListedLaw, LossAtoms, merge
from discreet.mechanisms.noise import CellNoise, MeasuredLevels
from discreet.mechanisms.own_classes import FormerNames, check_free, is_built_in, is_given_nearer, law_names, refuse_former_names
from discreet.mechanisms.reports import AsDrawn, Clamped, Report
from discreet.mechanisms.samplers import AddedNoise, Noise, NoisyTable, Sampler, quantum_above, whole_quanta
from discreet.model.datasets import Space
from discreet.model.dirichlet import Beta, Dirichlet, Prior
from discreet.model.periods import PeriodRange
from discreet.model.tables import TableSpace
from discreet.progress import Progress
from discreet.record.about import About, check_about, check_counts_period
from discreet.record.guarantee import NO_GUARANTEE, Guarantee, rounded_up
from discreet.record.json import written_label
from discreet.record.release import Release
from discreet.sampling import BitSource, SystemBits
from discreet.validation import Number, check_moderate, check_records, check_sizes, check_unit, check_unlabelled, shown

# --- the class --------------------------------------------------------------------------------------------------------


def _records(value: Any) -> int | tuple[int, ...] | None:
    """Return the public number of records, one for each group, or None."""
    if value is None:
        return None
    check_unlabelled(value, "n")
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return check_sizes(value) if is_list or bool(getattr(value, "ndim", 0)) else check_records(value)


def _epsilon(value: Number | None) -> Fraction:
    if value is None:
        raise InvalidInputError("epsilon must be given: the privacy parameter, such as epsilon=0.5")
    return check_moderate(value, "epsilon")


_SHOWN_SIZES = 60
"""Sizes of groups that a repr looks at: it shows fewer of them."""


def _check_prior(_: Any, __: "Attribute[Prior]", value: Any) -> None:
    if not isinstance(value, (Dirichlet, Beta)):
        raise InvalidInputError(f"prior must be a Dirichlet or a Beta, not {type(value).__name__}")


@define(frozen=True, slots=False, repr=False)
class Mechanism(FormerNames, ABC, Generic[Drawn]):
    """A way to publish a posterior. `prior`, `n` and `epsilon` are public, like every option; only counts are private.

    Without `n` the number of records is private too, and the promise is about adding or removing one; few mechanisms can do that.

    A subclass gives `_raw_law`, either `_draw_noise` or `_sampler`, and `_claim`, the promise; everything else has a default. Fields of its
    own are declared with `attrs` (`@define(frozen=True, slots=False)`), and are options: of the class, of `mechanism()`, and of the record.
    """

    prior: Prior = field(validator=_check_prior)
    n: int | tuple[int, ...] | None = field(default=None, converter=_records)
    epsilon: Fraction = field(default=None, converter=_epsilon)
    report: Report = field(default=None, kw_only=True)
    """A public function from raw outcomes (rows) to reported counts (rows); by default the mechanism's own."""

    _names: ClassVar[tuple[str, ...]] = ()
    """Other names it is found by: what the papers call it."""
    _look: ClassVar[tuple[Any, ...]] = ("#858191", "p", (0, (2, 2)), "**")
    """The mechanism's look in pictures: colour, marker, line and hatch, as `plotting.style.MarkStyle` takes them."""
    _layout: ClassVar[tuple[str, ...]] = ()
    """The fields that say how a table is laid out: a record has a place of its own for them."""
    _needs_total: ClassVar[bool] = True
    """Whether its promise is about replacing a record among a public number of them, so that it must be given n."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if is_built_in(cls):
            return
        refuse_former_names(cls)
        check_free(cls, Mechanism)
        law = law_names(cls)
        for name, about in (("_claim", law), ("_theorem", law | {"_claim", "guarantee"}), ("guarantee", frozenset({"_claim"}))):
            if is_given_nearer(cls, about, name):
                setattr(cls, name, Mechanism.__dict__[name])

    def __attrs_post_init__(self) -> None:
        if self.n is None and self._needs_total:
            raise InvalidInputError(
                f"{type(self).__name__} needs n: its promise is about replacing one among a public number of records; give n=, or, "
                "if n is private, use LatticeGeometric(prior, epsilon=...), which can do without",
                in_shell=f"{type(self).__name__} needs a public n: its promise is about replacing one among a public number of records; "
                "use --public total, or LatticeGeometric, which can do without",
            )
        if isinstance(self.n, tuple) and not isinstance(self.space, TableSpace):
            raise InvalidInputError(f"n must be one number of records, got {len(self.n)}; a size for each group goes with by=")
        if self.report is None:
            object.__setattr__(self, "report", self._own_report())

    def __dir__(self) -> list[str]:
        """The names that a user calls: neither those that a class says of itself, nor the layout of a table where there is none."""
        unused = () if isinstance(self.space, TableSpace) else self._layout
        return sorted({*super().__dir__()} - {"space", "noise", "title", "parameters", *unused})

    @property
    def _size_prior(self) -> str:
        """The prior of a private number of records that readers use unless they give another."""
        return "flat"

    @property
    def _publisher(self) -> str | None:
        """The publisher whose promise holds for its outcomes, in words, if discreet did not draw them."""
        return None

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.prior.k

    @cached_property
    def space(self) -> Space:
        """The datasets it may be given, and which of them are neighbours."""
        return Space(self.k, self.n if isinstance(self.n, int) else None)

    def _check_single(self) -> None:
        """Refuse a table where something is computed for one variable alone."""
        if isinstance(self.space, TableSpace):
            _ = self.space.total

    @property
    def guarantee(self) -> Guarantee:
        """The promise every release of this mechanism keeps. Where it rests on a computation, that is done now."""
        return self._claim

    @property
    def _claim(self) -> Guarantee:
        """The promise that its parameters stand for: kept by proof, or if a computation, which is not done here, confirms it.

        A class that gives a law or a sampler of its own must give this too; until then it promises nothing, and releases nothing.
        """
        return NO_GUARANTEE

    def _by_proof(self) -> Guarantee:
        """Return the claim of a mechanism with a proof for its ε."""
        return Guarantee(rounded_up(self.epsilon), 0.0, "proof", neighbours=self.space.relation, theorem=self._theorem)

    @property
    def _theorem(self) -> str:
        """The theorem of docs/proofs/checked.md whose statement covers this configuration; empty if there is none."""
        return ""

    @property
    def _options(self) -> dict[str, Any]:
        """The values of its fields beyond prior, n and the report, by name."""
        return {f.name: getattr(self, f.name) for f in fields(type(self)) if f.name not in ("prior", "n", "report", *self._layout)}

    def _described(self) -> tuple[str, dict[str, Any]]:
        """The name and the parameters that a record holds, from which the mechanism can be made again with its prior and n.

        A mechanism with another report than its own is described as the wrapper that gave it, around the mechanism.
        """
        plain = self._own_description()
        return plain if self.report.wrapper is None else (self.report.wrapper, {"mechanism": plain[0], "options": plain[1]})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by which it is described."""
        return self._described()[1]

    def _own_description(self) -> tuple[str, dict[str, Any]]:
        return type(self).__name__, self._options

    @property
    def title(self) -> str:
        """The mechanism's name with its wrappers, as `mechanism()` reads it."""
        return _title(*self._described())

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        report = "" if self.report == self._own_report() else f", report={self.report!r}"
        records = "" if self.n is None else f"{shown(self.n if isinstance(self.n, int) else self.n[:_SHOWN_SIZES])}, "
        return f"{type(self).__name__}({self.prior!r}, {records}{options}{report})"

    # --- what a mechanism says of itself ------------------------------------------------------------------------------

    @abstractmethod
    def _raw_law(self, counts: Counts) -> Law:
        """The law of the raw outcome, clamped to where outcomes stop telling datasets apart."""

    def _own_report(self) -> Report:
        """The report it has unless it is given another: the outcome itself, or noisy counts clamped to what is possible."""
        return AsDrawn() if type(self)._draw_noise is Mechanism._draw_noise else Clamped(self.space.n)

    def _draw_noise(self, source: BitSource) -> Noise:  # noqa: ARG002
        """Exact noise for the counts, in their order. It must not depend on the data."""
        raise InternalError("a mechanism without an exact sampler was drawn from; nothing was released")

    def _sampler(self, counts: Any) -> Sampler:
        """The exact sampler for one dataset, whose counts it holds: private, and kept nowhere else."""
        if isinstance(self.space, TableSpace):
            return NoisyTable(counts, self._draw_noise, self.space.cells.possible)
        return AddedNoise(np.array(counts, dtype=np.int64), self._draw_noise)

    def _check_size(self) -> None:
        """Refuse, by public numbers alone, what is too large to draw exactly."""

    @property
    def _draw_seconds(self) -> float:
        """Return more seconds than a draw without its report takes as a rule, whatever the data: by public numbers alone."""
        return 0.0

    @property
    def _time_quantum(self) -> float:
        """Return the seconds at whose multiples a steady draw ends, by public numbers alone: long enough for draw and report."""
        return quantum_above(self._draw_seconds + self.report.seconds)

    def _warm_up(self) -> None:
        """Load and build beforehand what every draw needs and no data decide."""

    @property
    def noise(self) -> CellNoise | None:
        """The noise, if its likelihood is a product over categories."""
        return None

    @property
    def _answers(self) -> RandomizedAnswers | None:
        """The randomization of the answers that an outcome counts; None if an outcome is of counts."""
        return None

    @property
    def _levels(self) -> MeasuredLevels | None:
        """The levels whose counts an outcome has, from coarse to fine, if it has those of sums of categories too."""
        return None

    def _line_law(self, x: int, r: Floats) -> Floats | None:  # noqa: ARG002
        """Two categories: ln of the probability that the first count is reported as r if it is x, up to a constant; None if not known.

        Between 0 and n it is a smooth function of real r, but for a kink next to x. It is that of the mechanism's own report.
        """
        return None

    def _loss_atoms(self) -> LossAtoms | None:
        """The privacy loss of the neighbouring pair that dominates all others, where there is one and it has a closed form."""
        return None

    def _two_step_delta(self, epsilon: Fraction) -> Fraction:  # noqa: ARG002
        """A δ at this ε where two counts change by 1 each, for noise that is independent by cell; 1 if none is known."""
        return Fraction(1)

    def _hellinger_rate(self, counts: Counts) -> float | None:  # noqa: ARG002
        """The c of a mechanism whose outcomes are candidates r weighted by exp(-c H(x, r)), for one dataset; None for others."""
        return None

    @property
    def _is_symmetric(self) -> bool:
        """Return whether exchanging two categories of the data is known to do the same to the law."""
        return False

    def _outcomes(self) -> Counts:
        """The raw outcomes that `listed_laws` gives probabilities of, one a row."""
        return self._raw_law(self.space.first()).counts

    def _listed_laws(self, datasets: Counts | None = None) -> Iterator[ListedLaw]:
        """Yield for every dataset in turn, or these: the log probabilities of all `outcomes`."""
        outcomes = self._outcomes()
        for counts in self.space.points() if datasets is None else datasets:
            law = self._raw_law(counts)
            if not np.array_equal(law.counts, outcomes):
                raise TooLargeError(f"the law of {type(self).__name__} cannot be listed for every dataset")
            law.check_total(type(self).__name__)
            yield ListedLaw(counts, law.log_probability, law.log_error)

    @property
    def _most_datasets(self) -> int:
        """Return the most datasets that `_log_likelihoods` goes through, by public numbers alone."""
        return limits.POSTERIOR_RECORDS + 1 if self.k == 2 else limits.POSTERIOR_CANDIDATES

    def _log_likelihoods(self, raw: Sequence[int], log_prior: Floats | None = None, progress: Progress | None = None) -> Floats:  # noqa: ARG002
        """Log probability of one raw outcome for every dataset, in lexicographic order; the laws are made and dropped one after the other.

        Given the log prior of all datasets, it may be -inf for some that have less than `limits.WINDOW_TAIL` of the posterior together.
        """
        where = int(np.nonzero((self._outcomes() == np.array(raw)).all(axis=-1))[0][0])
        return np.array([listed.log_probability[where] for listed in self._listed_laws()])

    def _log_probabilities(self, counts: Counts, raw: Counts) -> Floats:
        """Log probability of each row of raw outcomes."""
        self._check_single()
        if self.noise is not None:
            return self.noise.log_probability(raw - counts[: self.noise.cells])
        law = self._raw_law(counts)
        return np.array([np.logaddexp.reduce(law.log_probability[(law.counts == outcome).all(axis=-1)]) for outcome in raw])

    def _simulate_raw(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        """Float Monte Carlo draws of the raw outcome, one a row."""
        self._check_single()
        if self.noise is not None:
            return counts[: self.noise.cells] + self.noise.simulate(size, rng)
        law = self._raw_law(counts)
        cumulative = np.cumsum(law.probability)
        return law.counts[np.searchsorted(cumulative / cumulative[-1], rng.random(size), side="right")]

    def _is_outcome(self, raw: Sequence[int]) -> bool:
        """Return whether this is a raw outcome of some dataset."""
        if self.noise is None:
            return len(raw) == self.k and sum(raw) == self.n and min(raw) >= 0
        return len(raw) == self.noise.cells and all(sum(raw[i] for i in block) == self.n for block in self.noise.blocks)

    # --- what a user calls --------------------------------------------------------------------------------------------

    def law(self, counts: ArrayLike) -> Law:
        """The exact law of the reported counts. For study: it is a function of the private counts."""
        raw = self._raw_law(self._checked(counts))
        if self.report == AsDrawn():
            return raw
        rows, log_probability = merge(self.report(raw.counts), raw.log_probability)
        return Law(rows, log_probability, raw.omitted, raw.log_error)

    def log_prob(self, counts: ArrayLike, raw: ArrayLike) -> float:
        """Log probability of one raw outcome. For study: it is a function of the private counts.

        Args:
            counts: the private counts, in the order of the categories.
            raw: the outcome: a whole number for every count with noise of its own, or the counts of a candidate.

        Returns:
            The logarithm of the probability, -inf for an outcome that the mechanism never draws.

        Raises:
            InvalidInputError: the counts or the outcome are not of this mechanism.
            TooLargeError: the law of an exponential mechanism has too many candidates.
        """
        outcome = np.asarray(raw)
        if outcome.ndim != 1 or outcome.dtype.kind not in "iu" or (outcome.astype(np.float64) > limits.RAW_OUTCOME).any():
            raise InvalidInputError("raw must be one outcome: a sequence of whole numbers, none beyond 2**62")
        private, size = self._checked(counts), self.k if self.noise is None else self.noise.cells
        if len(outcome) != size:
            raise InvalidInputError(f"a raw outcome of this mechanism has {size} entries, got {len(outcome)}")
        return float(self._log_probabilities(private, outcome[None, :].astype(np.int64))[0])

    def simulate(self, counts: ArrayLike, size: int, rng: np.random.Generator | int | None = None) -> Counts:
        """Fast float Monte Carlo draws of the reported counts, for experiments. Never publish them: they are not exact.

        Args:
            counts: the counts, in the order of the categories.
            size: how many draws.
            rng: a generator or a seed; a fresh seed if it is left out.

        Returns:
            An array with a row for each draw.
        """
        checked = self._checked(counts)
        return self.report(self._simulate_raw(checked, check_records(size, "size"), np.random.default_rng(rng)))

    @forgets_variables
    def release(
        self,
        counts: ArrayLike,
        *,
        unit: Literal["record", "person"] | None = None,
        source: BitSource | None = None,
        allow_nonprivate: bool = False,
        steady: bool = True,
        about: About | None = None,
    ) -> Release[Drawn]:
        """Draw exactly from the law, with the operating system's randomness, and return the public record.

        Args:
            counts: the private counts, in the order of the categories, or of `discreet.count`.
            unit: "record" or "person", whichever one of those counted stands for. Counts of `discreet.count` know it.
            source: random bits in place of the operating system's. If they are not secret, the record has no guarantee.
            allow_nonprivate: True to draw from a mechanism without a guarantee; the record then says that it has none.
            steady: whether the draw ends at a multiple of `prepare(counts).time_quantum`, so that a clock tells the number of quanta alone
                (docs/explain/promise.md). False is for simulations, where nobody watches the clock.
            about: public words that the record holds, as About(title="Smoking in 2024"). How the counts were made, if they know it, and
                the version of discreet are added.

        Returns:
            The record, with the outcome, the report and the guarantee.

        Raises:
            InvalidInputError: the counts are not of this mechanism.
            RefusedError: the mechanism has no guarantee, no exact sampler, or a report that a record cannot describe.
            TooLargeError: the mechanism cannot be drawn from at this size, by public numbers alone.
            EntropyError: the source has no random bits to give.
        """
        return self.prepare(counts, unit=unit, allow_nonprivate=allow_nonprivate, about=about).draw(source, steady=steady)

    @forgets_variables
    def prepare(
        self,
        counts: ArrayLike,
        *,
        unit: Literal["record", "person"] | None = None,
        allow_nonprivate: bool = False,
        about: About | None = None,
        period: str | None = None,
    ) -> "Prepared[Drawn]":
        """Do everything about a release but the draw: whatever `release` would raise is raised here, before a budget is spent.

        Args:
            counts, unit, allow_nonprivate, about: as for `release`.
            period: the periods that the counts are of, such as "2026-11" or "2026-01..2026-03". The promise is then about all records of
                one person in one of them.

        Returns:
            A value with the guarantee that the release will have. It holds the private counts: draw, and drop it.

        Raises what `release` raises, but for `EntropyError`.
        """
        words = check_about(about)
        checked = self._checked(counts)
        private = tuple(checked.tolist()) if checked.ndim == 1 else checked
        if type(self)._draw_noise is Mechanism._draw_noise and type(self)._sampler is Mechanism._sampler:
            raise RefusedError(f"{type(self).__name__} has no exact sampler, so it releases nothing; it is for study")
        if self.report.wrapper is None and self.report != self._own_report():
            raise RefusedError("a record cannot say which report this is, so nothing is released; leave it out, or use Remapped")
        self._check_size()
        self.report.check_size()
        self._check_labels()
        read = None if period is None else PeriodRange.read(period)
        check_counts_period(getattr(counts, "rule", None), read)
        guarantee = replace(self.guarantee, unit=check_unit(unit, _unit(counts)), period=read)
        if guarantee.basis == "none" and not allow_nonprivate:
            fault = f"{type(self).__name__} has no privacy guarantee here, so it releases nothing; choose a mechanism with one"
            raise RefusedError(f"{fault}, or pass allow_nonprivate=True for data that need no protection", in_shell=fault)
        if self.n is not None and guarantee.hides_presence:
            raise RefusedError(f"{type(self).__name__} claims to hide that someone took part, and its record publishes n; leave out n")
        if words is not None:
            words = words.completed(counts, f"discreet {__version__}")
            words.check_fits(self.prior.categories, self.space.groups, guarantee)
        return Prepared(self, private, guarantee, words)

    def _check_labels(self) -> None:
        """Refuse labels that a record cannot hold."""
        for category in self.prior.categories:
            written_label(category)

    def _checked(self, counts: ArrayLike) -> Counts:
        """The counts as whole numbers in the order of the categories, with total n if it is public; refused otherwise."""
        return self.prior._checked(counts, self.space.n, any_total=self.n is None)

    def _recorded(self, guarantee: Guarantee, raw: Any, about: About | None = None) -> Release[Drawn]:
        """The record of an outcome."""
        return Release(self, guarantee, raw, self.report.one(raw), about)


@frozen(repr=False, eq=False)
class Prepared(Generic[Drawn]):
    """A release that has been checked and not been drawn. It holds private counts: draw, and drop it."""

    mechanism: Mechanism[Drawn]
    counts: Any = field(repr=False)
    """A tuple of whole numbers, or the array of a table."""
    guarantee: Guarantee
    about: About | None = None

    @property
    def time_quantum(self) -> float:
        """The seconds at whose multiples the draw ends, by public numbers alone."""
        return self.mechanism._time_quantum

    @forgets_variables
    def draw(self, source: BitSource | None = None, *, steady: bool = True) -> Release[Drawn]:
        """The public record of one exact draw, from the operating system's bits unless others are given.

        It takes whole quanta of time; for simulations, `steady=False` takes as long as the draw does.
        """
        bits = SystemBits() if source is None else source
        own = self.guarantee
        guarantee = own if bits.secret else replace(NO_GUARANTEE, unit=own.unit, neighbours=own.neighbours, period=own.period)
        if steady:
            self.mechanism._warm_up()
        # Whether numpy raises where floats vanish is the caller's setting, and must not undo what was charged.
        with whole_quanta(self.mechanism._time_quantum if steady else None), np.errstate(all="ignore"):
            raw = self.mechanism._sampler(self.counts).draw(bits)
            if not _is_whole(raw):
                raise InternalError(f"{type(self.mechanism).__name__} drew something other than whole numbers; nothing was released")
            return self.mechanism._recorded(guarantee, raw, self.about)


def _is_whole(raw: Any) -> bool:
    """Return whether an outcome is of whole numbers alone. The low bits of a float tell the data, whatever the noise."""
    if isinstance(raw, np.ndarray):
        return np.issubdtype(raw.dtype, np.signedinteger)
    return all(isinstance(number, (int, np.integer)) for number in raw)


def _title(name: str, parameters: Mapping[str, Any]) -> str:
    return f"{name}({_title(parameters['mechanism'], parameters['options'])})" if "options" in parameters else name


def _unit(counts: Any) -> str | None:
    """The unit of counts that know it. An attribute of a pandas Series may as well be one of its private counts."""
    unit = getattr(counts, "unit", None)
    return unit if isinstance(unit, str) else None
