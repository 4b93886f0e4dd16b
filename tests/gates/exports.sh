#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: exports.sh LIBRARY [LIST]
# The library exports exactly the names of the list (default exports.list): a missing one is a hook
# that does not hook, an extra one takes a name away from the traced program.
set -eu
export LC_ALL=C

library=$1
list=${2:-$(dirname "$0")/exports.list}

names=$(nm -D --defined-only --format=just-symbols "$library" | sort -u)
wanted=$(sed 's/#.*//' "$list" | tr -s ' \t' '\n' | sed '/^$/d' | sort -u)

if [ -z "$names" ]; then
    echo "exports: $library exports nothing"
    exit 1
fi
if [ "$names" != "$wanted" ]; then
    dir=$(mktemp -d)
    echo "$wanted" >"$dir/wanted"
    echo "$names" >"$dir/names"
    comm -23 "$dir/wanted" "$dir/names" | sed 's/^/exports: missing: /'
    comm -13 "$dir/wanted" "$dir/names" | sed 's/^/exports: not in the list: /'
    rm -r "$dir"
    exit 1
fi
echo "exports: $(echo "$names" | wc -l) names, as listed"
