"""The house style: colours that everyone can tell apart, the same look for the same mechanism, letters that do not meet, no traces left."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks.page import OURS, RECORD, speeds
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

import discreet as dc
from discreet.arrays import Counts
from discreet.inference.tables.contrasts import ContrastSummary
from discreet.plotting import draw_contrasts
from discreet.plotting.style import ESTIMATE, INK, MECHANISMS, NOISE, ON_DARK, SERIES, look_of
from discreet_papers.catalogue import ITEMS
from discreet_papers.figure import Figure as PaperFigure
from discreet_papers.figure import drawn, inline
from discreet_papers.style import LABELS, LOOKS
from tests.places import DOCS, PAGES, ROOT

Matrix = NDArray[np.float64]


# --- colours ----------------------------------------------------------------------------------------------------------

# What is left of linear red, green and blue where a kind of cone is missing (Machado, Oliveira and Fernandes 2009, severity 1).
EYES: dict[str, Matrix] = {
    "all cones": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
}
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
APART = {"all cones": 20.0, "protanopia": 14.0, "deuteranopia": 14.0}
"""Least differences by CIEDE2000, in which 1 can just be noticed side by side."""


def linear(colour: str) -> Matrix:
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(light: Matrix) -> Matrix:
    relative = TO_XYZ @ np.clip(light, 0.0, 1.0) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: Matrix, other: Matrix) -> float:
    """CIEDE2000 of two colours in CIELAB (Sharma, Wu and Dalal 2005)."""
    mean = (np.hypot(*one[1:]) + np.hypot(*other[1:])) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    (l1, a1, b1), (l2, a2, b2) = (colour * [1.0, stretch, 1.0] for colour in (one, other))
    c1, c2, h1, h2 = np.hypot(a1, b1), np.hypot(a2, b2), np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (h2 - h1 + 180.0) % 360.0 - 180.0
    light, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, (h1 + turn / 2) % 360.0

    def cosine(angle: float) -> float:
        return float(np.cos(np.radians(angle)))

    weight = 1 - 0.17 * cosine(hue - 30) + 0.24 * cosine(2 * hue) + 0.32 * cosine(3 * hue + 6) - 0.2 * cosine(4 * hue - 63)
    lightness = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    colourfulness = (c2 - c1) / (1 + 0.045 * chroma)
    tone = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return float(np.sqrt(lightness**2 + colourfulness**2 + tone**2 + rotation * colourfulness * tone))


def nearest(colours: list[str], eyes: str) -> float:
    """The least difference between two of the colours."""
    seen = [lab(EYES[eyes] @ linear(colour)) for colour in colours]
    return min(difference(a, b) for a, b in combinations(seen, 2))


def contrast(colour: str, ground: str) -> float:
    """WCAG's ratio of luminances."""
    high, low = sorted((float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (colour, ground)), reverse=True)
    return high / low


LIGHT = [look.colour for look in MECHANISMS.values()]
DARK = [ON_DARK.get(colour, "#e7e9ec") for colour in LIGHT]  # ink becomes the page's own text


@pytest.mark.parametrize("eyes", EYES)
def test_colours_of_mechanisms_stay_apart_without_red_or_green(eyes: str) -> None:
    assert nearest(LIGHT, eyes) > APART[eyes]
    assert nearest(DARK, eyes) > APART[eyes]
    assert nearest(["#2f7fd0", "#1aa3c9"], eyes) < APART[eyes]  # two blues that are too near


def test_colours_are_measured_as_published() -> None:
    """Two pairs of the cited paper's table; white stays white, and red and green lose what tells them apart."""
    assert difference(np.array([50.0, 2.6772, -79.7751]), np.array([50.0, 0.0, -82.7485])) == pytest.approx(2.0425, abs=1e-4)
    assert difference(np.array([22.7233, 20.0904, -46.6940]), np.array([23.0331, 14.9730, -42.5619])) == pytest.approx(2.0373, abs=1e-4)
    for eyes in EYES.values():
        assert lab(eyes @ linear("#ffffff")) == pytest.approx([100.0, 0.0, 0.0], abs=0.1)
    assert nearest(["#d04020", "#708020"], "deuteranopia") < nearest(["#d04020", "#708020"], "all cones") / 3.0


def test_colours_stand_out_from_their_ground() -> None:
    assert min(contrast(colour, "#ffffff") for colour in (*LIGHT, *(look.colour for look in SERIES), NOISE)) > 3.0
    assert min(contrast(colour, "#16181c") for colour in DARK) > 3.0
    assert contrast("#56b4e9", "#ffffff") < 3.0


