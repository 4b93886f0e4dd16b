// SPDX-License-Identifier: MIT
// cmocka with the headers that it wants to have been included before it.
#ifndef MEMSPY_TESTS_CHECK_H
#define MEMSPY_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
