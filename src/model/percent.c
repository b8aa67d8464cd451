// SPDX-License-Identifier: Apache-2.0
#include "model/percent.h"

#define DIGITS_MAX 15 /* what a double holds */

static bool read_decimal(struct sv text, double *ret)
{
    double value = 0, scale = 1;
    size_t digits = 0;
    bool has_point = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9' || ++digits > DIGITS_MAX)
            return false;
        value = value * 10 + (c - '0');
        scale *= has_point ? 10 : 1;
    }
    *ret = value / scale;
    return digits > 0;
}

static bool split(struct sv text, double *ret_value, bool *ret_has_sign)
{
    *ret_has_sign = text.len > 0 && text.ptr[text.len - 1] == '%';
    text.len -= *ret_has_sign;
    return read_decimal(text, ret_value);
}

bool percent_is_ambiguous(struct sv text)
{
    double value = 0;
    bool has_sign = false;
    return split(text, &value, &has_sign) && !has_sign && value > 0 && value <= 1;
}

const char *percent_parse(struct sv text, double *ret_percent)
{
    double value = 0;
    bool has_sign = false;
    if (!split(text, &value, &has_sign) || value > 100)
        return "must be a percentage between 0% and 100%, such as \"80%\" or 80";
    if (percent_is_ambiguous(text))
        return "may be a percentage or a part of 1";
    *ret_percent = value;
    return NULL;
}
