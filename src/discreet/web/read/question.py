"""The question of a reader about a record that is open, from the fields of the page, and the posterior that answers it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.present.figures import CellFigures, check_work
from discreet.present.how_read import HowRead
from discreet.present.page_rows import shares_of
from discreet.requests.fields import untouched
from discreet.requests.kinds import prior_code
from discreet.requests.parsing import parse_reader_prior
from discreet.requests.read_screen import RELEASE, ReadRequest
from discreet.web.state import Opened, Record

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.dirichlet import Dirichlet
    from discreet.present.page_rows import Shares
    from discreet.progress import Progress
    from discreet.requests.records import RecordRequest

Asked = TypeVar("Asked", bound=ReadRequest, covariant=True)


@dataclass(frozen=True)
class ReadQuestion(Generic[Asked]):
    """A record, and what is asked about it."""

    key: str
    """The name under which the record is open."""
    record: Record
    asked: Asked

    @property
    def mass(self) -> float:
        return self.asked.mass

    @property
    def request(self) -> "RecordRequest":
        """The question of the commands that read the record in the same way."""
        return self.asked.of_record(self.record.name)

    @property
    def how(self) -> HowRead:
        """The settings under which the record is read."""
        return HowRead(self.mass, False, self.reader, self.asked.about)

    @property
    def reader(self) -> "Dirichlet | None":
        """The reader's own prior, if there is one."""
        return parse_reader_prior(self.asked.prior, self.record.release)

    @property
    def reader_code(self) -> str:
        """The reader's own prior in Python; nothing for the record's."""
        return "" if self.reader is None else prior_code(self.reader, labels=False)

    @property
    def groups(self) -> "Groups":
        return self.record.release.by

    def python(self, *lines: str) -> str:
        """Lines of Python about the release of the record, after those that read it."""
        return "\n".join(["import discreet as dc", "", f"release = dc.read({self.request.record!r})", *lines])


def question(kind: type[Asked], key: str, record: Record, given: Mapping[str, str]) -> ReadQuestion[Asked]:
    """The question that was typed; WrongError where a field cannot be taken."""
    return ReadQuestion(key, record, kind.read({**untouched(kind), **given}, "form", known={RELEASE: record.release}))


AnyQuestion = ReadQuestion[ReadRequest]


def posterior_of(asked: AnyQuestion, opened: Opened, tell: "Progress") -> Any:
    """The posterior that is asked about: computed once while the record and the prior stay the same."""
    release = asked.record.release
    if release.by.columns:
        return opened.computed((asked.key, asked.asked.prior), lambda: release.noise_aware(asked.reader))
    check_work(release)
    return opened.computed((asked.key, asked.asked.prior), lambda: release.noise_aware(asked.reader, progress=tell))


def asked_of(asked: AnyQuestion, opened: Opened, tell: "Progress") -> Any:
    """The posterior, or that of the shares of the records."""
    posterior = posterior_of(asked, opened, tell)
    return posterior.records if asked.how.of_records else posterior


def shares(asked: AnyQuestion, opened: Opened, tell: "Progress", group: int | None = None, *, ranked: bool = False) -> "Shares":
    """Means and intervals of all shares, or of those in one group."""
    release = asked.record.release
    posterior: Callable[[], Any] = partial(posterior_of, asked, opened, tell)
    if not release.by.columns:
        return shares_of(release, asked.how, read=posterior)

    def figures() -> Any:
        return opened.computed(
            (asked.key, asked.asked.prior, asked.mass, asked.asked.about), lambda: CellFigures.of(posterior(), asked.how)
        )

    return shares_of(release, asked.how, read=figures, group=group, ranked=ranked)
