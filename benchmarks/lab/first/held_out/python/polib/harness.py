"""polib: reads a catalogue of messages, and writes it again in both formats."""

import polib


def read(data: bytes) -> bytes:
    # A text that names a file would be read from there: no name ends with a newline here.
    catalogue = polib.pofile(data.decode() + "\n")
    str(catalogue)
    return catalogue.to_binary()
