"""The screen for plans as a steward meets it: headless Chromium, by keyboard, at three widths, dark and light."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import discreet as dc
from tests.browser_support import MARKS, SERIOUS, WIDTHS, until
from tests.web.browser import CLIPBOARD, page_of, until_held
from tests.web.server import Server

pytestmark = MARKS
OVERFLOWING = """() => [...document.querySelectorAll('#plan *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.right > window.innerWidth + 0.5 || box.left < -0.5);
}).map(element => element.outerHTML)"""


@contextmanager
def opened(server: Server, **options: Any) -> Iterator[Any]:
    """The page, with its first answer."""
    with page_of(server, permissions=CLIPBOARD, **options) as page:
        page.wait_for_selector("#plan-answer section")
        yield page


def lead(page: Any) -> str:
    return str(page.inner_text("#plan-answer .lead"))


def changed(page: Any, before: str) -> str:
    until(
        page, "before => { const lead = document.querySelector('#plan-answer .lead'); return lead && lead.innerText !== before; }", before
    )
    return lead(page)


def test_planning_by_keyboard(server: Server) -> None:
    with opened(server) as page:
        first = lead(page)
        assert "ε = 0.2 and 1,000 records" in first
        page.focus("#plan-slider")
        page.keyboard.press("Home")
        lowest = changed(page, first)
        assert "ε = 0.01 " in lowest
        assert page.get_attribute("#plan-slider", "aria-valuetext") == "ε = 0.01"
        page.keyboard.press("End")
        assert "ε = 10 " in changed(page, lowest)
        page.focus("#plan-epsilon")
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.type("1/3")
        until(page, "document.querySelector('#plan-answer .lead').innerText.includes('0.333333')")
        assert float(page.input_value("#plan-slider")) == pytest.approx(-0.48)
        page.fill("#plan-categories", "yes\nno")
        page.fill("#plan-n", "60")
        until(page, "document.querySelector('#plan-answer .lead').innerText.includes('60 records')")
        assert lead(page) == dc.plan(dc.Beta(1, 1), n=60, epsilon="1/3").sentence  # type: ignore[union-attr]
        until(page, "document.querySelector('#plan-curves h3')?.innerText.includes('n = 60')")
        page.click("text=For researchers: every mechanism")
        until(page, "document.querySelector('#plan-compared caption')?.innerText.includes('points')")
        until(page, "!document.querySelector('.later [aria-busy=true]')")
        assert page.locator("#plan-curves svg[role=img]").count() == 2
        assert "your choice" in page.inner_text("#plan-compared")
        page.fill("#plan-goal", "30")
        page.keyboard.press("Enter")
        page.wait_for_selector("#plan-goal-answer [data-epsilon]")
        needed = page.get_attribute("#plan-goal-answer [data-epsilon]", "data-epsilon")
        assert page.input_value("#plan-epsilon") == needed
        until(page, "needed => document.querySelector('#plan-answer .lead').innerText.includes(`ε = ${needed} `)", needed)


def test_a_late_answer_to_a_goal_does_not_move_what_was_typed_since(server: Server) -> None:
    with opened(server) as page:
        held: list[Any] = []
        page.route("**/plan/goal", lambda route: held.append(route))
        page.fill("#plan-goal", "5")
        page.keyboard.press("Enter")
        until_held(page, held)
        page.fill("#plan-epsilon", "0.9")
        held[0].continue_()
        page.unroute("**/plan/goal")
        page.wait_for_selector("#plan-goal-answer:not([aria-busy])", state="attached")
        assert page.input_value("#plan-epsilon") == "0.9"
        assert page.inner_text("#plan-goal-answer") == ""
        page.press("#plan-goal", "Enter")
        page.wait_for_selector("#plan-goal-answer [data-epsilon]")
        page.focus("#plan-slider")
        page.keyboard.press("Home")
        assert page.inner_text("#plan-goal-answer") == ""  # it was about another plan


def test_a_plan_fills_in_the_form_of_a_release(server: Server) -> None:
    """What the plan does not decide, such as the column, stays as it was typed. The labels of the first example are nobody's."""
    with opened(server) as page:
        page.click("text=Release as planned")
        page.wait_for_selector("#release-form")
        until(page, "() => document.getElementById('release-epsilon').value === '0.2'")
        assert page.input_value("#release-categories") == ""
        page.click("[data-screen=plan]")
        page.click("text=Prior, groups, shares")
        page.fill("#plan-prior", "1,2")
        page.fill("#plan-categories", "yes\nno")
        page.fill("#plan-groups", "region=north,south")
        until(page, "document.querySelector('#plan-answer .lead').innerText.includes('for the whole table')")
        for epsilon, categories in (("1/7", "yes\nno"), ("0.7", "often\nnever")):
            page.click("[data-screen=plan]")
            page.fill("#plan-categories", categories)
            page.fill("#plan-epsilon", epsilon)
            page.click("text=Release as planned")  # before there is an answer to what was typed
            page.wait_for_selector("#release-form")
            until(page, "epsilon => document.getElementById('release-epsilon').value === epsilon", epsilon)
            assert (page.input_value("#release-categories"), page.input_value("#release-prior")) == (categories, "1,2")
            assert page.input_value("#release-column") == ("" if epsilon == "1/7" else "smoking")
            assert page.input_value("#release-by") == "region=north,south"
            with page.expect_response("**/typed/release"):
                page.fill("#release-column", "smoking")
        page.reload()
        page.wait_for_selector("#release-form")
        assert (page.input_value("#release-column"), page.input_value("#release-epsilon")) == ("smoking", "0.7")
        page.click("[data-screen=plan]")
        page.wait_for_selector("#plan-form")
        assert page.input_value("#plan-groups") == "region=north,south"


