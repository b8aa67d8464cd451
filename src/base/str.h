// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text. `data` is NUL-terminated whenever it is not NULL; zero-initialise to start. */
struct str {
    char *data;
    size_t len;
    size_t cap;
};

void str_add(struct str *str, const char *text); /* NULL adds nothing */
void str_addn(struct str *str, const char *data, size_t len);
void str_addc(struct str *str, char c);
void str_addf(struct str *str, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_addu(struct str *str, uint64_t number); /* in decimal */
void str_room(struct str *str, size_t len); /* so that `len` more bytes need no further memory */
/* Makes room for `len` more bytes and returns where they go; follow with str->len += written. */
char *str_reserve(struct str *str, size_t len);
void str_clear(struct str *str);             /* empty, memory kept */
char *str_take(struct str *str);             /* the caller frees; never NULL */
const char *str_text(const struct str *str); /* "" while empty */
void str_done(struct str *str);
#define scoped_str __attribute__((cleanup(str_done))) struct str

/* A view of text that somebody else owns. */
struct sv {
    const char *ptr;
    size_t len;
};
#define SV(literal) ((struct sv){"" literal, sizeof(literal) - 1})
struct sv sv_of(const char *text); /* NULL gives an empty view */
bool sv_eq(struct sv a, struct sv b);
bool sv_is(struct sv a, const char *text);
int sv_cmp(struct sv a, struct sv b);
bool sv_starts(struct sv a, const char *prefix);
struct sv sv_trim(struct sv a);
/* Cuts the part before `sep` off the front of *rest; without `sep` takes all of it. */
struct sv sv_cut(struct sv *rest, char sep);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);
bool str_eq(const char *a, const char *b); /* NULL equals NULL only */

/* The candidate that a mistyped word most likely meant, or NULL when none is near. Candidates:
 * array of `n` strings, NULLs skipped. Case differences count as near. */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);
