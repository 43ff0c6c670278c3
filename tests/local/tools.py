"""The nine tools that the questions are answered with; the same call gives the same text always.

They tell a problem as text that begins with "error:", so that only the model's way with tools is
measured. The model reads their docstrings.
"""

import re
from collections.abc import Callable
from datetime import timedelta

from tests.local.arithmetic import evaluate
from tests.local.world import ALIASES, CONTACTS, FILES, NOTES, NOW, UNITS, WEATHER, ZONES

STOP_WORDS = {
    "the",
    "a",
    "an",
    "of",
    "my",
    "in",
    "is",
    "to",
    "and",
    "for",
    "on",
    "what",
    "note",
    "notes",
    "at",
    "i",
    "it",
}
TEMPERATURES = ("celsius", "fahrenheit", "kelvin")
BEST_NOTES = 3


def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression and return the result.

    Args:
        expression: The expression, for example "(12.5 + 3) * 4" or "sqrt(2) ** 3".
    """
    try:
        return number_text(evaluate(expression))
    except ValueError as fault:
        return f"error: {fault}"


def current_time(timezone: str) -> str:
    """Get the current date, weekday and time in a time zone.

    Args:
        timezone: An IANA time zone name, for example "Europe/Paris".
    """
    wanted = timezone.strip().replace(" ", "_").lower()
    for name, minutes in ZONES.items():
        if name.lower() == wanted:
            return f"{NOW + timedelta(minutes=minutes):%A %Y-%m-%d %H:%M} in {name}"
    return f"error: unknown time zone {timezone!r}, use an IANA name such as Europe/Paris"


def search_notes(query: str) -> str:
    """Search the user's personal notes by keywords and return the best matching notes.

    Args:
        query: One or more keywords, for example "wall colour".
    """
    wanted = _words(query)
    scores = {
        number: 2 * len(wanted & _words(title)) + len(wanted & _words(body))
        for number, (title, body) in NOTES.items()
    }
    found = sorted((number for number in NOTES if scores[number]), key=lambda n: (-scores[n], n))
    return "\n".join(map(_note, found[:BEST_NOTES])) or f"no notes match {query!r}"


def get_note(note_id: int) -> str:
    """Read one of the user's notes by its number.

    Args:
        note_id: The number of the note.
    """
    return _note(note_id) if note_id in NOTES else f"error: there is no note {note_id}"


def unit_convert(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a value between units of length, mass, volume, time or temperature.

    Args:
        value: The number to convert.
        from_unit: The unit of the value, for example "km", "lb" or "celsius".
        to_unit: The unit to convert to.
    """
    start, end = _unit(from_unit), _unit(to_unit)
    if start is None or end is None:
        return f"error: unknown unit {from_unit if start is None else to_unit!r}"
    converted = _converted(float(value), start, end)
    if converted is None:
        return f"error: cannot convert {from_unit} to {to_unit}"
    return f"{number_text(float(value))} {from_unit} = {number_text(round(converted, 6))} {to_unit}"


def list_files() -> str:
    """List the names of the files in the user's folder."""
    return "\n".join(sorted(FILES))


def read_file(path: str) -> str:
    """Read the text of a file in the user's folder.

    Args:
        path: The file name, for example "photo.txt".
    """
    name = path.strip().lstrip("./").split("/")[-1]
    known = ", ".join(sorted(FILES))
    return FILES.get(name, f"error: there is no file {path!r}; the files are {known}")


def weather(city: str) -> str:
    """Get the current weather in a city: temperature in degrees Celsius and conditions.

    Args:
        city: The name of the city in English.
    """
    name = city.split(",")[0].strip().lower()
    if name not in WEATHER:
        return f"error: no weather station in {city!r}"
    degrees, sky = WEATHER[name]
    return f"{name.title()}: {degrees} degrees Celsius, {sky}"


def contacts(name: str) -> str:
    """Look up a person in the user's address book: phone, e-mail, city and year of birth.

    Args:
        name: The person's name or part of it.
    """
    wanted = name.strip().lower()
    found = [
        f"{person}: {known}"
        for person, known in CONTACTS.items()
        if wanted and (wanted in person.lower() or person.lower() in wanted)
    ]
    return "\n".join(found) or f"no contact is called {name!r}"


TOOLS: list[Callable[..., str]] = [
    calculator,
    current_time,
    search_notes,
    get_note,
    unit_convert,
    list_files,
    read_file,
    weather,
    contacts,
]


def number_text(value: float) -> str:
    """Write a number without a fraction where it has none, else with ten digits."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.10g}"


def _words(text: str) -> set[str]:
    found = re.findall(r"[a-z0-9]+", text.lower())
    return {
        word[:-1] if len(word) > len("its") and word.endswith("s") else word for word in found
    } - STOP_WORDS


def _note(number: int) -> str:
    title, body = NOTES[number]
    return f"[note {number}] {title}: {body}"


def _unit(name: str) -> str | None:
    """Find a unit by its short name, a full one or its plural."""
    plain = re.sub(r"degrees?[ _]*", "", name.strip().lower()).replace(" ", "").rstrip(".")
    for spelling in (plain, plain.removesuffix("s")):
        unit = ALIASES.get(spelling, spelling)
        if unit in UNITS or unit in TEMPERATURES:
            return unit
    return None


def _converted(value: float, start: str, end: str) -> float | None:
    if start in TEMPERATURES and end in TEMPERATURES:
        celsius = {
            "celsius": value,
            "fahrenheit": (value - 32) / 1.8,
            "kelvin": value - 273.15,
        }[start]
        return {"celsius": celsius, "fahrenheit": celsius * 1.8 + 32, "kelvin": celsius + 273.15}[
            end
        ]
    if start in TEMPERATURES or end in TEMPERATURES or UNITS[start][0] != UNITS[end][0]:
        return None
    return value * UNITS[start][1] / UNITS[end][1]
