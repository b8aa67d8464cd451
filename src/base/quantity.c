// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

/* Text is read as resource.Quantity of Kubernetes reads it: [+-] digits [.digits] suffix, where
 * either side of the point may be missing but not both, and the suffix is decimal (n u m k M G T P
 * E), binary (Ki to Ei) or an exponent (e3, E-3; a lone E is exa).
 *
 * The number stays a row of decimal digits until its suffix is known: powers of ten then only move
 * the point, and powers of two are multiplied in digit by digit. So no precision is lost however
 * long the fraction is, and "round up" sees every digit. Scaling a 128-bit integer instead would
 * overflow on fractions such as 0.1234567890123456789012345Ei.
 *
 * Two differences: Kubernetes caps binary values at 2^63-1 where we refuse only what 128 bits
 * cannot hold, and takes "+" and "." for zero where we keep to its written grammar, which wants a
 * digit. */

typedef unsigned __int128 magnitude;

#define NANO ((quantity)1000000000)
#define MILLI ((quantity)1000000)
#define MAGNITUDE_MAX (~(magnitude)0 >> 1)
#define TEXT_MAX 128
#define HEADROOM 20 /* 2^60 adds at most 19 digits in front */
#define EXPONENT_MAX 9999

struct decimal {
    unsigned char digits[HEADROOM + TEXT_MAX];
    int len;
    int point; /* how many of the digits stand before the decimal point */
};

struct scale {
    int exponent; /* of ten */
    int kibis;    /* factors of 1024 */
};

