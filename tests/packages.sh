# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The Debian packages of each job, and their installation. Sourced by examples/quickstart.sh,
# tests/run.sh and tests/bench/run.sh; runs nothing by itself.

# What building and recording need.
BUILD_PACKAGES="cmake ninja-build pkg-config gcc g++ libc6-dev libzstd-dev libyajl-dev"

# What the tests need on top: second compiler and fuzzers, oracles (strace, ltrace, valgrind),
# programs to trace, other allocators, a cross compiler for the other architecture.
# shellcheck disable=SC2034  # used by whoever sources this
TEST_PACKAGES="$BUILD_PACKAGES
    clang clang-format libclang-rt-14-dev libcmocka-dev binutils universal-ctags
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    python3 python3-zstandard strace ltrace valgrind libc6-dbg
    make redis-server libc6-i386
    jq sqlite3 git perl xz-utils bc procps
    libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0"

# What the bench compares with.
# shellcheck disable=SC2034
BENCH_PACKAGES="$BUILD_PACKAGES
    python3 heaptrack libc-devtools jq sqlite3 git perl xz-utils"

# Prints those of the packages that are not installed.
missing_packages() {
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

# Installs what is missing of the packages: root's work. Anyone else is told the command. Fails when
# something is still missing. Where there is no dpkg nothing can be known: the build will tell.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "not a Debian system: these packages are assumed to be there: $*" >&2
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "packages are missing; as root: apt-get install $missing" >&2
        return 1
    fi
    echo "installing: $missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of words
    apt-get -q update && apt-get -q install -y --no-install-recommends $missing
}
