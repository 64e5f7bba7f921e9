#!/bin/sh
# mruby 3.1.0 of Debian 12: core and compiler, made with $CC in the current directory: ./mruby
#
# MRB_NO_PRESYM: the table of symbols that it can do without is made by a program in Ruby.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$SOURCE/debian/fetch.py" pool/main/m/mruby/mruby_3.1.0.orig.tar.gz \
    64ce0a967028a1a913d3dfc8d3f33b295332ab73be6f68e96d0f675f18c79ca8 mruby-source
echo "compiling mruby"
core=mruby-source/mrbgems/mruby-compiler/core
$CC -O2 -g -w -DMRB_NO_PRESYM -DMRB_NO_GEMS -I mruby-source/include -I $core \
    -I "$SOURCE/debian" -o mruby "$here/harness.c" mruby-source/src/*.c $core/codegen.c \
    $core/y.tab.c -lm
