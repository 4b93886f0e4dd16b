// SPDX-License-Identifier: MIT
// JSON as a stream: the only user of yajl. Texts from a trace are untrusted bytes: what is not
// valid UTF-8 becomes U+FFFD. Errors of the output stream stay in it and are found at its end.
#ifndef MEMSPY_ANALYZER_OUT_JSON_H
#define MEMSPY_ANALYZER_OUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ms_json {
    struct yajl_gen_t *generator;
    FILE *file;
};

// Begins output to `file`, on one line an object or indented.
void ms_json_open(struct ms_json *json, FILE *file, bool is_indented);

// Ends an object that stands for itself with a newline; another may follow.
void ms_json_line(struct ms_json *json);
void ms_json_close(struct ms_json *json);

void ms_json_begin(struct ms_json *json);    // {
void ms_json_end(struct ms_json *json);      // }
void ms_json_list(struct ms_json *json);     // [
void ms_json_list_end(struct ms_json *json); // ]

// Values, in lists or after a key. Text may be NULL, which is null, as is a number that is not
// finite.
void ms_json_key(struct ms_json *json, const char *key);
void ms_json_text(struct ms_json *json, const char *text);
void ms_json_bytes(struct ms_json *json, const void *text, size_t size);
void ms_json_number(struct ms_json *json, uint64_t number);
void ms_json_real(struct ms_json *json, double number);
void ms_json_bool(struct ms_json *json, bool value);
void ms_json_null(struct ms_json *json);

// Members: a key with its value. That of put_texts is a list of texts, each with a terminating 0
// and one 0 more behind all `size` bytes; NULL is an empty list.
void ms_json_put_text(struct ms_json *json, const char *key, const char *text);
void ms_json_put_number(struct ms_json *json, const char *key, uint64_t number);
void ms_json_put_real(struct ms_json *json, const char *key, double number);
void ms_json_put_bool(struct ms_json *json, const char *key, bool value);
void ms_json_put_null(struct ms_json *json, const char *key);
void ms_json_put_texts(struct ms_json *json, const char *key, const char *texts, size_t size);
void ms_json_put_address(struct ms_json *json, const char *key, uint64_t address); // "0x1f"

#endif
