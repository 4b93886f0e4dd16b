// SPDX-License-Identifier: MIT
// A 32-bit program without a C library's start: linked with a loader by hand, ends with 13.
int status = 13;

void _start(void);
void _start(void)
{
    __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
}
