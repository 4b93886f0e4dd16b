#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line is an interface: each NAME.sh here is a command or two, NAME.out what it prints
# (stdout and stderr together) and, last, its exit status.
#
#   run.sh [--update] [NAME…]     all names without one; --update writes what was printed
#
# In a NAME.sh, `memspy` is the one of $MEMSPY_BUILD (default build/), $GOLDEN is tests/golden/v1,
# and the current directory is an empty one.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${MEMSPY_BUILD:-$here/../../build}" && pwd) || exit 2
update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -eq 0 ]; then
    for script in "$here"/*.sh; do
        [ "$script" = "$here/run.sh" ] || set -- "$@" "$(basename "$script" .sh)"
    done
fi

# Runs one script; prints what it prints, then its status.
output_of() {
    work=$(mktemp -d)
    (
        cd "$work" || exit 2
        unset LD_PRELOAD "${!MEMSPY_@}"
        LC_ALL=C COLUMNS=80 GOLDEN=$here/../golden/v1 PATH=$build:$PATH bash "$here/$1.sh" 2>&1 </dev/null
        echo "status $?"
    )
    rm -rf "$work"
}

failed=0
for name in "$@"; do
    if [ ! -e "$here/$name.sh" ]; then
        echo "$name: no such test" >&2
        exit 2
    fi
    if [ $update = yes ]; then
        output_of "$name" >"$here/$name.out"
    elif ! output_of "$name" | diff -u "$here/$name.out" -; then
        echo "FAILED: $name"
        failed=1
    fi
done
[ $failed -eq 0 ] && echo "$# passed"
exit $failed
