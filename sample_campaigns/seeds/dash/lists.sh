#!/bin/sh
set -eu
name=${1:-world} count=$((1 + 2 * 3))
greet() {
    echo "hello, $name" && return 0 || exit 1
}
if [ "$count" -gt 3 ] && greet; then
    greet >/dev/null 2>&1
elif ! greet; then :
else
    echo 'none'
fi
