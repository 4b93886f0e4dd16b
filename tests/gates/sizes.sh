#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: sizes.sh [ROOT]
# No function above 80 lines; no .c of the shim above 400 lines, of the analyzer above 450; no
# header above 150 but for the tables of include/memspy. Prints what the lengths are.
set -eu
export LC_ALL=C

cd "${1:-$(dirname "$0")/../..}"
status=0

too_long() { # MAX FILE...
    local max=$1 file lines
    shift
    for file in "$@"; do
        [ -f "$file" ] || continue
        lines=$(wc -l <"$file")
        if [ "$lines" -gt "$max" ]; then
            echo "sizes: $file has $lines lines, more than $max"
            status=1
        fi
    done
}

too_long 400 shim/*.[cS]
too_long 450 analyzer/*.c
for header in include/memspy/*.h shim/*.h analyzer/*.h; do
    case $header in
    */memspy/event.h | */memspy/columns.h | */memspy/format.h | */memspy/counters.h) ;;
    *) too_long 150 "$header" ;;
    esac
done

# One line a function: its length, its name, its place. A macro that generates functions (the hooks)
# is not a function to ctags.
dirs=()
for dir in shim analyzer include tests examples; do
    [ ! -d "$dir" ] || dirs+=("$dir")
done
lengths=$(ctags -R -x --languages=C --map-C=+.h --c-kinds=f --fields=+e \
    --_xformat='%e %n %N %F' "${dirs[@]}" | awk '{ print $1 - $2 + 1, $3, $4 ":" $2 }' | sort -n)
if [ -z "$lengths" ]; then
    echo "sizes: no function found"
    exit 1
fi
echo "$lengths" | awk '
    { length_of[NR] = $1 }
    $1 > 80 { print "sizes: " $2 " (" $3 ") has " $1 " lines, more than 80"; bad = 1 }
    function quantile(q,    i) { i = int(NR * q + 0.999999); return length_of[i < 1 ? 1 : i] }
    END {
        printf "sizes: %d functions, median %d lines, p90 %d, longest %d (%s)\n",
            NR, quantile(0.5), quantile(0.9), $1, $2
        exit bad
    }' || status=1
exit "$status"
