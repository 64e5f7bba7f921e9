#!/bin/sh
# SQLite 3.39.4, the copy in one file that Debian 12 has in the sources of DBD::SQLite 1.72, made
# with $CC in the current directory: ./sqlite
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$SOURCE/debian/fetch.py" \
    pool/main/libd/libdbd-sqlite3-perl/libdbd-sqlite3-perl_1.72.orig.tar.gz \
    5ca41e61eb52b52bd862a3088b912a75fe70910ac789b9a9983e0a449e94f551 sqlite-source
echo "compiling SQLite"
$CC -O1 -g -w -DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 \
    -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_WAL -DSQLITE_ENABLE_MEMORY_MANAGEMENT \
    -I sqlite-source -I "$SOURCE/debian" -o sqlite "$here/harness.c" sqlite-source/sqlite3.c -lm
