// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads JSON as it arrives, in pieces of any size, in a fixed amount of memory: an object may be
 * as large as it likes, only the values that somebody asks for are kept, one at a time. Several
 * documents may follow each other, as in a watch.
 *
 * A path is the names that lead to a value, joined by SCAN_SEP; an element of a list is "*". A name
 * that is written with an escape, or makes the path too long, has no path: nobody asks for it. */
#define SCAN_SEP "\x1f"
#define SCAN_PATH_MAX 192
#define SCAN_TEXT_MAX 256
#define SCAN_DEPTH_MAX 96

enum scan_type { SCAN_STRING, SCAN_NUMBER, SCAN_BOOL, SCAN_NULL };

struct scan_value {
    enum scan_type type;
    const char *text; /* NUL-terminated; of a number as it is written */
    bool is_cut;      /* a string was longer than SCAN_TEXT_MAX */
};

struct scan_port {
    void (*on_value)(void *arg, const char *path, const struct scan_value *value);
    void (*on_close)(void *arg, const char *path); /* an object or a list has ended */
    void (*on_end)(void *arg);                     /* a document has ended */
    void *arg;
};

struct scan {
    struct scan_port port;
    int mode; /* enum mode of scan.c */
    bool is_key, is_cut, is_escaped, is_dead;
    int hex_left;
    uint32_t hex;
    size_t depth;
    size_t lost; /* depth from which on the path is not kept; 0: all of it is */
    size_t path_len, text_len;
    uint16_t base[SCAN_DEPTH_MAX + 1]; /* of each open container: length of the path to it */
    bool is_list[SCAN_DEPTH_MAX + 1];
    char path[SCAN_PATH_MAX];
    char text[SCAN_TEXT_MAX];
};

void scan_init(struct scan *scan, const struct scan_port *port);
/* 0, or -EBADMSG for what is not JSON, or nested deeper than SCAN_DEPTH_MAX; then for good. */
int scan_feed(struct scan *scan, const char *data, size_t len);
/* A whole number that fits 32 bits and is not negative; -1 for everything else. */
int64_t scan_number(const char *text);
