#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: make.sh BUILD [NAME...]
# Records the golden traces, or those named, with the shim and the memspy of a build directory, and
# writes what memspy says about them beside them. Once a version of the format is released its
# traces are not made again: a new version gets a directory of its own.
#
# The programs run in a directory with a plain name, on a system with a plain name (uname.c) and
# without address space randomisation, so that the traces say little about where they were made.
set -eu

build=$(realpath "$1")
shift
here=$(dirname "$(realpath "$0")")
out=$here/../v1
place=/tmp/memspy-golden

mkdir "$place"
trap 'rm -r "$place"' EXIT
cp "$build/libmemspy.so" "$place"
for program in basic threads family spawns killed loops wide; do
    gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -fno-builtin -fno-optimize-sibling-calls \
        -o "$place/$program" "$here/$program.c" -pthread
done
gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -fPIC -shared -o "$place/uname.so" \
    "$here/uname.c"

# What memspy says about a trace. See test_golden.py for the same.
expect() { # DIRECTORY NAME
    cd "$1"
    status=0
    "$build/memspy" check --json "$2.mspy" >"$place/check" 2>/dev/null || status=$?
    { echo "status $status" && cat "$place/check"; } >"$2.check"
}

wanted=" $* "
# Runs a program as NAME, and fails unless it ends with STATUS.
record() { # NAME STATUS [VARIABLE=VALUE] PROGRAM [ARGUMENT...]
    name=$1
    should=$2
    shift 2
    case $wanted in
    "  " | *" $name "*) ;;
    *) return 0 ;;
    esac
    status=0
    (cd "$place" && setarch -R env -i MEMSPY_OUT="$place/$name.mspy" \
        LD_PRELOAD="$place/uname.so $place/libmemspy.so" "$@") || status=$?
    if [ "$status" -ne "$should" ]; then
        echo "make.sh: $name ended with $status" >&2
        exit 1
    fi
    install -m 644 "$place/$name.mspy" "$out"
    expect "$out" "$name"
    rm -f "$name.dump" "$name.dump.gz"
    "$build/memspy" dump --raw "$name.mspy" >"$name.dump"
    [ "$(wc -c <"$name.dump")" -lt 200000 ] || gzip -9n "$name.dump"
}

record basic 0 ./basic
record exact 0 MEMSPY_KERNEL=exact ./basic
record threads 0 ./threads
record family 0 ./family
record spawns 0 PATH=/nowhere:/tmp/memspy-golden:/bin ./spawns
record killed 137 ./killed 60
record sealed 137 ./killed 2500
record loops 0 ./loops
record wide 0 ./wide
record wide_live 137 ./wide killed

# The bad ones are made from `sealed`.
rm -f "$out"/bad/*
/usr/bin/python3 -B "$here/spoil.py" "$out/sealed.mspy" "$out/bad"
for trace in "$out"/bad/*.mspy; do
    expect "$out/bad" "$(basename "$trace" .mspy)"
done
