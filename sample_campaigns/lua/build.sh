#!/bin/sh
# Lua 5.4.4 of Debian 12 without its libraries, made with $CC in the current directory: ./lua
#
# LUAI_ASSERT: its own checks are on, and what fails one is a crash. The seed of its hashes is
# random otherwise, and one input would not cover the same twice.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$here/../debian/fetch.py" pool/main/l/lua5.4/lua5.4_5.4.4.orig.tar.gz \
    164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61 lua-source
core=
for part in api auxlib code ctype debug do dump func gc lex mem object opcodes parser state \
    string table tm undump vm zio; do
    core="$core lua-source/src/l$part.c"
done
echo "compiling Lua"
# shellcheck disable=SC2086
$CC -O2 -g -DLUAI_ASSERT '-Dluai_makeseed(L)=0x5eed' -I lua-source/src -I "$here/../debian" \
    -o lua "$here/harness.c" $core -lm
