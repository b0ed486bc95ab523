"""The page of a release: its numbers are the posterior's, nothing foreign becomes markup, and it is read as the record it holds."""

import json
import re
from collections.abc import Sequence
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import discreet as dc
from discreet.arrays import Counts
from discreet.present.page_rows import shares_of
from discreet.record.release import is_table
from discreet.sampling import SeededBits
from tests.cli import support
from tests.support import lowered, mostly_slow

invoke = partial(support.invoke, columns=300)

HOSTILE = "</script><img src=x onerror=alert(1)><!-- & 'one' \"two\""
CATEGORIES = [HOSTILE, "\u202egnp.exe\x1b[31m", "مدخّن"]
PRIOR = dc.Dirichlet([1, 1, 1], categories=CATEGORIES)
WORDS = dc.About(title=HOSTILE, variable=f"{HOSTILE}?", source="<b>bold</b>", note="مدخّن & </title>", counting="<script>alert(1)</script>")
VOID = {"meta", "link"}
ALLOWED = {"rel": {"icon"}, "href": {"data:,"}}


class Page(HTMLParser):
    """The elements of a page, its texts and its blocks of JSON; an element that is not closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.is_picture = False
        self.headings: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))
        if tag in ("td", "th"):
            self.is_picture = dict(attrs).get("class") == "picture"
            self.rows[-1] += [] if self.is_picture else [""]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if {"h1", "h2", "h3"} & set(self.open):
            self.headings[-1] = (self.headings[-1][0], self.headings[-1][1] + data)
        if {"td", "th"} & set(self.open) and not self.is_picture:
            self.rows[-1][-1] += data.replace("\u00a0", " ")


def reported(found: dc.Release, folder: Path, *options: str) -> tuple[Path, Page]:
    (folder / "record.json").write_text(found.to_json())
    done = invoke("report", folder / "record.json", "--output", folder / "page.html", *options)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"wrote {folder / 'page.html'}: the page, and in it the record\n"
    text = (folder / "page.html").read_text("utf-8")
    return folder / "page.html", Page(text)


def single(**options: Any) -> dc.Release:
    return dc.LatticeGeometric(PRIOR, epsilon="0.5", **options).release([30, 18, 12], unit="person", about=WORDS)


def table() -> dc.Release[Counts]:
    mechanism = dc.LatticeGeometric(PRIOR, n=120, epsilon="0.5", by={HOSTILE: [HOSTILE, "south"]}, impossible=[("south", CATEGORIES[1])])
    found = mechanism.release([[30, 18, 12], [40, 0, 20]], about=WORDS)
    assert is_table(found)
    return found


@pytest.mark.parametrize("found", [single(n=60), single(), table()], ids=["public", "private", "table"])
def test_foreign_text_is_shown_and_never_markup(found: dc.Release, tmp_path: Path) -> None:
    place, page = reported(found, tmp_path)
    names = {tag for tag, _ in page.tags}
    assert not names & {"img", "iframe", "object", "form", "base", "a"}
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "discreet-release"}]
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes)
        assert all(attributes[name] in allowed for name, allowed in ALLOWED.items() if name in attributes)
    text = "".join(page.texts)
    assert text.count(HOSTILE) >= 4
    assert r"\u202egnp.exe\x1b[31m" in text
    assert not {"\u202e", "\x1b"} & set(place.read_text("utf-8"))
    assert "<script>alert(1)</script>" in text
    policy = next(attributes["content"] or "" for _, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.parametrize("found", mostly_slow([table(), single(n=60), single()], 1), ids=["table", "public", "private"])
def test_every_command_reads_the_page_as_the_record(found: dc.Release, tmp_path: Path) -> None:
    place, _ = reported(found, tmp_path)
    record = tmp_path / "record.json"
    for words in (["show", "--json"], ["verify", "--json"]):
        answers = [invoke(words[0], path, *words[1:]) for path in (record, place)]
        assert answers[0].exit_code == answers[1].exit_code == 0, answers[1].output
        assert answers[0].stdout == answers[1].stdout
    assert invoke("show", "-", "--json", given=place.read_text("utf-8")).stdout == invoke("show", record, "--json").stdout
    names = [HOSTILE.replace('"', '""').join('""'), "south", CATEGORIES[0]] if is_table(found) else CATEGORIES[::2]
    contrasts = [invoke("contrast", path, *names, "--json") for path in (record, place)]
    assert contrasts[0].exit_code == 0, contrasts[0].output
    assert contrasts[0].stdout == contrasts[1].stdout
    assert invoke("report", place, "--output", tmp_path / "again.html").exit_code == 0


def percent(value: float, decimals: int) -> str:
    return f"{100.0 * value:.{decimals}f}"


def test_the_numbers_are_those_of_the_posterior(tmp_path: Path) -> None:
    found = single(n=60)
    _, page = reported(found, tmp_path, "--mass", "0.8")
    posterior, (heads, *rows) = found.noise_aware(), page.rows
    assert heads == ["category", "noisy count", "share", "80 % interval"]
    ends = posterior.interval(0.8)
    decimals = len(rows[0][2].split()[0].partition(".")[2])
    assert [row[1:] for row in rows] == [
        [f"{count:,}", f"{percent(mean, decimals)} %", f"{percent(low, decimals)} to {percent(high, decimals)} %"]
        for count, mean, (low, high) in zip(found.counts, posterior.mean(), ends, strict=True)
    ]
    drawn = [attributes for tag, attributes in page.tags if tag == "line" and attributes["class"] == "bar"]
    widths = [float((line["x2"] or "").rstrip("%")) - float((line["x1"] or "").rstrip("%")) for line in drawn]
    scale = widths[0] / (ends[0][1] - ends[0][0])
    assert widths == pytest.approx([scale * (high - low) for low, high in ends], abs=0.01)
    assert 20 < max(float((line["x2"] or "").rstrip("%")) for line in drawn) <= 100


def test_the_numbers_of_a_table_in_its_order_and_without_what_cannot_occur(tmp_path: Path) -> None:
    found = table()
    _, page = reported(found, tmp_path)
    figures = found.noise_aware().figures()
    means = [float(row[2].split()[0]) for row in page.rows if row[2] != "share"]
    expected = [100.0 * figures.mean[found.cells.possible[:, c], c] for c in range(3)]
    assert means == pytest.approx([mean for column in expected for mean in column], abs=0.1)
    assert len(means) == 5


def test_where_no_posterior_allows_for_the_noise_the_reported_one_stands_with_its_caveat(tmp_path: Path) -> None:
    mechanism = dc.mechanism("EHDS", dc.Dirichlet([1, 2, 3, 4]), n=200, epsilon=1)
    found = mechanism.release([90, 50, 40, 20])
    _, page = reported(found, tmp_path)
    text = "".join(page.texts)
    assert "These numbers do not allow for the noise." in text
    assert "takes the noisy counts as if they were exact" in text
    refused = invoke("report", tmp_path / "record.json", "--output", tmp_path / "mine.html", "--prior", "1,1,1,1")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "--prior needs a posterior that allows for the noise, and here is none: there is no noise-aware posterior" in refused.stderr
    assert not (tmp_path / "mine.html").exists()
    assert "with probability 95 %" not in text
    assert [attributes["class"] for tag, attributes in page.tags if tag == "table"] == ["pictured reported together"]
    for row, a, count in zip(page.rows[1:], (1, 2, 3, 4), found.counts, strict=True):
        low, high = (float(number) for number in re.findall(r"[0-9.]+", row[3]))
        law = stats.beta(a + count, 210 - a - count)
        assert (low, high) == pytest.approx([100.0 * law.ppf(q) for q in (0.025, 0.975)], abs=0.051)


def test_of_two_categories_one_has_a_panel_and_the_other_a_sentence(tmp_path: Path) -> None:
    """Where a cell cannot occur the two are not each other's rest, and both have one."""
    prior, by = dc.Dirichlet.uniform(categories=["yes", "no"]), {"region": ["b", "a", "c"]}
    found = dc.LatticeGeometric(prior, n=[50] * 3, epsilon=1, by=by).release([[10, 40], [20, 30], [5, 45]])
    _, page = reported(found, tmp_path)
    assert [row[0] for row in page.rows] == ["group", "b", "a", "c"]
    assert "The share of “no” is what is left to 100 %" in "".join(page.texts)
    mean = found.noise_aware().figures().mean
    assert [float(row[2].split()[0]) for row in page.rows[1:]] == pytest.approx(list(100.0 * mean[:, 0]), abs=0.1)
    ranked = shares_of(found, ranked=True).panels[0].rows
    assert [row.mean for row in ranked] == sorted((row.mean for row in ranked), reverse=True)
    cells = dc.LatticeGeometric(prior, n=[50] * 3, epsilon=1, by=by, impossible=[("a", "no")])
    both = shares_of(cells.release([[10, 40], [50, 0], [5, 45]]))
    assert ([panel.heading for panel in both.panels], both.rest) == (["yes", "no"], None)


