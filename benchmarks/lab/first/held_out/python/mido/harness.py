"""mido: reads a MIDI file, and writes it again."""

import io

import mido


def read(data: bytes) -> bytes:
    song = mido.MidiFile(file=io.BytesIO(data))
    written = io.BytesIO()
    song.save(file=written)
    return written.getvalue()
