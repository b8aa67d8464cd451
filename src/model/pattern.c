// SPDX-License-Identifier: Apache-2.0
#include "model/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 1000 /* of all counts, multiplied: each is that much more memory */
#define DEPTH_MAX 32

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

static bool count_repeats(const char *at, long *repeats)
{
    char *end;
    long low = strtol(at + 1, &end, 10);
    long high = *end == ',' && end[1] != '}' ? strtol(end + 1, &end, 10) : low;
    long most = high > low ? high : low;
    if (most < 0 || most > REPEATS_MAX)
        return false;
    *repeats *= most > 1 ? most : 1;
    return *repeats <= REPEATS_MAX;
}

/* In POSIX's words; NULL when it is fine, else what is wrong with it. */
static const char *translate(const char *pattern, struct str *out, int *flags)
{
    bool in_class = false;
    long repeats = 1;
    int depth = 0;
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
            continue;
        }
        if (!in_class && *at == '{' && !count_repeats(at, &repeats))
            return "its counts allow more than 1000 repeats";
        depth += !in_class && *at == '(';
        if (depth > DEPTH_MAX)
            return "has too many parentheses";
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
