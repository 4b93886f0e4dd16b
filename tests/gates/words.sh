#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: words.sh [ROOT]
# No file names the machine or the directory it was written in: such a path is of no use to anybody
# else, and a recorded trace may carry one in unnoticed.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
# shellcheck source-path=SCRIPTDIR source=files.sh
. "$here/files.sh"

# The brackets keep this file from finding itself. A name before the slash makes it a relative path,
# as in src/x/; the users of the examples in documents are "user" and "me".
before='(^|[^[:alnum:]_.%~-])'
places="$before/(wor[k]|tmp/bash_job[s])(/|\\.|\$)|$before/roo[t]/"
homes='/hom[e]/[[:alnum:]_]+|/User[s]/[[:alnum:]]'
users='/hom[e]/(user|me)([^[:alnum:]_]|$)'

files=$(project_files "$root")
if [ -z "$files" ]; then
    echo "words: no files"
    exit 1
fi
cd "$root"
# A file that is deleted but still tracked is not there to be read.
hits=$(echo "$files" | tr '\n' '\0' | xargs -0 grep -HnaoEs ".{0,40}($places|$homes).{0,20}" /dev/null |
    grep -vaE "$users" || true)
if [ -n "$hits" ]; then
    echo "$hits" | tr -cd '[:print:]\n' | sed 's/^/words: /'
    exit 1
fi
echo "words: $(echo "$files" | wc -l) files"
