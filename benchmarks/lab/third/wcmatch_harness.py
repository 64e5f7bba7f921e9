"""wcmatch: flags on the first line, then patterns, as regular expressions and against names."""

from wcmatch import fnmatch, glob

# Short names: a regular expression cannot be interrupted. No flag that reads the file system.
NAMES = ["a", "ab.txt", ".b", "src/lib/x1.py", "src/.h/[z]", "A-2", "c:/d", "e\\f", "10", ""]
FLAGS = {letter: getattr(glob, letter) for letter in "ABCDEGILMNOQRSUWXZ"} | {"#": glob.NUMRANGE}


def match(text: str) -> list[object]:
    letters, *patterns = text.split("\n")
    flags = 0
    for letter in letters:
        flags |= FLAGS.get(letter, 0)
    found: list[object] = [glob.translate(patterns, flags=flags)]
    found += [fnmatch.translate(patterns, flags=flags & fnmatch.FLAG_MASK)]
    found += [glob.globfilter(NAMES, patterns, flags=flags)]
    found += [fnmatch.filter(NAMES, patterns, flags=flags & fnmatch.FLAG_MASK)]
    for pattern in patterns:
        found.append((glob.is_magic(pattern, flags=flags), glob.escape(pattern)))
    return found
