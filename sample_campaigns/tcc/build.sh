#!/bin/sh
# tcc of Debian 12 (0.9.27 and three years) for x86-64, made with $CC in the current directory:
# ./tcc, include/, and seeds/ of its own tests: those of up to 4 kB that it accepts here.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python3 -I "$here/../debian/fetch.py" \
    pool/main/t/tcc/tcc_0.9.27+git20200814.62c30a4a.orig.tar.bz2 \
    d63c113bcdd657f51c8ee197a0b0a24203603313e19a52b5f678d40ab7f5df35 tcc-source
mkdir -p include seeds
cp tcc-source/include/*.h "$here"/include/*.h include/
cat > tcc-source/config.h <<'END'
#define TCC_VERSION "0.9.27"
#define TCC_TARGET_X86_64 1
#define CONFIG_TCCDIR "/nonexistent"
#define CONFIG_SYSROOT "/nonexistent"
END
echo "compiling tcc"
$CC -O2 -g -w -fno-strict-aliasing "-DINCLUDE=\"$PWD/include\"" -I tcc-source -I "$here/../debian" \
    -o tcc "$here/harness.c" -lm -ldl -lpthread
export ASAN_OPTIONS=detect_leaks=0  # of AFL_USE_ASAN=1: tcc does not free all, but in the end
find tcc-source/tests/tests2 -name '*.c' -size -9 | LC_ALL=C sort | while read -r seed; do
    if ./tcc "$seed" > verdict 2>&1; then cp "$seed" seeds/; fi
done
echo "$(ls seeds | wc -l) of tcc's tests are seeds"
