#!/bin/bash
# SPDX-License-Identifier: MIT
# A gate that has never failed proves nothing: feeds each of them bad objects and bad trees, made
# here, and expects the failure and its message; and one good one each, so that a gate that always
# fails is noticed as well.
set -eu
export LC_ALL=C

gates=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
cd "$dir"
cases=0
wrong=0

complain() {
    echo "self_test: $*"
    sed 's/^/    /' out
    wrong=$((wrong + 1))
}

must_pass() { # GATE ARGUMENT...
    cases=$((cases + 1))
    "$gates/$1.sh" "${@:2}" >out 2>&1 || complain "$* fails, should pass"
}

must_fail() { # MESSAGE GATE ARGUMENT...
    cases=$((cases + 1))
    if "$gates/$2.sh" "${@:3}" >out 2>&1; then
        complain "${*:2} passes, should fail"
    elif ! grep -qE -- "$1" out; then
        complain "${*:2} fails without saying '$1'"
    fi
}

library() { # NAME SOURCE FLAG...
    echo "$2" | gcc -w -O1 -fPIC -shared -x c - -x none -o "$1" "${@:3}"
}

object() { # NAME SOURCE
    echo "$2" | gcc -w -O1 -fPIC -fno-builtin -c -x c - -o "$1"
}

# A tree of files: "tree NAME FILE TEXT FILE TEXT...".
tree() {
    local root=$1
    shift
    while [ "$#" -gt 0 ]; do
        mkdir -p "$(dirname "$root/$1")"
        printf '%s\n' "$2" >"$root/$1"
        shift 2
    done
}

test_exports() {
    library two.so 'void *malloc(unsigned long n) { return 0; } void free(void *p) {}'
    library none.so 'static int x;'
    printf 'malloc # a comment\nfree\n' >two.list
    echo 'malloc free calloc' >three.list
    echo 'malloc' >one.list
    must_pass exports two.so two.list
    must_fail 'missing: calloc' exports two.so three.list
    must_fail 'not in the list: free' exports two.so one.list
    must_fail 'exports nothing' exports none.so two.list
    must_fail 'No such file' exports absent.so two.list
}

test_needed() {
    library good.so 'int puts(const char *); int f(void) { return puts("x"); }'
    library libm.so 'double sin(double); double f(double x) { return sin(x); }' -lm
    library nothing.so 'int f(void) { return 1; }' -nostdlib
    library stack.so 'int puts(const char *); int f(void) { return puts("x"); }' -z execstack
    library text.so 'int puts(const char *); int f(void) { return puts("x"); }
        __asm__(".text\n.quad puts");' -z notext
    must_pass needed good.so
    must_fail 'needs .*libm' needed libm.so
    must_fail "needs ''" needed nothing.so
    must_fail 'stack is .RWE' needed stack.so
    must_fail 'text relocations' needed text.so
    must_fail 'No such file' needed absent.so
}

test_tls() {
    local fast='__attribute__((tls_model("initial-exec"))) __thread'
    library good.so "$fast long a[8]; long *f(void) { return a; }"
    library big.so "$fast long a[9]; long *f(void) { return a; }"
    library pair.so "$fast int a; static $fast int b; int *f(int x) { return x ? &a : &b; }"
    library slow.so '__thread int a; int *f(void) { return &a; }'
    library dialect.so '__thread int a; int *f(void) { return &a; }' -mtls-dialect="$dialect"
    library none.so 'int f(void) { return 1; }'
    must_pass tls good.so
    must_fail '72 bytes' tls big.so
    must_fail '2 thread-local objects' tls pair.so
    must_fail 'no initial-exec' tls slow.so
    must_fail 'dynamic thread-local relocations' tls slow.so
    must_fail 'dynamic thread-local relocations' tls dialect.so
    must_fail '0 bytes' tls none.so
    [ "$(uname -m)" != x86_64 ] || must_fail 'calls __tls_get_addr' tls slow.so
}

test_undefined() {
    object one.c.o 'void two(void); void ms_x(void); void one(void) { two(); ms_x(); }'
    object two.c.o 'int printf(const char *, ...); void ms_x(void) {} void two(void) { printf(""); }'
    printf '# names\n*: memcpy\ntwo: printf\n' >good.list
    printf 'one: printf\n*: memcpy\n' >other.list
    printf 'two: pr*\n' >star.list
    must_pass undefined good.list one.c.o two.c.o
    must_pass undefined star.list one.c.o two.c.o
    must_fail 'two takes printf' undefined other.list one.c.o two.c.o
    must_fail 'one takes two' undefined good.list one.c.o
    must_fail 'no objects' undefined good.list
    must_fail 'No such file' undefined good.list one.c.o absent.o
}

