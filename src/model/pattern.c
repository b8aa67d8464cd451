// SPDX-License-Identifier: Apache-2.0
#include "model/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 1000 /* of all counts, multiplied: each is that much more memory */
#define DEPTH_MAX 32
#define NODES_MAX 4000

/* How much the library makes of a pattern. It copies what is repeated at least once, so that "+"
 * doubles and repeats of repeats multiply; and it takes a minute and more for some hundred repeats
 * of something that may be empty, which nobody needs. */
struct level { /* what stands between parentheses */
    long nodes;
    bool is_empty;      /* so far, without the last part, this alternative may be empty */
    bool is_last_empty; /* so may its last part */
    bool may_be_empty;  /* so may an alternative before it */
};

struct size {
    struct level levels[DEPTH_MAX + 1];
    int depth;
    long last; /* nodes that a repeat would copy */
    bool is_repeated;
    bool in_count; /* between braces */
};

static struct level *level_of(struct size *size)
{
    return &size->levels[size->depth];
}

static void begin_alternative(struct level *level)
{
    level->may_be_empty |= level->is_empty && level->is_last_empty;
    level->is_empty = level->is_last_empty = true;
}

static void add_part(struct size *size, long nodes, bool may_be_empty)
{
    struct level *level = level_of(size);
    level->nodes += nodes;
    level->is_empty &= level->is_last_empty;
    level->is_last_empty = may_be_empty;
    size->last = nodes;
    size->is_repeated = false;
}

static const char *repeat(struct size *size, char by, long times)
{
    struct level *level = level_of(size);
    if (size->is_repeated && by != '?') /* after a repeat it says "as few as possible" */
        return "repeats a repeat";
    if (level->is_last_empty && by != '?')
        return "repeats what may be empty";
    level->nodes += size->last * (times - 1);
    level->is_last_empty |= by == '*' || by == '?';
    size->last *= times;
    size->is_repeated = true;
    return level->nodes > NODES_MAX ? "its repeats are too many" : NULL;
}

static const char *open_group(struct size *size)
{
    if (size->depth == DEPTH_MAX)
        return "has too many parentheses";
    size->levels[++size->depth] = (struct level){.is_empty = true, .is_last_empty = true};
    size->is_repeated = false;
    return NULL;
}

static void close_group(struct size *size)
{
    struct level *level = level_of(size);
    if (size->depth == 0)
        return; /* the library says so as well */
    begin_alternative(level);
    size->depth--;
    add_part(size, level->nodes + 1, level->may_be_empty);
}

/* \d and \D are letters in POSIX; the others are known to the library. */
static bool add_escape(struct str *out, char c, bool in_class)
{
    if (c >= '1' && c <= '9')
        return false;
    if (in_class) {
        /* Inside of [] a backslash is a backslash in POSIX; elsewhere it is not. */
        str_add(out, c == 'd' ? "0-9" : c == 'w' ? "[:alnum:]_" : c == 's' ? "[:space:]" : "");
        if (strchr("dws", c) == NULL)
            str_addc(out, c);
    } else if (c == 'd' || c == 'D') {
        str_add(out, c == 'd' ? "[0-9]" : "[^0-9]");
    } else {
        str_addc(out, '\\');
        str_addc(out, c);
    }
    return true;
}

/* What is written between braces; 0 when it is too much. */
static long times_of(const char *at)
{
    char *end;
    long low = strtol(at + 1, &end, 10);
    long high = *end == ',' && end[1] != '}' ? strtol(end + 1, &end, 10) : low;
    long most = high > low ? high : low;
    if (most < 0 || most > REPEATS_MAX)
        return 0;
    return most > 1 ? most : 1;
}

/* A character that stands for itself or for what is done with others. */
static const char *weigh(struct size *size, const char *at, long *repeats)
{
    long times = *at == '{' ? times_of(at) : *at == '+' ? 2 : 1;
    if (size->in_count) {
        size->in_count = *at != '}';
        return NULL;
    }
    size->in_count = *at == '{';
    switch (*at) {
    case '(':
        return open_group(size);
    case ')':
        close_group(size);
        return NULL;
    case '{':
        *repeats *= times;
        if (*repeats == 0 || *repeats > REPEATS_MAX)
            return "its counts allow more than 1000 repeats";
        return repeat(size, strtol(at + 1, NULL, 10) > 0 ? '{' : '*', times);
    case '+':
    case '*':
    case '?':
        return repeat(size, *at, times);
    case '|':
        begin_alternative(level_of(size));
        return NULL;
    default:
        add_part(size, 1, *at == '^' || *at == '$');
        return NULL;
    }
}

/* In POSIX's words; NULL when it is fine, else what is wrong with it. */
static const char *translate(const char *pattern, struct str *out, int *flags)
{
    bool in_class = false;
    long repeats = 1;
    struct size size = {.levels[0] = {.is_empty = true, .is_last_empty = true}};
    if (str_starts(pattern, "(?i)")) {
        *flags |= REG_ICASE;
        pattern += 4;
    }
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '\\' && at[1] == '\0')
            return "ends with a backslash";
        if (*at == '\\') {
            if (!add_escape(out, *++at, in_class))
                return "back references are not known";
            add_part(&size, 1, strchr("bB<>`'", *at) != NULL); /* places, not characters */
            continue;
        }
        const char *problem = in_class ? NULL : weigh(&size, at, &repeats);
        if (problem != NULL)
            return problem;
        in_class = in_class ? *at != ']' : *at == '[';
        str_addc(out, *at);
        if (!in_class && *at == '(' && str_starts(at, "(?:"))
            at += 2;
        else if (!in_class && *at == '(' && at[1] == '?')
            return "of the forms that begin with (? only (?: and a leading (?i) are known";
    }
    return NULL;
}

static const char *compile(const char *pattern, regex_t *regex)
{
    static char text[160];
    scoped_str posix = {0};
    int flags = REG_EXTENDED | REG_NOSUB;
    if (strlen(pattern) > PATTERN_MAX)
        return "is longer than 512 characters";
    const char *problem = translate(pattern, &posix, &flags);
    if (problem != NULL)
        return problem;
    int r = regcomp(regex, str_text(&posix), flags);
    if (r == 0)
        return NULL;
    (void)regerror(r, regex, text, sizeof(text));
    return text;
}

const char *pattern_problem(const char *pattern)
{
    regex_t regex;
    const char *problem = compile(pattern, &regex);
    if (problem == NULL)
        regfree(&regex);
    return problem;
}

bool pattern_finds(const char *pattern, const char *text)
{
    regex_t regex;
    if (pattern == NULL || compile(pattern, &regex) != NULL)
        return false;
    bool finds = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return finds;
}
