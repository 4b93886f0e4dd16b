#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: format.sh [ROOT]
# Every C file is as clang-format leaves it, by the .clang-format at the root.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
# shellcheck source-path=SCRIPTDIR source=files.sh
. "$here/files.sh"

files=$(project_files "$root" | grep '\.[ch]$' || true)
cd "$root"
files=$(for file in $files; do [ ! -f "$file" ] || echo "$file"; done)
if [ -z "$files" ]; then
    echo "format: no C files"
    exit 1
fi
if ! echo "$files" | xargs -P "$(nproc)" -n 20 clang-format --style=file --dry-run -Werror; then
    echo "format: run clang-format -i over the files above"
    exit 1
fi
echo "format: $(echo "$files" | wc -l) files"
