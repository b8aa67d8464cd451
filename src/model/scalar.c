// SPDX-License-Identifier: Apache-2.0
#include "model/scalar.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct word {
    const char *text;
    enum scalar_type type;
    bool truth;
};

static const struct word WORDS[] = {
    {"", SCALAR_NULL},           {"~", SCALAR_NULL},          {"null", SCALAR_NULL},
    {"Null", SCALAR_NULL},       {"NULL", SCALAR_NULL},       {"true", SCALAR_BOOL, true},
    {"True", SCALAR_BOOL, true}, {"TRUE", SCALAR_BOOL, true}, {"yes", SCALAR_BOOL, true},
    {"Yes", SCALAR_BOOL, true},  {"YES", SCALAR_BOOL, true},  {"on", SCALAR_BOOL, true},
    {"On", SCALAR_BOOL, true},   {"ON", SCALAR_BOOL, true},   {"false", SCALAR_BOOL},
    {"False", SCALAR_BOOL},      {"FALSE", SCALAR_BOOL},      {"no", SCALAR_BOOL},
    {"No", SCALAR_BOOL},         {"NO", SCALAR_BOOL},         {"off", SCALAR_BOOL},
    {"Off", SCALAR_BOOL},        {"OFF", SCALAR_BOOL},        {"<<", SCALAR_MERGE},
    {"y", SCALAR_BOOL, true},    {"Y", SCALAR_BOOL, true},    {"n", SCALAR_BOOL},
    {"N", SCALAR_BOOL},          {".inf", SCALAR_NOT_FINITE}, {".Inf", SCALAR_NOT_FINITE},
    {".INF", SCALAR_NOT_FINITE}, {".nan", SCALAR_NOT_FINITE}, {".NaN", SCALAR_NOT_FINITE},
    {".NAN", SCALAR_NOT_FINITE},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct word *find_word(struct sv text)
{
    for (size_t i = 0; text.len <= 5 && i < ARRAY_LEN(WORDS); i++)
        if (sv_is(text, WORDS[i].text))
            return &WORDS[i];
    return NULL;
}

static struct sv skip_sign(struct sv text)
{
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        return (struct sv){text.ptr + 1, text.len - 1};
    return text;
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Takes 0x, 0o, 0b or the 0 of an old octal off the front. */
static int take_base(struct sv *digits)
{
    if (digits->len < 2 || digits->ptr[0] != '0')
        return 10;
    char mark = digits->ptr[1] | 0x20;
    int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    size_t skip = base ? 2 : 1;
    *digits = (struct sv){digits->ptr + skip, digits->len - skip};
    return base ? base : 8;
}

/* SCALAR_UINT with the magnitude, SCALAR_TOO_BIG, or SCALAR_TEXT. */
static struct scalar parse_magnitude(struct sv digits, int base)
{
    struct scalar result = {.type = digits.len ? SCALAR_UINT : SCALAR_TEXT};
    for (size_t i = 0; i < digits.len; i++) {
        int digit = digit_value(digits.ptr[i]);
        if (digit >= base)
            return (struct scalar){.type = SCALAR_TEXT};
        uint64_t value;
        if (__builtin_mul_overflow(result.u64, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            result.type = SCALAR_TOO_BIG; /* go on: it may turn out to be text */
        else
            result.u64 = value;
    }
    return result;
}

static struct scalar parse_int(struct sv text)
{
    bool negative = text.len && text.ptr[0] == '-';
    struct sv digits = skip_sign(text);
    bool marked = digits.len > 1 && digits.ptr[0] == '0' && !is_digit(digits.ptr[1]);
    int base = take_base(&digits);
    struct scalar result = parse_magnitude(digits, base);
    if (result.type == SCALAR_UINT && negative && result.u64 > (uint64_t)INT64_MAX + 1)
        result.type = SCALAR_TOO_BIG;
    if (result.type == SCALAR_TOO_BIG && !marked)
        return (struct scalar){.type = SCALAR_TEXT}; /* a float, as all decimals are that long */
    if (result.type == SCALAR_UINT && negative && result.u64)
        result = (struct scalar){.type = SCALAR_SINT, .i64 = (int64_t)(0 - result.u64)};
    return result;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [-+]? (.N | N[.N?]) ([eE][-+]?N)? */
static bool has_float_shape(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t whole = count_digits(text);
    text += whole;
    size_t fraction = 0;
    if (*text == '.') {
        fraction = count_digits(++text);
        text += fraction;
    }
    if (!whole && !fraction)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        size_t exponent = count_digits(text);
        if (!exponent)
            return false;
        text += exponent;
    }
    return *text == '\0';
}

struct scalar scalar_of_real(double real)
{
    int64_t whole = real > -0x1p63 && real < 0x1p63 ? (int64_t)real : 0;
    if ((double)whole == real) {
        return whole < 0 ? (struct scalar){.type = SCALAR_SINT, .i64 = whole}
                         : (struct scalar){.type = SCALAR_UINT, .u64 = (uint64_t)whole};
    }
    if (real >= 0x1p63 && real < 0x1p64) /* all of them are whole */
        return (struct scalar){.type = SCALAR_UINT, .u64 = (uint64_t)real};
    return (struct scalar){.type = SCALAR_REAL, .real = real};
}

static struct scalar parse_float(const char *text)
{
    struct scalar result = {.type = SCALAR_TEXT};
    if (!has_float_shape(text))
        return result;
    double real = strtod(text, NULL);
    return isfinite(real) ? scalar_of_real(real) : result;
}

static void without_underscores(struct sv text, struct str *out)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_')
            str_addc(out, text.ptr[i]);
}

static bool may_be_number(struct sv text)
{
    struct sv rest = skip_sign(text);
    return rest.len && (is_digit(rest.ptr[0]) || rest.ptr[0] == '.') &&
           !memchr(text.ptr, '\0', text.len);
}

struct scalar scalar_resolve(struct sv text)
{
    const struct word *word = find_word(text);
    if (word)
        return (struct scalar){.type = word->type, .truth = word->truth};
    if (!may_be_number(text))
        return (struct scalar){.type = SCALAR_TEXT};
    word = find_word(skip_sign(text));
    if (word && word->type == SCALAR_NOT_FINITE)
        return (struct scalar){.type = SCALAR_NOT_FINITE};
    if (text.ptr[0] == '.' && memchr(text.ptr, '_', text.len))
        return (struct scalar){.type = SCALAR_TEXT};
    scoped_str plain = {0};
    without_underscores(text, &plain);
    struct scalar number = parse_int((struct sv){plain.data, plain.len});
    return number.type == SCALAR_TEXT ? parse_float(plain.data) : number;
}

/* 4 digits - 1 or 2 - 1 or 2, alone or before a time. */
static bool is_date(const char *text)
{
    if (count_digits(text) != 4 || text[4] != '-')
        return false;
    text += 5;
    size_t month = count_digits(text);
    if (month < 1 || month > 2 || text[month] != '-')
        return false;
    text += month + 1;
    size_t day = count_digits(text);
    if (day < 1 || day > 2)
        return false;
    return text[day] == '\0' || strchr("Tt \t", text[day]);
}

/* 190:20:30.15: YAML 1.1 counts in sixties. */
static bool is_base60(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t digits = count_digits(text);
    if (!digits || text[digits] != ':')
        return false;
    return text[strspn(text, "0123456789:.")] == '\0';
}

/* A number mark without digits, which a reader that also drops underscores stumbles over. */
static bool is_bare_mark(struct sv text)
{
    struct sv rest = skip_sign(text);
    return rest.len == 2 && rest.ptr[0] == '0' && strchr("xXoObB", rest.ptr[1]);
}

bool scalar_is_ambiguous(struct sv text)
{
    if (sv_is(text, "=") || scalar_resolve(text).type != SCALAR_TEXT)
        return true;
    if (!may_be_number(text))
        return false;
    scoped_str plain = {0};
    without_underscores(text, &plain);
    return has_float_shape(str_text(&plain)) || is_date(str_text(&plain)) ||
           is_base60(str_text(&plain)) || is_bare_mark((struct sv){str_text(&plain), plain.len});
}
