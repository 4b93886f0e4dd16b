// SPDX-License-Identifier: MIT
// A thin layer over yajl_gen that adds what the traces need: unsigned 64-bit numbers, addresses,
// reals of a fixed form, and bytes that are made valid UTF-8.
#include "out_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "memory.h"
#include "utf8.h"

static void print(void *context, const char *text, size_t size)
{
    fwrite_unlocked(text, 1, size, context);
}

void ms_json_open(struct ms_json *json, FILE *file, bool is_indented)
{
    json->file = file;
    json->generator = yajl_gen_alloc(NULL);
    if (!json->generator)
        ms_memory_failed();
    yajl_gen_config(json->generator, yajl_gen_print_callback, print, file);
    yajl_gen_config(json->generator, yajl_gen_beautify, (int)is_indented);
    yajl_gen_config(json->generator, yajl_gen_indent_string, "  ");
}

void ms_json_line(struct ms_json *json)
{
    putc('\n', json->file);
    yajl_gen_reset(json->generator, NULL);
}

void ms_json_close(struct ms_json *json)
{
    yajl_gen_free(json->generator);
    json->generator = NULL;
}

void ms_json_begin(struct ms_json *json)
{
    yajl_gen_map_open(json->generator);
}

void ms_json_end(struct ms_json *json)
{
    yajl_gen_map_close(json->generator);
}

void ms_json_list(struct ms_json *json)
{
    yajl_gen_array_open(json->generator);
}

void ms_json_list_end(struct ms_json *json)
{
    yajl_gen_array_close(json->generator);
}

void ms_json_key(struct ms_json *json, const char *key)
{
    yajl_gen_string(json->generator, (const unsigned char *)key, strlen(key));
}

void ms_json_text(struct ms_json *json, const char *text)
{
    if (text)
        ms_json_bytes(json, text, strlen(text));
    else
        ms_json_null(json);
}

void ms_json_bytes(struct ms_json *json, const void *text, size_t size)
{
    const unsigned char *at = text, *end = at + size;
    for (size_t good = 1; at < end && good; at += good)
        good = *at < 0x80 ? 1 : ms_utf8_size(at, (size_t)(end - at));
    if (at == end) {
        yajl_gen_string(json->generator, text, size);
        return;
    }
    // A bad byte becomes the three bytes of U+FFFD.
    unsigned char *safe = ms_memory_zeroed(3 * size + 1, 1), *to = safe;
    for (at = text; at < end;) {
        size_t good = ms_utf8_size(at, (size_t)(end - at));
        memcpy(to, good ? at : (const unsigned char *)"\xef\xbf\xbd", good ? good : 3);
        to += good ? good : 3;
        at += good ? good : 1;
    }
    yajl_gen_string(json->generator, safe, (size_t)(to - safe));
    free(safe);
}

void ms_json_number(struct ms_json *json, uint64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    yajl_gen_number(json->generator, at, (size_t)(digits + sizeof digits - at));
}

void ms_json_real(struct ms_json *json, double number)
{
    char text[64];
    if (!isfinite(number)) {
        ms_json_null(json);
        return;
    }
    int size = fabs(number) < 1e15 ? snprintf(text, sizeof text, "%.3f", number)
                                   : snprintf(text, sizeof text, "%.15g", number);
    yajl_gen_number(json->generator, text, (size_t)size);
}

void ms_json_bool(struct ms_json *json, bool value)
{
    yajl_gen_bool(json->generator, value);
}

void ms_json_null(struct ms_json *json)
{
    yajl_gen_null(json->generator);
}

void ms_json_put_text(struct ms_json *json, const char *key, const char *text)
{
    ms_json_key(json, key);
    ms_json_text(json, text);
}

void ms_json_put_number(struct ms_json *json, const char *key, uint64_t number)
{
    ms_json_key(json, key);
    ms_json_number(json, number);
}

void ms_json_put_real(struct ms_json *json, const char *key, double number)
{
    ms_json_key(json, key);
    ms_json_real(json, number);
}

void ms_json_put_bool(struct ms_json *json, const char *key, bool value)
{
    ms_json_key(json, key);
    ms_json_bool(json, value);
}

void ms_json_put_null(struct ms_json *json, const char *key)
{
    ms_json_key(json, key);
    ms_json_null(json);
}

void ms_json_put_texts(struct ms_json *json, const char *key, const char *texts, size_t size)
{
    const char *end = texts ? texts + size : NULL;
    ms_json_key(json, key);
    ms_json_list(json);
    for (const char *text = texts; text < end; text += strlen(text) + 1)
        ms_json_text(json, text);
    ms_json_list_end(json);
}

void ms_json_put_address(struct ms_json *json, const char *key, uint64_t address)
{
    char text[20], *at = text + sizeof text;
    do
        *--at = "0123456789abcdef"[address & 15];
    while (address >>= 4);
    *--at = 'x';
    *--at = '0';
    ms_json_key(json, key);
    yajl_gen_string(json->generator, (const unsigned char *)at, (size_t)(text + sizeof text - at));
}
