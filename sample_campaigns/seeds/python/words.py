import os.path as path, sys
import re
from collections import *

COUNTS = {}
PATTERN = re.compile(r"\w+")


def count(text, *, least=1, **more):
    """Count words.

    >>> count("a b a")
    {'a': 2}
    """
    global COUNTS
    found = {}
    for word in PATTERN.findall(text):
        found[word] = found.get(word, 0) + 1
    else:
        COUNTS = found
    return {w: n for w, n in found.items() if n >= least and w not in more}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    for name in argv:
        if not path.exists(name):
            continue
        with open(name) as file, open(name + ".out", "w") as out:
            lines = [line.strip() for line in file]
            while lines:
                line, *lines = lines
                if (n := len(line)) > 80 and line != "":
                    assert n, "long line"
                    print("{} {n}".format(line, n=n), file=out)
                elif line is "":
                    break
    return lambda x=0, *y: (x, y)


if __name__ == "__main__":
    main()