def test_a_slider_that_does_not_wait(server: Server) -> None:
    """Answers come while it moves without a pause, also while others are computed, and the last is the one that stays."""
    with opened(server) as page:
        seen = {lead(page)}
        page.focus("#plan-slider")
        for step in range(1000):
            page.keyboard.press("ArrowRight" if step % 100 < 50 else "ArrowLeft")
            page.wait_for_timeout(50)
            seen.add(lead(page))
            if len(seen) > 4:
                break
        assert len(seen) > 4
        last = f"ε = {page.input_value('#plan-epsilon')}"
        until(page, "last => document.querySelector('#plan-answer .lead').innerText.includes(last + ' ')", last)
        until(page, "last => document.querySelector('#plan-curves .here-key')?.innerText.includes(last + ',')", last)
        until(page, "!document.querySelector('.later [aria-busy=true]')")


def test_copying_a_command(server: Server) -> None:
    """After a reload that follows the skip link too, which must leave the token of the tab alone."""
    with opened(server) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "plan"
        page.goto(f"http://{server.host}/#plan")
        page.reload()
        page.wait_for_selector("#plan-answer section")
        page.click("#plan-answer section:first-child .same summary")
        page.click("[data-copy=plan-width-command]")
        until(page, "document.querySelector('[data-copy=plan-width-command]').innerText === 'Copied'")
        assert page.evaluate("navigator.clipboard.readText()").strip() == "discreet plan --n 1000 --epsilon 0.2 --prior uniform:3"


def test_a_mistake_is_explained_and_what_was_typed_stays(server: Server) -> None:
    with opened(server) as page:
        first = lead(page)
        page.fill("#plan-n", "many")
        until(page, "document.getElementById('plan-n').getAttribute('aria-invalid') === 'true'")
        assert "a whole number such as" in page.inner_text("#plan-n-error")
        assert page.is_visible("#plan-stale")
        assert (lead(page), page.input_value("#plan-n")) == (first, "many")
        assert float(page.evaluate("getComputedStyle(document.getElementById('plan-answer')).opacity")) < 1.0
        page.evaluate("document.getElementById('plan-expect').value = '2'")
        page.fill("#plan-n", "10")
        page.wait_for_selector("#plan-expect-error:not(:empty)", state="visible")
        assert page.inner_text("#plan-n-error") == ""
        page.fill("#plan-expect", "")
        assert "10 records" in changed(page, first)
        assert page.is_hidden("#plan-stale")


def test_hostile_labels_do_nothing(server: Server) -> None:
    with opened(server) as page:
        page.fill("#plan-categories", "<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n'\"><b id=evil>")
        page.wait_for_selector("#plan-answer .pictured bdi:text('onerror')")
        assert page.locator("#plan img, #plan script, #evil").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_and_everyone(server: Server, scheme: str) -> None:
    """No sideways scroll, and nothing serious that axe finds, with all that can be open open."""
    with opened(server, color_scheme=scheme, reduced_motion="reduce") as page:
        page.wait_for_selector("#plan-curves figure")
        page.click("text=For researchers: every mechanism")
        page.wait_for_selector("#plan-compared table")
        until(page, "!document.querySelector('.later [aria-busy=true]')")
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(OVERFLOWING) == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate("getComputedStyle(document.querySelector('.computing'), '::before').animationName") == "none"
        assert page.evaluate(SERIOUS) == []