def test_of_many_groups_the_largest_and_the_smallest_are_shown_and_it_is_said(tmp_path: Path) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), n=[50] * 9, epsilon=1, by={"region": list(range(9))})
    found = mechanism.release([[5 * i, 50 - 5 * i, 0] for i in range(9)])
    with lowered(PAGE_ROWS=4, PAGE_PANELS=1):
        _, page = reported(found, tmp_path)
    text = "".join(page.texts)
    assert "5 between these are not shown; they are in the record" in text
    assert "2 more categories are in the record" in text
    assert "are also those that chance has moved furthest" in text
    assert [len(row) for row in page.rows] == [4, 4, 4, 1, 4, 4]
    shown = [float(row[2].split()[0]) for row in page.rows if len(row) == 4 and row[2] != "share"]
    means = sorted(100.0 * found.noise_aware().figures().mean[:, 0])[::-1]
    assert shown == pytest.approx([*means[:2], *means[-2:]], abs=0.1)


def test_the_answer_comes_first_and_how_it_was_counted_below_the_promise(tmp_path: Path) -> None:
    _, page = reported(table(), tmp_path)
    assert [text for name, text in page.headings if name in ("h1", "h2")] == [
        HOSTILE,
        f"The answer: {HOSTILE}?",
        "What the intervals mean",
        "What is promised",
        "How it was counted",
        "How to check it",
        "The record",
    ]
    text = "".join(page.texts)
    assert text.index("How it was counted") < text.index(str(WORDS.counting))
    categories = (HOSTILE, r"\u202egnp.exe\x1b[31m", "مدخّن")
    assert [text for name, text in page.headings if name == "h3"] == [f"{category}, by {HOSTILE}" for category in categories]
    bare = dc.LatticeGeometric(PRIOR, 60, 1).release([30, 18, 12])
    (tmp_path / "bare").mkdir()
    assert "The record does not say how records were counted." in "".join(reported(bare, tmp_path / "bare")[1].texts)


