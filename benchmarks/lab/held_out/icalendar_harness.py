"""icalendar: components parsed from bytes, their properties decoded, all printed again."""

from icalendar import Component


def read(text: str) -> list[object]:
    # Bytes, because a short text could be taken for the name of a file.
    found: list[object] = []
    for component in Component.from_ical(text.encode(), multiple=True):
        for part in component.walk():
            found.append((part.name, [str(error) for error in part.errors]))
            found += [(name, repr(value)) for name, value in part.property_items()]
        found.append(component.to_ical())
    return found
