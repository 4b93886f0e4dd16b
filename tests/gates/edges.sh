#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: edges.sh [ROOT] [LIST]
# Every #include "..." of the shim, the analyzer and their common headers is an arrow that the list
# (default edges.list) allows, and the arrows make no circle: neither those found nor those allowed.
# The list has lines of "SIDE/MODULE: MODULE...", MODULE being a file name without its suffix; a
# MODULE may end in * (hook_*). "SIDE/PART = MODULE" says that a file is a part of a module that has
# several. A module's own headers and memspy/*.h are always allowed, and a side never includes the
# other. Arrows of the list that no file uses are named, and are no failure.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
list=$(realpath "${2:-$here/edges.list}")
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

cd "$root"
find shim analyzer include -name '*.[chS]' | sort >"$dir/files"
# The last argument keeps grep printing names when there is one file.
xargs grep -HoE '^[ \t]*#[ \t]*include[ \t]*"[^"]+"' /dev/null <"$dir/files" |
    sed -E 's/^([^:]+):.*"([^"]+)"$/\1 \2/' >"$dir/includes"

awk -v list="$list" -v found="$dir/found" -v allowed_edges="$dir/allowed" '
function fail(text) { print "edges: " text; bad = 1 }

# The module of a file of the side.
function module(side, path) {
    sub(/.*\//, "", path)
    sub(/\.[^.]*$/, "", path)
    return (side, path) in part_of ? part_of[side, path] : path
}

function matches(name, pattern) {
    if (pattern ~ /\*$/) return index(name, substr(pattern, 1, length(pattern) - 1)) == 1
    return name == pattern
}

# Whether the list lets module "from" of the side include module "to".
function allowed(side, from, to,    i) {
    for (i = 1; i <= rules; i++)
        if (side == rule_side[i] && matches(from, rule_from[i]) && matches(to, rule_to[i])) {
            rule_used[i] = 1
            return 1
        }
    return 0
}

BEGIN {
    while ((getline line < list) > 0) {
        sub(/#.*/, "", line)
        if (line !~ /[^ \t]/) continue
        n = split(line, word, /[ \t]+/)
        if (split(word[1], part, "/") != 2) { fail("bad line: " line); continue }
        if (word[2] == "=") { part_of[part[1], part[2]] = word[3]; continue }
        sub(/:$/, "", part[2])
        for (i = 2; i <= n; i++) {
            if (word[i] == "") continue
            rules++
            rule_side[rules] = part[1]
            rule_from[rules] = part[2]
            rule_to[rules] = word[i]
            if (part[2] != word[i]) print part[1] "/" word[i], part[1] "/" part[2] >allowed_edges
        }
    }
    close(list)
}

{
    arrows++
    split($1, path, "/")
    side = path[1]
    from = module(side, $1)
    if (side == "include") {
        if ($2 ~ /\//) fail($1 " includes " $2 ", which is not beside it")
        print "include/" module(side, $2), "include/" from >found
        next
    }
    if ($2 ~ /^memspy\/[a-z_]+\.h$/) next
    if ($2 ~ /\//) { fail($1 " includes " $2 ", a path out of its side"); next }
    to = module(side, $2)
    if (from == to) next
    print side "/" to, side "/" from >found
    if (!allowed(side, from, to)) fail($1 " includes " $2 ": no arrow " side "/" from " -> " to)
    target[side "/" $2] = $1
}

END {
    while ((getline line < files) > 0) exists[line] = 1
    for (file in target)
        if (!(file in exists)) fail(target[file] " includes " file ", which is on no side")
    for (i = 1; i <= rules; i++)
        if (!rule_used[i]) unused = unused " " rule_side[i] "/" rule_from[i] "->" rule_to[i]
    if (!arrows) fail("no #include found")
    print "edges: " arrows + 0 " includes" (unused ? "; unused arrows:" unused : "")
    exit bad
}' files="$dir/files" "$dir/includes" || status=1

for graph in found allowed; do
    [ -f "$dir/$graph" ] || continue
    if ! tsort <"$dir/$graph" >/dev/null 2>"$dir/loop"; then
        sed "s/^tsort: /edges: circle ($graph): /" "$dir/loop"
        status=1
    fi
done
exit "${status:-0}"
