#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: undefined.sh LIST OBJECT...
# What each object file of the shim takes from outside of it is in the list, which has lines of
# "OBJECT: NAME..." (OBJECT without its suffixes; * for every object; a NAME may end in *). Names
# that another of the objects defines are free. So nobody can slip in a malloc, a stdio call or a
# dlsym where it could not run. Names of the list that nobody takes are told, and are no failure:
# one compiler calls memset where the other writes a loop.
set -eu
export LC_ALL=C

list=$1
shift
if [ "$#" -eq 0 ]; then
    echo "undefined: no objects"
    exit 1
fi

symbols=$(nm --format=posix -A -g "$@")

echo "$symbols" | awk -v list="$list" '
function fail(text) { print "undefined: " text; bad = 1 }

# The object of a path: "dir/hook_alloc.c.o:" is hook_alloc.
function object(path) {
    sub(/:$/, "", path)
    sub(/.*\//, "", path)
    sub(/\..*/, "", path)
    return path
}

function allowed(o, name,    prefix) {
    if ((o, name) in allow) { used[o, name] = 1; return 1 }
    for (key in stars) {
        split(key, part, SUBSEP)
        prefix = part[2]
        if (part[1] == o && index(name, prefix) == 1) { used[o, prefix "*"] = 1; return 1 }
    }
    return 0
}

BEGIN {
    while ((getline line < list) > 0) {
        sub(/#.*/, "", line)
        if (line !~ /[^ \t]/) continue
        n = split(line, word, /[ \t]+/)
        if (word[1] ~ /:$/) { o = word[1]; sub(/:$/, "", o) }
        for (i = 1; i <= n; i++) {
            if (word[i] == "" || word[i] ~ /:$/) continue
            allow[o, word[i]] = 1
            if (word[i] ~ /\*$/) stars[o, substr(word[i], 1, length(word[i]) - 1)] = 1
        }
    }
    close(list)
}

NF < 3 { next }
{ current = object($1); if (!(current in seen)) { seen[current] = 1; objects++ } }
$3 == "U" || $3 == "w" || $3 == "v" { wants[current, $2] = 1; next }
{ defined[$2] = 1 }

END {
    if (!objects) fail("no objects")
    for (key in wants) {
        split(key, part, SUBSEP)
        if (part[2] in defined) continue
        names++
        if (!allowed("*", part[2]) && !allowed(part[1], part[2])) fail(part[1] " takes " part[2])
    }
    for (key in allow)
        if (!(key in used)) { split(key, part, SUBSEP); unused = unused " " part[1] ":" part[2] }
    if (!bad) print "undefined: " objects " objects, " names + 0 " names taken, all listed"
    if (unused) print "undefined: listed but not taken:" unused
    exit bad
}'