def test_every_label_of_a_list_is_isolated_so_that_scripts_keep_their_order(tmp_path: Path) -> None:
    place, _ = reported(table(), tmp_path)
    assert "<bdi>\\u202egnp.exe\\x1b[31m</bdi>, <bdi>مدخّن</bdi></bdi></dd>" in place.read_text("utf-8")


@pytest.mark.parametrize("found", mostly_slow([single(n=60), table()], 1), ids=["public", "table"])
def test_the_readers_own_prior(found: dc.Release, tmp_path: Path) -> None:
    place, page = reported(found, tmp_path, "--prior", "60,1/2,20", "--mass", "0.8")
    mine = found.noise_aware(dc.Dirichlet(["60", "1/2", "20"]))
    means = mine.figures().mean.T.ravel() if is_table(found) else mine.mean()
    shown = [float(row[2].split()[0]) for row in page.rows if row[2] != "share"]
    assert sorted(shown) == pytest.approx(sorted(100.0 * mean for mean in means if mean > 0), abs=0.06)
    text = "".join(page.texts)
    assert "These numbers are by the prior of whoever made this page, and not by that of the release." in text
    assert "chose a Dirichlet distribution with the parameters 60, 1/2, 20." in text
    assert "The prior of the release is a Dirichlet distribution with the parameters 1, 1, 1, and gives other" in text
    command = f"discreet show {place.name} --mass 0.8 --prior 60,1/2,20"
    assert command in text
    again = json.loads(invoke("show", place, *command.split()[3:], "--json").stdout)
    cells = again["cells" if is_table(found) else "categories"]
    assert sorted(cell["mean"] for cell in cells) == pytest.approx(sorted(means))
    assert invoke("show", place, "--json").stdout == invoke("show", tmp_path / "record.json", "--json").stdout


def test_the_private_sizes_of_groups(tmp_path: Path) -> None:
    found = dc.LatticeGeometric(PRIOR, epsilon=1, by={"region": ["north", "south"]}).release([[30, 18, 12], [40, 0, 20]])
    assert is_table(found)
    _, page = reported(found, tmp_path, "--mass", "0.9")
    sizes = [found.noise_aware().size[group] for group in ("north", "south")]
    expected = [[f"{size.mean():,.0f}", "{:,} to {:,}".format(*size.interval(0.9))] for size in sizes]
    assert page.rows[-3:] == [["group", "records", "90 % interval"], ["north", *expected[0]], ["south", *expected[1]]]


