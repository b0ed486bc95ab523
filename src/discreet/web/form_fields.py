"""The fields of a form, made from what a question declares."""

from discreet.present.html import Html, element, escaped, joined, void
from discreet.requests.fields import Field, Request, fields_of


def row(screen: str, one: Field, value: str | None = None) -> Html:
    """A field as it is declared: its label, where it is typed, a hint, and a place for what is wrong; nothing if no form has it."""
    if one.form is None:
        return Html()
    form, place = one.form, f"{screen}-{one.name}"
    said = [element("p", form.hint, class_="hint", id=f"{place}-hint")] if form.hint else []
    said.append(element("p", id=f"{place}-error", class_="error", aria_live="polite"))
    described = f"{place}-hint {place}-error" if form.hint else f"{place}-error"
    about = {"id": place, "name": one.name, "aria_describedby": described}
    if one.kind.is_switch:
        return joined(element("label", void("input", **about, type="checkbox", value="yes"), f" {form.label}", class_="choice"), *said)
    text = form.value if value is None else value
    if form.rows:
        large = element("textarea", _lines(text), **about, rows=str(form.rows), spellcheck="false")
        placed = Html(large.replace(">", f' placeholder="{_lines(form.placeholder)}">', 1))
        return joined(element("label", form.label, for_=place), placed if form.placeholder else large, *said)
    about |= {"placeholder": form.placeholder} if form.placeholder else {}
    if form.choices:
        typed_in = element("select", *(element("option", label, value=choice) for choice, label in form.choices.items()), **about)
    else:
        typed_in = void("input", **about, type="text", value=text, **({"inputmode": form.numeric} if form.numeric else {}))
    return joined(element("label", form.label, for_=place), typed_in, *said)


def _lines(text: str) -> Html:
    """A text of several lines, in an element or in an attribute."""
    return Html("&#10;".join(map(escaped, text.splitlines())))


def rows(screen: str, question: type[Request], group: str, /, **values: str) -> Html:
    """The fields of one part of a form, some of them with other values than an untouched form has."""
    found = [one for one in fields_of(question).values() if one.form is not None and one.form.group == group]
    return joined(*(row(screen, one, values.get(one.name)) for one in found))


def part(legend: str, *content: Html) -> Html:
    """A part of a form that is open."""
    return element("fieldset", element("legend", legend), *content)


def folded(summary: str, *content: Html) -> Html:
    """A part of a form that is closed until someone opens it."""
    return element("details", element("summary", summary), *content, class_="more")
