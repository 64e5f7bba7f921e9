#!/bin/sh
# dash 0.5.12 of Debian 12, made with $CC in the current directory: ./dash
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$here/../debian/fetch.py" pool/main/d/dash/dash_0.5.12.orig.tar.gz \
    6a474ac46e8b0b32916c4c60df694c82058d3297d8b385b74508030ca4a8f28a dash-source
echo "compiling dash"
cd dash-source
./configure --quiet
make -s
cp src/dash ../dash