def test_mechanisms_and_series_differ_in_marker_and_line_too() -> None:
    for looks in (list(MECHANISMS.values()), list(SERIES)):
        for attribute in ("colour", "marker", "dash"):
            assert len({getattr(look, attribute) for look in looks}) == len(looks), attribute
    assert set(LIGHT) - {INK} == set(ON_DARK)


def test_every_mechanism_has_a_look_and_a_remapped_one_that_of_the_one_inside() -> None:
    assert {cls.__name__ for cls in dc.mechanisms.MECHANISMS} <= set(MECHANISMS)
    inside, outside = look_of("LatticeGeometric"), look_of("Remapped(LatticeGeometric)")
    assert (outside.colour, outside.marker) == (inside.colour, inside.marker)
    assert outside.hollow
    assert not inside.hollow
    assert look_of("SomebodysOwn").colour not in {INK, ESTIMATE}


def test_pages_have_the_colours_of_pictures() -> None:
    report = (ROOT / "src/discreet/present/page.css").read_text()
    plan = (ROOT / "src/discreet/web/static/plan.css").read_text()
    assert re.findall(r"--accent: (#\w+)", report) == [ESTIMATE, ON_DARK[ESTIMATE], ESTIMATE]  # light, dark, print
    assert re.findall(r":root { --noise: (#\w+)", plan)[0] == NOISE


# --- the same mechanism always looks the same ---------------------------------------------------------------------------


def paper(name: str) -> tuple[PaperFigure, Any]:
    item = ITEMS[name]
    assert isinstance(item, PaperFigure)
    return item, item.compute(True)


@pytest.fixture(scope="module")
def reproduced() -> dict[str, Figure]:
    """Figures of one, two, three and four panels that are soon computed."""
    return {name: drawn(*paper(name)) for name in ("000-figure-1", "000-section-3", "000-figure-7", "001-theorem-4.5", "003-figure-3bc")}


@pytest.mark.slow
def test_all_figures_of_the_reproduction_draw_a_mechanism_alike(reproduced: dict[str, Figure]) -> None:
    short = {label: name for name, label in LABELS.items()}
    seen = set()
    for figure in reproduced.values():
        for line in (line for ax in figure.axes for line in ax.get_lines() if line.get_label() in short):
            name = short[str(line.get_label())]
            assert (line.get_color(), line.get_marker()) == (LOOKS[name].colour, LOOKS[name].marker)
            seen.add(name)
    assert seen == set(LOOKS)


def test_other_figures_draw_a_mechanism_alike() -> None:
    ours = [line for ax in speeds(json.loads(RECORD.read_text())).axes for line in ax.get_lines() if line.get_label() == OURS]
    assert {(line.get_color(), line.get_marker()) for line in ours} == {(LOOKS["EHDS"].colour, LOOKS["EHDS"].marker)}
    ax = dc.compare(dc.Beta(1, 1), 8, 1).plot()
    rows = [text.get_text() for text in ax.get_yticklabels()]
    points = [line for line in ax.get_lines() if len(line.get_xdata()) == 1 and line.get_marker() != "|"]  # type: ignore[arg-type]
    assert len(points) == len(rows)
    for line in points:
        look = look_of(rows[int(np.asarray(line.get_ydata())[0])])
        assert (line.get_markeredgecolor(), line.get_marker()) == (look.colour, look.marker)


# --- letters ------------------------------------------------------------------------------------------------------------


def letters(figure: Figure) -> list[Text]:
    """All texts that are seen; of ticks, those between the ends of their axis."""
    outside = set()
    for ax in figure.axes:
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    outside |= {tick.label1, tick.label2}
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip() and text not in outside
    ]


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that run into each other, and texts that leave the figure."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in letters(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    found = [(a, "the edge") for a, box in boxes if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1]
    for (a, one), (b, other) in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        up = min(one.y1, other.y1) - max(one.y0, other.y0)
        if across > 1.0 and up > 1.0:
            found.append((a, b))
    return found


def covered(figure: Figure) -> list[str]:
    """Legends that stand on axes, in a figure that was laid out."""
    legends = [*figure.legends, *(legend for ax in figure.axes if (legend := ax.get_legend()) is not None)]
    return [
        legend.get_texts()[0].get_text()
        for legend in legends
        for ax in figure.axes
        if legend.get_window_extent().overlaps(ax.get_window_extent())
    ]


LONG = [f"an answer that goes on for quite a while, number {number}" for number in range(7)]


def uneven(mean: int, size: int) -> NDArray[np.int64]:
    """Noisy counts that are always the same, so that a picture is: all different, with this mean."""
    return mean + 2 * np.arange(size) - (size - 1)