static const char *const DECIMAL[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
static const char *const BINARY[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void advance(struct sv *rest, size_t n)
{
    rest->ptr += n;
    rest->len -= n;
}

static bool take_sign(struct sv *rest)
{
    bool negative = rest->len && rest->ptr[0] == '-';
    if (negative || (rest->len && rest->ptr[0] == '+'))
        advance(rest, 1);
    return negative;
}

static void take_digits(struct sv *rest, struct decimal *number)
{
    for (; rest->len && is_digit(rest->ptr[0]); advance(rest, 1))
        number->digits[number->len++] = (unsigned char)(rest->ptr[0] - '0');
}

/* Returns false when there is no digit at all. */
static bool take_number(struct sv *rest, struct decimal *number)
{
    number->len = HEADROOM;
    take_digits(rest, number);
    number->point = number->len;
    if (rest->len && rest->ptr[0] == '.') {
        advance(rest, 1);
        take_digits(rest, number);
    }
    return number->len > HEADROOM;
}

static bool exponent_parse(struct sv text, struct scale *ret_scale)
{
    if (text.len < 2 || (text.ptr[0] != 'e' && text.ptr[0] != 'E'))
        return false;
    advance(&text, 1);
    bool negative = take_sign(&text);
    int exponent = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        exponent = exponent * 10 + (text.ptr[i] - '0');
        if (exponent > EXPONENT_MAX)
            exponent = EXPONENT_MAX; /* far beyond both ends of the range already */
    }
    *ret_scale = (struct scale){.exponent = negative ? -exponent : exponent};
    return text.len > 0;
}

static bool suffix_parse(struct sv text, struct scale *ret_scale)
{
    for (size_t i = 0; i < ARRAY_LEN(DECIMAL); i++) {
        if (sv_is(text, DECIMAL[i])) {
            *ret_scale = (struct scale){.exponent = 3 * (int)i - 9};
            return true;
        }
    }
    for (size_t i = 1; i < ARRAY_LEN(BINARY); i++) {
        if (sv_is(text, BINARY[i])) {
            *ret_scale = (struct scale){.kibis = (int)i};
            return true;
        }
    }
    return exponent_parse(text, ret_scale);
}

static void multiply_1024(struct decimal *number)
{
    unsigned carry = 0;
    for (int i = number->len - 1; i >= 0; i--) {
        unsigned value = number->digits[i] * 1024u + carry;
        number->digits[i] = (unsigned char)(value % 10);
        carry = value / 10;
    }
}

/* The first `whole` digits as an integer (zeros follow the last), rounded up if more come after. */
static int round_up(const struct decimal *number, int whole, magnitude *ret_value)
{
    magnitude value = 0;
    int i = 0;
    for (; i < whole; i++) {
        if (value > MAGNITUDE_MAX / 10)
            return -ERANGE;
        value = value * 10 + (i < number->len ? number->digits[i] : 0);
    }
    for (; i < number->len; i++) {
        if (number->digits[i] != 0) {
            value++;
            break;
        }
    }
    if (value > MAGNITUDE_MAX)
        return -ERANGE;
    *ret_value = value;
    return 0;
}

static int suffix_error(struct sv text, struct sv suffix, struct err *err)
{
    int r = err_set(err, -EINVAL, "quantity '%.*s': unknown suffix '%.*s'", (int)text.len, text.ptr,
                    (int)suffix.len, suffix.ptr);
    if (sv_is(suffix, "K"))
        (void)err_hint(err, "write k for 1000 or Ki for 1024, for example 64Ki");
    else
        (void)err_hint(err, "suffixes are n u m k M G T P E (powers of 1000) and Ki Mi Gi Ti Pi "
                            "Ei (powers of 1024), for example 1.5Gi or 250m");
    return r;
}

static int digit_error(struct sv text, struct err *err)
{
    int r = err_set(err, -EINVAL, "quantity '%.*s' does not begin with a number", (int)text.len,
                    text.ptr);
    (void)err_hint(err, "write a number and perhaps a suffix, for example 2, 500m or 1.5Gi");
    return r;
}

static int range_error(struct sv text, struct err *err)
{
    int r = err_set(err, -ERANGE, "quantity '%.*s' is too large", (int)text.len, text.ptr);
    (void)err_hint(err, "the largest quantity is about 1e29, for example 8Ei fits");
    return r;
}

static int length_error(struct sv text, struct err *err)
{
    int r = err_set(err, -EINVAL, "quantity of %zu characters is too long", text.len);
    (void)err_hint(err, "write at most %d characters, for example 1.5Gi or 1e3", TEXT_MAX);
    return r;
}

int quantity_parse(struct sv text, quantity *ret_q, struct err *err)
{
    if (text.len > TEXT_MAX)
        return length_error(text, err);
    struct sv rest = text;
    struct decimal number = {0};
    struct scale scale;
    bool negative = take_sign(&rest);
    if (!take_number(&rest, &number))
        return digit_error(text, err);
    if (!suffix_parse(rest, &scale))
        return suffix_error(text, rest, err);
    for (int i = 0; i < scale.kibis; i++)
        multiply_1024(&number);
    magnitude value;
    if (round_up(&number, number.point + scale.exponent + 9, &value) < 0)
        return range_error(text, err);
    *ret_q = negative ? -(quantity)value : (quantity)value;
    return 0;
}

static magnitude magnitude_of(quantity q)
{
    return q < 0 ? -(magnitude)q : (magnitude)q;
}

static void add_number(struct str *out, bool negative, magnitude value)
{
    char text[40]; /* 2^127 has 39 digits */
    size_t at = sizeof(text);
    do {
        text[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    if (negative)
        str_addc(out, '-');
    str_addn(out, text + at, sizeof(text) - at);
}

void quantity_format(quantity q, struct str *out)
{
    magnitude value = magnitude_of(q);
    size_t suffix = value ? 0 : 3;
    for (; value && value % 1000 == 0 && suffix + 1 < ARRAY_LEN(DECIMAL); suffix++)
        value /= 1000;
    add_number(out, q < 0, value);
    str_add(out, DECIMAL[suffix]);
}

void quantity_format_binary(quantity q, struct str *out)
{
    magnitude value = magnitude_of(q);
    if (value % (magnitude)NANO != 0 || value < 1024 * (magnitude)NANO) {
        quantity_format(q, out);
        return;
    }
    value /= (magnitude)NANO;
    size_t suffix = 0;
    for (; value % 1024 == 0 && suffix + 1 < ARRAY_LEN(BINARY); suffix++)
        value /= 1024;
    add_number(out, q < 0, value);
    str_add(out, BINARY[suffix]);
}

int quantity_cmp(quantity a, quantity b)
{
    return (a > b) - (a < b);
}

int quantity_add(quantity a, quantity b, quantity *ret)
{
    quantity sum;
    if (__builtin_add_overflow(a, b, &sum))
        return -ERANGE;
    *ret = sum;
    return 0;
}

/* Up means away from zero, as Quantity.Value() of Kubernetes has it. */
static int64_t divide_up(quantity q, quantity unit)
{
    quantity whole = q / unit;
    quantity rest = q % unit;
    whole += (rest > 0) - (rest < 0);
    if (whole > INT64_MAX)
        return INT64_MAX;
    return whole < INT64_MIN ? INT64_MIN : (int64_t)whole;
}

int64_t quantity_value(quantity q)
{
    return divide_up(q, NANO);
}

int64_t quantity_milli(quantity q)
{
    return divide_up(q, MILLI);
}

quantity quantity_of(int64_t units)
{
    return units * NANO;
}

quantity quantity_of_milli(int64_t milli)
{
    return milli * MILLI;
}
