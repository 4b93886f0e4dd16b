// SPDX-License-Identifier: MIT
// Preloaded before the shim when golden traces are recorded: gives the system a plain name and
// version, which the trace then has instead of those of the machine.
#include <string.h>
#include <sys/utsname.h>

int uname(struct utsname *name)
{
    *name = (struct utsname){"Linux", "golden", "6.1.0", "#1", "x86_64", ""};
    return 0;
}
