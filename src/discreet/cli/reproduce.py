"""`discreet reproduce`: run the package that recomputes the papers, where it is installed."""

from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.requests.plan import ReproduceRequest

GROUP = "discreet.reproduce"
"""The entry points of packages that recompute something."""


@asks(ReproduceRequest)
def reproduce(asked: ReproduceRequest) -> None:
    """Recompute every figure, table and claim of the papers exactly, and say which claims hold. Needs the package discreet-papers.

    Example: discreet reproduce --only 000-figure-5 --only crossover-gamma --out report
    """
    from importlib.metadata import entry_points  # brings the library of e-mail and sockets, which no other command needs

    found = next(iter(entry_points(group=GROUP)), None)
    if found is None:
        raise InvalidInputError("discreet reproduce needs the package discreet-papers: in a checkout of discreet, pip install ./papers")
    found.load()(asked.out, asked.only or None, quick=asked.quick, jobs=asked.jobs)
