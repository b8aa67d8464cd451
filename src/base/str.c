// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"
#include "base/mem.h"
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void grow(struct str *str, size_t more)
{
    assert(more < SIZE_MAX / 2 - str->len);
    size_t wanted = str->len + more + 1; /* and a NUL */
    if (wanted <= str->cap)
        return;
    size_t cap = str->cap ? str->cap : 32;
    while (cap < wanted)
        cap *= 2;
    str->data = mem_realloc(str->data, cap);
    str->cap = cap;
}

void str_add(struct str *str, const char *text)
{
    if (text)
        str_addn(str, text, strlen(text));
}

void str_addn(struct str *str, const char *data, size_t len)
{
    grow(str, len);
    if (len)
        memcpy(str->data + str->len, data, len);
    str->len += len;
    str->data[str->len] = '\0';
}

void str_addc(struct str *str, char c)
{
    grow(str, 1);
    str->data[str->len++] = c;
    str->data[str->len] = '\0';
}

void str_addf(struct str *str, const char *fmt, ...)
{
    assert(fmt);
    va_list ap;
    va_start(ap, fmt);
    size_t room = str->cap - str->len;
    int len = vsnprintf(room ? str->data + str->len : NULL, room, fmt, ap);
    va_end(ap);
    assert(len >= 0);
    if ((size_t)len >= room) { /* seldom: room is made by doubling */
        grow(str, (size_t)len);
        va_start(ap, fmt);
        (void)vsnprintf(str->data + str->len, (size_t)len + 1, fmt, ap); /* it was measured */
        va_end(ap);
    }
    str->len += (size_t)len;
}

void str_addu(struct str *str, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    str_addn(str, digits + at, sizeof(digits) - at);
}

void str_room(struct str *str, size_t len)
{
    grow(str, len);
    str->data[str->len] = '\0';
}

char *str_reserve(struct str *str, size_t len)
{
    grow(str, len);
    /* However much of it the caller fills, a NUL follows. */
    return memset(str->data + str->len, 0, len + 1);
}

void str_clear(struct str *str)
{
    str->len = 0;
    if (str->data)
        str->data[0] = '\0';
}

char *str_take(struct str *str)
{
    char *text = str->data ? str->data : mem_strdup("");
    *str = (struct str){0};
    return text;
}

const char *str_text(const struct str *str)
{
    return str->data ? str->data : "";
}

void str_done(struct str *str)
{
    mem_free(str->data);
    *str = (struct str){0};
}

struct sv sv_of(const char *text)
{
    return text ? (struct sv){text, strlen(text)} : SV("");
}

bool sv_eq(struct sv a, struct sv b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool sv_is(struct sv a, const char *text)
{
    return sv_eq(a, sv_of(text));
}

int sv_cmp(struct sv a, struct sv b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool sv_starts(struct sv a, const char *prefix)
{
    size_t len = strlen(prefix);
    return a.len >= len && sv_is((struct sv){a.ptr, len}, prefix);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct sv sv_trim(struct sv a)
{
    while (a.len && is_space(a.ptr[0])) {
        a.ptr++;
        a.len--;
    }
    while (a.len && is_space(a.ptr[a.len - 1]))
        a.len--;
    return a;
}

struct sv sv_cut(struct sv *rest, char sep)
{
    struct sv part = *rest;
    const char *at = part.len ? memchr(part.ptr, sep, part.len) : NULL;
    if (!at) {
        *rest = part.len ? (struct sv){part.ptr + part.len, 0} : part;
        return part;
    }
    part.len = (size_t)(at - part.ptr);
    *rest = (struct sv){at + 1, rest->len - part.len - 1};
    return part;
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
    size_t text_len = strlen(text), suffix_len = strlen(suffix);
    return text_len >= suffix_len && strcmp(text + text_len - suffix_len, suffix) == 0;
}

bool str_eq(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Beyond this a word is not compared by edits: nobody means "almost this" by so long a word. */
#define EDIT_LEN_MAX 96

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    return c;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool swapped(struct sv a, struct sv b, size_t i, size_t j)
{
    return i > 1 && j > 1 && lower(a.ptr[i - 1]) == lower(b.ptr[j - 2]) &&
           lower(a.ptr[i - 2]) == lower(b.ptr[j - 1]);
}

/* Damerau-Levenshtein: inserted, lost, changed or swapped characters; case does not count. Only
 * the last three rows of the table are kept. */
static size_t edits(struct sv a, struct sv b)
{
    size_t rows[3][EDIT_LEN_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t changed = above[j - 1] + (lower(a.ptr[i - 1]) != lower(b.ptr[j - 1]));
            row[j] = min(changed, min(above[j], row[j - 1]) + 1);
            if (swapped(a, b, i, j))
                row[j] = min(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

static bool same_but_case(struct sv a, struct sv b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return a.len == b.len;
}

/* Lower is nearer, SIZE_MAX is far. A word cut short ranks between one edit and two. */
static size_t farness(struct sv word, struct sv candidate)
{
    if (same_but_case(word, candidate))
        return 0;
    size_t limit = word.len / 3 > 1 ? word.len / 3 : 1;
    size_t far = SIZE_MAX;
    if (word.len <= EDIT_LEN_MAX && candidate.len <= EDIT_LEN_MAX) {
        size_t distance = edits(word, candidate);
        if (distance <= limit)
            far = 2 * distance;
    }
    if (word.len >= 3 && candidate.len > word.len &&
        same_but_case(word, (struct sv){candidate.ptr, word.len}))
        far = min(far, 3);
    return far;
}

const char *str_nearest(const char *word, const char *const *candidates, size_t n)
{
    struct sv wanted = sv_of(word);
    const char *best = NULL;
    size_t best_far = SIZE_MAX;
    for (size_t i = 0; wanted.len && i < n; i++) {
        if (!candidates[i])
            continue;
        size_t far = farness(wanted, sv_of(candidates[i]));
        if (far < best_far) {
            best_far = far;
            best = candidates[i];
        }
    }
    return best;
}