def test_the_promise_in_plain_words(tmp_path: Path) -> None:
    for folder in ("public", "private", "none"):
        (tmp_path / folder).mkdir()
    public = "".join(reported(single(n=60), tmp_path / "public")[1].texts)
    assert "a guess about what a certain person answered. Even if they know everything about all the others, reading" in public
    assert "by a factor of at most 1.65. A guess that was 50 % likely to be right becomes at most 62.3\u00a0% likely." in public
    private = "".join(reported(single(), tmp_path / "private")[1].texts)
    assert "a guess about whether a certain person took part" in private
    assert "Between two answers of someone who took part the odds change by at most the square of the factor." in private
    assert "Estimated from a number of persons that is itself private" in private
    relaxed = dc.HellingerSmoothDelta(PRIOR, 60, 1, delta="1e-3").release([30, 18, 12])
    (tmp_path / "relaxed").mkdir()
    assert "by a factor of at most 2.72 and an amount of at most 0.001." in "".join(reported(relaxed, tmp_path / "relaxed")[1].texts)
    drawn = dc.LatticeGeometric(PRIOR, 60, 1).release([30, 18, 12], source=SeededBits(1))
    assert "Nothing is promised" in "".join(reported(drawn, tmp_path / "none")[1].texts)


def test_what_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    place, _ = reported(single(n=60), tmp_path)
    large = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1, by={"x": list(range(6000))}).release([[1, 1]] * 6000)
    assert is_table(large)
    large.to_parquet(tmp_path / "large.parquet")
    before = place.read_bytes()
    refused: list[tuple[list[str | Path], str]] = [
        (["record.json", "--output", place], "exists; a page may hold the only copy of a record, so it is not overwritten"),
        (["record.json", "--output", tmp_path / "page.pdf"], "--output must end in .html, got page.pdf"),
        (["page.html", "--output", tmp_path / "page.html"], "is also the record"),
        (["large.parquet", "--output", tmp_path / "large.html"], "a table of at most 10,000 cells"),
        (["record.json", "--output", tmp_path / "new.html", "--mass", "2"], "--mass must be"),
    ]
    for words, says in refused:
        done = invoke("report", tmp_path / words[0], *words[1:])
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
    assert place.read_bytes() == before
    assert not (tmp_path / "new.html").exists()
    assert not (tmp_path / "large.html").exists()


def test_a_page_is_known_whatever_a_program_put_before_it(tmp_path: Path) -> None:
    place, _ = reported(single(n=60), tmp_path)
    known = invoke("verify", tmp_path / "record.json", "--json").stdout
    for before in (b"\xef\xbb\xbf", b"\n \t\r\n" * 40, b"<!-- saved -->\n", b"\xef\xbb\xbf \n<!-- a --><!-- {} -->"):
        (tmp_path / "saved.html").write_bytes(before + place.read_bytes())
        assert invoke("verify", tmp_path / "saved.html", "--json").stdout == known != ""
    (tmp_path / "saved.json").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "record.json").read_bytes())
    assert invoke("verify", tmp_path / "saved.json", "--json").stdout == known


def test_a_page_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    place, _ = reported(single(n=60), tmp_path)
    size, again = place.stat().st_size, tmp_path / "page2.html"  # a name that makes the page two bytes longer, twice
    with lowered(RECORD_CHARACTERS=size):
        done = invoke("report", tmp_path / "record.json", "--output", again)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert f"would be longer than the {size:,} bytes that discreet show reads: publish the record itself" in done.stderr
        assert not again.exists()
        assert invoke("show", place, "--json").exit_code == 0
        assert invoke("report", tmp_path / "record.json", "--output", tmp_path / "last.html").exit_code == 0


def test_a_page_that_is_not_ours_is_refused_in_one_line(tmp_path: Path) -> None:
    place, _ = reported(single(n=60), tmp_path)
    text = place.read_text("utf-8")
    block = re.search(r'<script type="application/json".*?</script>', text, re.DOTALL)
    assert block is not None
    record = json.loads(block[0].partition(">")[2].removesuffix("</script>"))
    assert dc.Release.from_json(json.dumps(record)) == dc.Release.from_json((tmp_path / "record.json").read_text())
    for name, changed in (
        ("empty", "<!DOCTYPE html><title>x</title>"),
        ("cut", text[: text.index("</script>")]),
        ("twice", text.replace(block[0], block[0] * 2)),
        ("spoiled", text.replace('"discreet release"', '"another"')),
    ):
        (tmp_path / f"{name}.html").write_text(changed, "utf-8")
        for command in ("show", "verify", "report"):
            more: list[str | Path] = ["--output", tmp_path / "new.html"] if command == "report" else []
            done = invoke(command, tmp_path / f"{name}.html", *more)
            assert done.exit_code == 2
            assert done.stderr.count("\n") == 1
            assert "this is not a" in done.stderr
