// SPDX-License-Identifier: MIT
// Owns the thread-local object, and nothing else.
#include "tls.h"

__thread struct ms_tls ms_tls;