test_edges() {
    printf 'shim/top: low\nshim/low_part = low\nanalyzer/a: b\n' >good.list
    tree good shim/top.c '#include "low.h"' shim/low.h '#include <memspy/base.h>' \
        shim/low.c '#include "low_part.h"' shim/low_part.h '#include "low.h"' \
        analyzer/a.c '#include "b.h"' analyzer/b.h '' include/memspy/base.h ''
    must_pass edges good good.list

    cp -r good up && echo '#include "top.h"' >up/shim/low.c && : >up/shim/top.h
    must_fail 'low.c includes top.h: no arrow' edges up good.list
    must_fail 'circle \(found\)' edges up good.list
    cp -r good across && echo '#include "b.h"' >across/shim/low.c
    must_fail 'low.c includes b.h: no arrow' edges across good.list
    echo '#include "../analyzer/b.h"' >across/shim/low.c
    must_fail 'a path out of its side' edges across good.list
    cp -r good gone && rm gone/analyzer/b.h
    must_fail 'on no side' edges gone good.list
    printf 'shim/low: top\n' | cat good.list - >circle.list
    must_fail 'circle \(allowed\)' edges good circle.list
    mkdir empty
    must_fail 'no #include' edges empty good.list
}

test_sizes() {
    local body
    body=$(printf 'x++;\n%.0s' $(seq 80))
    tree short shim/a.c 'int f(int x) { return x; }' analyzer/a.c '' include/memspy/a.h ''
    must_pass sizes short
    cp -r short function && printf 'int g(int x)\n{\n%s\nreturn x;}\n' "$body" >function/shim/b.c
    must_fail 'g \(shim/b.c:1\) has 8[0-9] lines' sizes function
    cp -r short file && yes '' | head -n 401 >file/shim/b.c
    must_fail 'shim/b.c has 401 lines, more than 400' sizes file
    cp -r short analyzer && yes '' | head -n 451 >analyzer/analyzer/b.c
    must_fail 'analyzer/b.c has 451 lines' sizes analyzer
    cp -r short header && yes '' | head -n 151 >header/include/memspy/b.h
    must_fail 'memspy/b.h has 151 lines' sizes header
    mkdir nothing
    must_fail 'no function' sizes nothing
}

test_headers_alone() {
    tree alone shim/a.h '#include <stddef.h>
size_t f(void);'
    must_pass headers_alone alone
    tree alone shim/b.h 'size_t g(void);'
    must_fail 'shim/b.h does not compile alone with gcc' headers_alone alone
    must_fail 'shim/b.h does not compile alone with clang' headers_alone alone
    must_fail 'no headers' headers_alone empty
}

test_aarch64() {
    command -v aarch64-linux-gnu-gcc >/dev/null || return 0
    echo 'int main(void) { int unused; return 0; }' >warning.c
    echo 'int main(void) { return 0; }' >clean.c
    must_pass aarch64 "$PWD/clean.c"
    must_fail 'unused variable' aarch64 "$PWD/warning.c"
}

test_words() {
    local word
    tree clean a.c 'int x; // see tests/wor''k/x, /home/user/x and https://example.org/wor''k/y'
    must_pass words clean
    for word in wor''k/x tmp/bash_job''s.0/1 root/x home/someone Users/someone; do
        rm -rf dirty
        tree dirty a.c "// made in /$word"
        must_fail 'a.c:1:' words dirty
    done
    rm dirty/a.c
    printf 'trace\0\001/%s/program\0' work >dirty/a.mspy
    must_fail 'a.mspy' words dirty
    # In a repository ignored files do not count, new ones do.
    git -C dirty init -q
    echo '*.mspy' >dirty/.gitignore
    must_pass words dirty
    echo "/work""/x" >dirty/b.c
    must_fail 'b.c' words dirty
    must_fail 'no files' words empty
}

test_format() {
    tree formed .clang-format 'BasedOnStyle: LLVM' a.c 'int x;'
    must_pass format formed
    tree formed b.h 'int   y ;'
    must_fail 'b.h:1:' format formed
    must_fail 'no C files' format empty
}

# The dialect in which thread-local storage is reached through a descriptor.
dialect=gnu2
[ "$(uname -m)" = x86_64 ] || dialect=desc

tests='exports needed tls undefined edges sizes headers_alone aarch64 words format'
for name in $tests; do
    "test_$name"
done
# Every gate of the folder is tested here.
for script in "$gates"/*.sh; do
    name=$(basename "$script" .sh)
    case " $tests self_test files " in
    *" $name "*) ;;
    *) echo "self_test: $name is not tested" && wrong=$((wrong + 1)) ;;
    esac
done

echo "self_test: $cases cases, $wrong wrong"
[ "$wrong" -eq 0 ]
