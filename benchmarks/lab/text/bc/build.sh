#!/bin/sh
# GNU bc 1.07.1 of Debian 12, without its library of functions, made with $CC in the current
# directory: ./bc
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$SOURCE/debian/fetch.py" pool/main/b/bc/bc_1.07.1.orig.tar.gz \
    62adfca89b0a1c0164c2cdca59ca210c1d44c3ffc46daf9931cf4942664cb02a bc-source
cat > bc-source/config.h <<'END'
#define HAVE_LIMITS_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_ERRNO_H 1
#define HAVE_STDARG_H 1
#define PACKAGE "bc"
#define VERSION "1.07.1"
#define BC_COPYRIGHT ""
END
echo '{0}' > bc-source/bc/libmath.h
echo "compiling bc"
flags="-O2 -g -w -DHAVE_CONFIG_H -I bc-source -I bc-source/h -I bc-source/bc"
# shellcheck disable=SC2086
{
    $CC $flags -Dexit=left -Dvfprintf=count_error -Dexecute=skip_execute -c bc-source/bc/util.c
    $CC $flags -Dexit=left -Dexecute=skip_execute -c bc-source/bc/load.c
    $CC $flags -Dexit=left -Dread=take -c bc-source/bc/scan.c
    $CC $flags -Dexit=left -c bc-source/bc/bc.c bc-source/bc/execute.c bc-source/bc/global.c \
        bc-source/bc/storage.c bc-source/bc/warranty.c bc-source/lib/number.c
    $CC $flags -I "$SOURCE/debian" -o bc "$here/harness.c" ./*.o
}
