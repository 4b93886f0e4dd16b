# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Which files the gates over the whole tree look at. Sourced.

# Prints the files under a root: what git tracks or would track, or, outside of a repository (an
# unpacked archive), everything.
project_files() { # ROOT
    if [ -e "$1/.git" ]; then
        # Continuous integration may run as somebody else than the owner of the clone.
        git -c safe.directory="$(realpath "$1")" -C "$1" ls-files --cached --others \
            --exclude-standard
    else
        (cd "$1" && find . -type f -printf '%P\n')
    fi
}