def released(categories: list[str], title: str | None = None) -> dc.Release:
    made = dc.LatticeGeometric(dc.Dirichlet([1] * len(categories), categories=categories), 300 * len(categories), "0.2")
    variable = "the reason for which the respondent left" if len(categories) > 3 else "Do you smoke?"
    counts = tuple(uneven(300, len(categories)).tolist())
    return dc.Release(made, made.guarantee, counts, counts, dc.About(title=title, variable=variable))


def table_of(groups: list[str], categories: list[str]) -> dc.Release[Counts]:
    prior = dc.Dirichlet([1] * len(categories), categories=categories)
    made = dc.LatticeGeometric(prior, n=100 * len(groups) * len(categories), epsilon="0.5", by={"region": groups})
    counts = uneven(100, len(groups) * len(categories)).reshape(len(groups), -1)
    return dc.Release(made, made.guarantee, counts, counts)


def filled(draw: Callable[[Figure], None]) -> Figure:
    figure = Figure()
    draw(figure)
    return figure


def forest(groups: list[str]) -> Figure:
    release = table_of([*groups, "reference"], ["yes", "no"])
    rows = [ContrastSummary(group, (0.1, -0.2, 0.3), (1.5, 0.5, 4.0), 0.7) for group in groups]
    return filled(lambda figure: draw_contrasts(release, figure, rows, 0.95, reference="reference", category="yes"))


SHORT = ["never", "former", "current"]
STANDARD: dict[str, Callable[[], Any]] = {
    "release": lambda: released(SHORT).plot().figure,
    "release with a title": lambda: released(SHORT, "Smoking in Northland").plot().figure,
    "release, long labels": lambda: released(LONG, "Employers and what became of them").plot().figure,
    "release, many categories": lambda: released([f"c{number}" for number in range(25)]).plot().figure,
    "file": lambda: filled(released(SHORT).draw_on),
    "file, long labels": lambda: filled(released(LONG).draw_on),
    "densities": lambda: released(SHORT).noise_aware().plot().figure,
    "densities, long labels": lambda: dc.Dirichlet(range(1, 8), categories=LONG).plot().figure,
    "densities, many categories": lambda: dc.Dirichlet(range(1, 41)).plot().figure,
    "table": lambda: filled(table_of(["north", "east", "south"], SHORT).draw_on),
    "table, four categories, long labels": lambda: filled(table_of(LONG, LONG[:4]).draw_on),
    "table, many groups": lambda: filled(table_of([f"r{number}" for number in range(30)], SHORT).draw_on),
    "one category": lambda: table_of(LONG, SHORT).plot().figure,
    "forest": lambda: forest(["north", "east", "south"]),
    "forest, long labels": lambda: forest(LONG),
    "curve over ε": lambda: dc.width_curve(dc.Beta(1, 1), 50, epsilons=["0.01", "0.1", "1", "10"]).plot().figure,
    "curve over n": lambda: dc.records_curve(dc.Beta(1, 1), 1, records=[10, 100, 1000, 10_000]).plot().figure,
    "comparison": lambda: dc.compare(dc.Beta(1, 1), 8, 1).plot().figure,
    "benchmarks": lambda: speeds(json.loads(RECORD.read_text("utf-8"))),
}


LONGER = ("release with", "release, many", "file, long", "densities, ", "table, many", "curve over ε", "benchmarks")
"""Pictures that take longer, or say little that others do not."""
CASES = [pytest.param(name, marks=[pytest.mark.slow] * name.startswith(LONGER)) for name in STANDARD]


@pytest.mark.parametrize("name", CASES)
def test_no_letters_meet_none_are_cut_off_and_no_legend_covers_data(name: str) -> None:
    figure = STANDARD[name]()
    assert collisions(figure) == []
    assert covered(figure) == []
    assert (
        name.startswith(("table", "forest", "one category"))
        or len([*figure.legends, *filter(None, (ax.get_legend() for ax in figure.axes))]) == 1
    )


@pytest.mark.slow
def test_no_letters_meet_in_the_reproduction(reproduced: dict[str, Figure]) -> None:
    for name, figure in reproduced.items():
        assert collisions(figure) == [], name
        assert covered(figure) == [], name


def test_letters_that_meet_are_noticed() -> None:
    figure, ax = plt.subplots()
    ax.text(0.5, 0.5, "one")
    assert collisions(figure) == []
    ax.text(0.5, 0.51, "other")
    ax.text(0.9, 0.1, "out of sight at the right")
    assert collisions(figure) == [("out of sight at the right", "the edge"), ("one", "other")]


