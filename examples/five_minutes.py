"""The pictures of docs/start/five_minutes.md, from the bundled survey. Writes to build/five_minutes; those in docs/images are copies."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import discreet as dc
from discreet.plotting.style import SERIES, entitle, house_style, legend_below, new_axes

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "five_minutes"
CATEGORIES = ["never", "former", "current"]


def what_may_come_out() -> Axes:
    """The same promise twice: the law of the published count for your true answer, and for another one."""
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), n=100, epsilon="0.5")
    ax = new_axes(6.4, 3.6, grid="y")
    with house_style():
        for yes, words, look, aside in ((30, "if you answered “no”", SERIES[0], -0.14), (31, "if you answered “yes”", SERIES[1], 0.14)):
            law = mechanism.law([yes, 100 - yes])
            published, probability = np.asarray(law.counts)[:, 0], law.probability
            near = np.abs(published - 30.5) < 12
            ax.vlines(published[near] + aside, 0.0, probability[near], color=look.colour, linewidth=1.2)
            ax.plot(published[near] + aside, probability[near], linestyle="none", label=words, **look.point())
        ax.set_xlabel("number of “yes” that is published")
        ax.set_ylabel("probability")
        ax.set_ylim(bottom=0.0)
        entitle(ax, "Either answer of yours may lead to any of these numbers.\n100 people, ε = 0.5.")
        legend_below(ax, columns=2)
    return ax


def what_epsilon_buys(epsilon: str) -> Axes:
    """The survey, published with this ε."""
    prior = dc.Dirichlet.uniform(categories=CATEGORIES)
    counts = dc.count(HERE / "survey.csv", "smoking", CATEGORIES, privacy_id="participant")
    ax = dc.LatticeGeometric(prior, n=counts.total, epsilon=epsilon).release(counts).plot(variable="smoking")
    ax.set_xlim(-0.02, 1.0)  # one scale for all, to compare them
    return ax


def what_privacy_costs() -> Axes:
    """How wide intervals are expected to be, with privacy and without."""
    epsilons = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]
    return dc.width_curve(dc.Dirichlet.uniform(3), 1500, epsilons=epsilons).plot()


def pictures() -> Iterator[tuple[str, Axes]]:
    """All of them, with the names of their files."""
    yield "may_come_out.png", what_may_come_out()
    for name, epsilon in (("hundredth", "0.01"), ("tenth", "0.1"), ("one", "1")):
        yield f"epsilon_{name}.png", what_epsilon_buys(epsilon)
    yield "privacy_costs.png", what_privacy_costs()


def main() -> None:
    """Draw all of them."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, ax in pictures():
        plt.sca(ax)
        plt.savefig(OUT / name, dpi=150)
        print(name)


if __name__ == "__main__":
    main()
