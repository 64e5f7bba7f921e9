#!/bin/sh
# mawk 1.3.4 of Debian 12, made with $CC in the current directory: ./mawk
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$SOURCE/debian/fetch.py" pool/main/m/mawk/mawk_1.3.4.20200120.orig.tar.gz \
    7fd4cd1e1fae9290fe089171181bbc6291dfd9bca939ca804f0ddb851c8b8237 mawk-source
echo "compiling mawk"
cd mawk-source
./configure --quiet --disable-echo > configured 2>&1
make -s scancode.c
parts=
for part in parse scan memory main hash execute code da error init bi_vars cast print bi_funct kw \
    jmp array field split re_cmpl regexp fin files scancode matherr fcall version zmalloc; do
    parts="$parts $part.c"
done
# shellcheck disable=SC2086
$CC -O2 -g -w -DHAVE_CONFIG_H -Dexit=left -Dmain=mawk_main -I. -c $parts
$CC -O2 -g -w -DHAVE_CONFIG_H -I. -I "$SOURCE/debian" -o ../mawk "$here/harness.c" ./*.o -lm