@pytest.mark.slow
def test_figures_of_one_and_of_three_panels_have_letters_of_the_same_size(reproduced: dict[str, Figure]) -> None:
    sizes = {name: {text.get_fontsize() for text in letters(figure)} for name, figure in reproduced.items()}
    assert sizes["000-figure-1"] | {10.0} == sizes["000-section-3"] == sizes["000-figure-7"]  # panels of several have titles
    for name in ("002-statements", "000-theorem-4.1"):
        for panel in inline(*paper(name)).panels:
            width, box = re.findall(r'<svg [^>]*?width="([\d.]+)pt"[^>]*?viewBox="0 0 ([\d.]+) ', panel)[0]
            assert width == box  # shown in its own size, so that points are points


# --- legends and axes -------------------------------------------------------------------------------------------------


def test_a_legend_on_data_is_noticed() -> None:
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="data")
    ax.legend()
    figure.draw_without_rendering()
    assert covered(figure) == ["data"]


@pytest.mark.slow
def test_panels_have_one_legend(reproduced: dict[str, Figure]) -> None:
    for figure in reproduced.values():
        assert len(figure.legends) == 1
        assert all(ax.get_legend() is None for ax in figure.axes)
        entries = [text.get_text() for text in figure.legends[0].get_texts()]
        assert len(entries) == len(set(entries))


@pytest.mark.slow
def test_panels_of_probabilities_have_the_same_scale(reproduced: dict[str, Figure]) -> None:
    axes = reproduced["003-figure-3bc"].axes
    assert len({(ax.get_yscale(), ax.get_ylim()) for ax in axes}) == 1
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in reproduced["001-theorem-4.5"].axes} == {("linear", "linear")}


# --- the user's settings ------------------------------------------------------------------------------------------------


def test_pictures_leave_the_settings_alone_and_are_read_on_a_dark_ground() -> None:
    """A notebook with a dark style: our figures are opaque, with dark letters, also in ticks, which are made when they are drawn."""
    with plt.style.context("dark_background"):
        before = dict(mpl.rcParams)
        figures = [STANDARD[name]() for name in ("release", "densities", "table", "curve over n", "comparison")]
        for figure in figures:
            figure.draw_without_rendering()
            assert mpl.colors.to_hex(figure.get_facecolor()) == "#ffffff"
            assert {mpl.colors.to_hex(text.get_color()) for text in letters(figure)} == {INK}
        paper_figure, data = paper("000-figure-1")
        drawn(paper_figure, data)
        assert dict(mpl.rcParams) == before


def test_axes_of_the_users_own_keep_their_looks() -> None:
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots(layout="constrained")
        look = (ax.get_facecolor(), ax.spines["top"].get_visible(), ax.title.get_fontsize(), ax.xaxis.label.get_color())
        assert released(SHORT).plot(ax) is ax
        legend = ax.get_legend()
        assert legend is not None
        assert {text.get_color() for text in (*legend.get_texts(), ax.title, *ax.get_yticklabels())} == {"white"}
        assert (ax.get_facecolor(), ax.spines["top"].get_visible()) == look[:2]
        assert ax.xaxis.label.get_color() == look[3]
        released(SHORT).plot(ax).set_title("mine")
        assert ax.get_title() == "mine"
        assert ax.title.get_position()[0] == 0.5
        assert figure.get_facecolor() == mpl.colors.to_rgba("black")


# --- the gallery --------------------------------------------------------------------------------------------------------

GALLERY = (DOCS / "start" / "gallery.md").read_text()
LARGEST = 60_000
"""Bytes of a picture."""


def test_every_picture_of_the_gallery_is_made_by_the_lines_above_it() -> None:
    parts = GALLERY.split("\n## ")[1:]
    for part in parts:
        ((alt, name),) = re.findall(r"!\[([^\]]*)\]\(\.\./images/([^)]*)\)", part)
        assert len(alt.split()) >= 8, name
        made = part[: part.index("![")]
        assert name in made or "discreet reproduce" in made or "discreet explore" in made
        assert part[part.index("![") :].partition(")")[2].strip(), f"what to read off {name}"
    assert len(parts) >= 8


def test_pictures_are_small_and_all_of_them_are_shown() -> None:
    pages = "".join(path.read_text() for path in [*PAGES, ROOT / "README.md"])
    pictures = sorted(DOCS.rglob("*.png"))
    assert len(pictures) >= 10
    for path in pictures:
        assert path.stat().st_size < LARGEST, path.name
        assert path.name in pages
