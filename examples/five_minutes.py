"""The pictures of docs/five_minutes.md, from the bundled survey. Writes to build/five_minutes; those in docs/images are copies."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import discreet as dc

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "five_minutes"
CATEGORIES = ["never", "former", "current"]
EPSILONS = ("0.01", "0.1", "1")


def what_may_come_out() -> plt.Figure:
    """The same promise twice: the law of the published count for your true answer, and for another one."""
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), n=100, epsilon="0.5")
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    looks = (30, "if you answered “no”", "C0", "o", -0.12), (31, "if you answered “yes”", "C1", "s", 0.12)
    for yes, words, colour, marker, aside in looks:
        law = mechanism.law([yes, 100 - yes])
        published, probability = np.asarray(law.counts)[:, 0], law.probability
        near = np.abs(published - 30.5) < 12
        ax.vlines(published[near] + aside, 0.0, probability[near], color=colour, linewidth=1.5)
        ax.plot(published[near] + aside, probability[near], marker, color=colour, label=words)
    ax.set_xlabel("number of “yes” that is published")
    ax.set_ylabel("probability")
    ax.set_ylim(bottom=0.0)
    ax.set_title("Either answer of yours may lead to any of these numbers\n100 people, ε = 0.5", fontsize="medium")
    ax.legend()
    return figure


def what_epsilon_buys() -> plt.Figure:
    """One survey, published with three ε."""
    prior = dc.Dirichlet.uniform(categories=CATEGORIES)
    counts = dc.count(HERE / "survey.csv", "smoking", CATEGORIES, privacy_id="participant")
    figure, axes = plt.subplots(len(EPSILONS), 1, figsize=(6.4, 7.2), layout="constrained", sharex=True)
    for ax, epsilon in zip(axes, EPSILONS, strict=True):
        release = dc.LatticeGeometric(prior, n=counts.total, epsilon=epsilon).release(counts)
        release.plot(ax, variable="smoking")
        ax.set_title(f"ε = {epsilon}", fontsize="medium")
        ax.set_xlabel("")
        if ax is not axes[0] and (legend := ax.get_legend()) is not None:
            legend.remove()
    axes[-1].set_xlabel("share of people: mean and 95 % interval")
    figure.suptitle("How many smoke? The same 1,500 answers, published with three ε", fontsize="medium")
    return figure


def what_privacy_costs() -> plt.Figure:
    """How wide intervals are expected to be, with privacy and without."""
    curve = dc.width_curve(dc.Dirichlet.uniform(3), 1500, epsilons=["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"])
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    curve.plot(ax).set_title("The price of privacy: wider intervals\n1,500 people, three categories", fontsize="medium")
    ax.set_ylabel("width, percentage points")
    return figure


def main() -> None:
    """Draw all of them."""
    OUT.mkdir(parents=True, exist_ok=True)
    for draw in (what_may_come_out, what_epsilon_buys, what_privacy_costs):
        path = OUT / f"{draw.__name__}.png"
        draw().savefig(path, dpi=150)
        print(path.name)


if __name__ == "__main__":
    main()
