// SPDX-License-Identifier: MIT
// Owns the configuration. Context: once, at start, in one thread.
#include "conf.h"

#include "sys.h"

#include <memspy/env.h>
#include <sys/auxv.h>

struct ms_conf ms_conf;

const char *ms_conf_value(char *const *environment, const char *name)
{
    size_t length = ms_sys_length(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

// What follows the first `part` in text, NULL when it does not occur.
static const char *after(const char *text, const char *part)
{
    size_t length = ms_sys_length(part);
    for (; text != NULL && *text != '\0'; text++)
        if (strncmp(text, part, length) == 0)
            return text + length;
    return NULL;
}

// A number from 1 to 32768 that is a power of two; 0 if text is none.
static unsigned read_power(const char *text)
{
    unsigned value = 0;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > 32768)
            return 0;
        value = value * 10 + (unsigned)(*text - '0');
    }
    return value <= 32768 && (value & (value - 1)) == 0 ? value : 0;
}

static void read_timing(const char *text)
{
    // Exact mode looks at every call, so it times every call.
    ms_conf.timing_log2 = ms_conf.exact ? 0 : 4;
    ms_conf.sparse_timing_log2 = ms_conf.exact ? 0 : 6;
    if (text == NULL || *text == '\0' || ms_conf.exact)
        return;
    unsigned value = read_power(text);
    if (value == 0) {
        MS_SAY(MS_ENV_TIMING, "=", text, " is not a power of two from 1 to 32768; ignored");
        return;
    }
    ms_conf.timing_log2 = (uint8_t)__builtin_ctz(value);
    ms_conf.sparse_timing_log2 = ms_conf.timing_log2;
}

static bool read_exact(const char *text)
{
    if (text == NULL || *text == '\0')
        return false;
    if (strcmp(text, "exact") == 0)
        return true;
    MS_SAY(MS_ENV_KERNEL, "=", text, " is unknown (known: exact); exact mode stays off");
    return false;
}

// A switch that is on unless it is "0".
static bool read_switch(char *const *environment, const char *name)
{
    const char *text = ms_conf_value(environment, name);
    if (text == NULL || *text == '\0' || strcmp(text, "1") == 0)
        return true;
    if (strcmp(text, "0") == 0)
        return false;
    MS_SAY(name, "=", text, " is neither 0 nor 1; taken for 1");
    return true;
}

bool ms_conf_init(char *const *environment)
{
    if (getauxval(AT_SECURE) != 0)
        return false;
    const char *out = ms_conf_value(environment, MS_ENV_OUT);
    ms_conf.out_given = out != NULL && *out != '\0';
    ms_conf.out = ms_conf.out_given ? out : MS_OUT_DEFAULT;
    ms_conf.join = ms_conf_value(environment, MS_ENV_TRACE);
    ms_conf.exact = read_exact(ms_conf_value(environment, MS_ENV_KERNEL));
    ms_conf.follow = read_switch(environment, MS_ENV_FOLLOW);
    ms_conf.argv = read_switch(environment, MS_ENV_ARGV);
    read_timing(ms_conf_value(environment, MS_ENV_TIMING));
    const char *tunables = ms_conf_value(environment, "GLIBC_TUNABLES");
    ms_conf.large_tcache = after(tunables, "glibc.malloc.tcache_max=") != NULL;
    // 0 is off and 1 is madvise alone; what is above sizes heaps by huge pages.
    const char *huge = after(tunables, "glibc.malloc.hugetlb=");
    ms_conf.huge_heaps = huge != NULL && *huge != '0' && *huge != '1';
    return true;
}
