#!/bin/sh
# MuJS 1.3.2 of Debian 12, made with $CC in the current directory: ./mujs
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$here/../debian/fetch.py" pool/main/m/mujs/mujs_1.3.2.orig.tar.xz \
    4886593fc688b0cdccd31e5ecbe5afe7ad1bee23aa69e667b871afd5dfc640c3 mujs-source
echo "compiling MuJS"
$CC -O2 -g -I mujs-source -I "$here/../debian" -o mujs "$here/harness.c" mujs-source/one.c -lm
