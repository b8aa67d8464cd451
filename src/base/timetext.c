// SPDX-License-Identifier: Apache-2.0
#include "base/timetext.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>

/* Durations are summed in nanoseconds, within the range that Go's time.Duration has (292 years),
 * and rounded away from zero to milliseconds at the end: a timeout of 1ns must not turn into 0,
 * which often means "none".
 *
 * Dates are the proleptic Gregorian calendar in plain arithmetic: libc's functions read the time
 * zone of the process or reach no further than its time_t. */

#define NS_PER_MS 1000000
#define MS_PER_SECOND 1000
#define MS_PER_MINUTE 60000
#define MS_PER_HOUR 3600000
#define MS_PER_DAY INT64_C(86400000)

struct unit {
    const char *name;
    int64_t ns;
};

static const struct unit UNITS[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xC2\xB5s", 1000}, /* micro sign */
    {"\xCE\xBCs", 1000}, /* Greek mu */
    {"ms", NS_PER_MS},
    {"s", 1000 * (int64_t)NS_PER_MS},
    {"m", MS_PER_MINUTE *(int64_t)NS_PER_MS},
    {"h", MS_PER_HOUR *(int64_t)NS_PER_MS},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take(struct sv *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    rest->ptr++;
    rest->len--;
    return true;
}

static struct sv take_while(struct sv *rest, bool (*wanted)(char))
{
    struct sv taken = {rest->ptr, 0};
    while (taken.len < rest->len && wanted(rest->ptr[taken.len]))
        taken.len++;
    rest->ptr += taken.len;
    rest->len -= taken.len;
    return taken;
}

static int duration_error(struct sv text, int code, const char *what, struct err *err)
{
    /* More than 60 characters of a text that is wrong do not help. */
    int shown = text.len < 60 ? (int)text.len : 60;
    int r = err_set(err, code, "duration '%.*s' %s", shown, text.ptr, what);
    (void)err_hint(err, "write numbers with units (h, m, s, ms), for example 1h30m, 90s or 250ms");
    return r;
}

static bool is_unit_char(char c)
{
    return c != '.' && !is_digit(c);
}

static int take_unit(struct sv text, struct sv *rest, int64_t *ret_ns, struct err *err)
{
    struct sv name = take_while(rest, is_unit_char);
    for (size_t i = 0; i < ARRAY_LEN(UNITS); i++) {
        if (sv_is(name, UNITS[i].name)) {
            *ret_ns = UNITS[i].ns;
            return 0;
        }
    }
    if (name.len == 0)
        return duration_error(text, -EINVAL, "has a number without a unit", err);
    int r = duration_error(text, -EINVAL, "has an unknown unit", err);
    if (sv_is(name, "d"))
        (void)err_hint(err, "there are no days; write hours, for example 48h");
    return r;
}

/* Whole units in nanoseconds; -ERANGE beyond 64 bits. */
static int whole_ns(struct sv digits, int64_t unit_ns, int64_t *ret_ns)
{
    int64_t value = 0;
    for (size_t i = 0; i < digits.len; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digits.ptr[i] - '0', &value))
            return -ERANGE;
    if (__builtin_mul_overflow(value, unit_ns, &value))
        return -ERANGE;
    *ret_ns = value;
    return 0;
}

/* Digits beyond the eighteenth weigh far less than a nanosecond even of an hour; any that is not
 * zero still counts as one, so that it takes part in rounding up. */
static int64_t fraction_ns(struct sv digits, int64_t unit_ns)
{
    __int128 value = 0;
    __int128 scale = 1;
    bool more = false;
    for (size_t i = 0; i < digits.len; i++) {
        if (i < 18) {
            value = value * 10 + (digits.ptr[i] - '0');
            scale *= 10;
        } else {
            more |= digits.ptr[i] != '0';
        }
    }
    value *= unit_ns;
    return (int64_t)(value / scale) + (more || value % scale != 0);
}

/* One number with its unit, added to *total_ns. */
static int take_part(struct sv text, struct sv *rest, int64_t *total_ns, struct err *err)
{
    struct sv whole = take_while(rest, is_digit);
    struct sv fraction = take(rest, '.') ? take_while(rest, is_digit) : SV("");
    if (whole.len + fraction.len == 0)
        return duration_error(text, -EINVAL, "lacks a number", err);
    int64_t unit_ns = 0;
    int r = take_unit(text, rest, &unit_ns, err);
    if (r < 0)
        return r;
    int64_t ns;
    if (whole_ns(whole, unit_ns, &ns) < 0 ||
        __builtin_add_overflow(ns, fraction_ns(fraction, unit_ns), &ns) ||
        __builtin_add_overflow(ns, *total_ns, total_ns))
        return duration_error(text, -ERANGE, "is beyond 292 years", err);
    return 0;
}

int duration_parse(struct sv text, time_ms *ret_ms, struct err *err)
{
    struct sv rest = text;
    bool negative = take(&rest, '-');
    if (!negative)
        (void)take(&rest, '+'); /* optional */
    int64_t total_ns = 0;
    if (!sv_is(rest, "0")) {
        do {
            int r = take_part(text, &rest, &total_ns, err);
            if (r < 0)
                return r;
        } while (rest.len);
    }
    time_ms ms = total_ns / NS_PER_MS + (total_ns % NS_PER_MS != 0);
    *ret_ms = negative ? -ms : ms;
    return 0;
}

/* ".5" for 500 thousandths, nothing for 0. */
static void add_thousandths(struct str *out, unsigned thousandths)
{
    if (thousandths == 0)
        return;
    int digits = 3;
    for (; thousandths % 10 == 0; digits--)
        thousandths /= 10;
    str_addf(out, ".%0*u", digits, thousandths);
}

void duration_format(time_ms ms, struct str *out)
{
    uint64_t left = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    if (ms < 0)
        str_addc(out, '-');
    if (left > 0 && left < MS_PER_SECOND) {
        str_addf(out, "%" PRIu64 "ms", left);
        return;
    }
    if (left >= MS_PER_HOUR)
        str_addf(out, "%" PRIu64 "h", left / MS_PER_HOUR);
    if (left >= MS_PER_MINUTE)
        str_addf(out, "%" PRIu64 "m", left / MS_PER_MINUTE % 60);
    str_addf(out, "%" PRIu64, left / MS_PER_SECOND % 60);
    add_thousandths(out, (unsigned)(left % MS_PER_SECOND));
    str_addc(out, 's');
}

static void add_two(struct str *out, int64_t large, char large_unit, int64_t small, char small_unit)
{
    str_addf(out, "%" PRId64 "%c", large, large_unit);
    if (small != 0)
        str_addf(out, "%" PRId64 "%c", small, small_unit);
}

/* The limits are those of HumanDuration() in k8s.io/apimachinery/pkg/util/duration. Up to two
 * seconds in the future are put down to clocks that differ. */
void duration_human(time_ms ms, struct str *out)
{
    int64_t seconds = ms / MS_PER_SECOND;
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (seconds < -1)
        str_add(out, "<invalid>");
    else if (seconds < 120)
        add_two(out, seconds < 0 ? 0 : seconds, 's', 0, 0);
    else if (minutes < 10)
        add_two(out, minutes, 'm', seconds % 60, 's');
    else if (minutes < 180)
        add_two(out, minutes, 'm', 0, 0);
    else if (hours < 8)
        add_two(out, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        add_two(out, hours, 'h', 0, 0);
    else if (days < 8)
        add_two(out, days, 'd', hours % 24, 'h');
    else if (days < 2 * 365)
        add_two(out, days, 'd', 0, 0);
    else
        add_two(out, days / 365, 'y', days < 8 * 365 ? days % 365 : 0, 'd');
}

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FIELD_COUNT };

struct field {
    const char *name;
    size_t digits;
    int low, high;
    char after; /* what must follow, '\0' when anything may */
};

/* clang-format off */
static const struct field FIELDS[FIELD_COUNT] = {
    [YEAR]   = {"year",   4, 0, 9999, '-'},
    [MONTH]  = {"month",  2, 1, 12,   '-'},
    [DAY]    = {"day",    2, 1, 31,   'T'},
    [HOUR]   = {"hour",   2, 0, 23,   ':'},
    [MINUTE] = {"minute", 2, 0, 59,   ':'},
    [SECOND] = {"second", 2, 0, 59,   '\0'}, /* no leap seconds: POSIX time has none */
};
static const struct field OFFSET_HOUR   = {"hour of the offset",   2, 0, 23, ':'};
static const struct field OFFSET_MINUTE = {"minute of the offset", 2, 0, 59, '\0'};
/* clang-format on */

static int time_error(struct err *err)
{
    if (err)
        err->code = -EINVAL;
    (void)err_wrap(err, "not an RFC 3339 time"); /* the text is set by the caller */
    (void)err_hint(err, "write date, T, time and offset, for example 2026-01-02T03:04:05Z or "
                        "2026-01-02T03:04:05.678+01:00");
    return -EINVAL;
}

static int field_error(const struct field *field, struct err *err)
{
    (void)err_set(err, -EINVAL, "the %s must be %zu digits from %0*d to %d", field->name,
                  field->digits, (int)field->digits, field->low, field->high);
    return time_error(err);
}

static int take_field(struct sv *rest, const struct field *field, int *ret_value, struct err *err)
{
    int value = 0;
    if (rest->len < field->digits)
        return field_error(field, err);
    for (size_t i = 0; i < field->digits; i++) {
        if (!is_digit(rest->ptr[i]))
            return field_error(field, err);
        value = value * 10 + (rest->ptr[i] - '0');
    }
    if (value < field->low || value > field->high)
        return field_error(field, err);
    rest->ptr += field->digits;
    rest->len -= field->digits;
    if (field->after && !take(rest, field->after) &&
        !(field->after == 'T' && take(rest, 't'))) { /* RFC 3339, 5.6: may be lower case */
        (void)err_set(err, -EINVAL, "'%c' must follow the %s", field->after, field->name);
        return time_error(err);
    }
    *ret_value = value;
    return 0;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int64_t year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return DAYS[month - 1] + (month == 2 && is_leap(year));
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01. Years begin in March here, so that the leap day comes last and the months
 * before it follow one formula; an era is the 400 years after which the calendar repeats. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    days += 719468;
    int64_t era = floor_div(days, 146097);
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int from_march = (int)((5 * day_of_year + 2) / 153);
    *ret_day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
    *ret_month = from_march < 10 ? from_march + 3 : from_march - 9;
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

static int take_date_time(struct sv *rest, time_ms *ret_ms, struct err *err)
{
    int at[FIELD_COUNT];
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        int r = take_field(rest, &FIELDS[i], &at[i], err);
        if (r < 0)
            return r;
    }
    if (at[DAY] > days_in_month(at[YEAR], at[MONTH])) {
        (void)err_set(err, -EINVAL, "month %04d-%02d has %d days", at[YEAR], at[MONTH],
                      days_in_month(at[YEAR], at[MONTH]));
        return time_error(err);
    }
    *ret_ms = days_from_date(at[YEAR], at[MONTH], at[DAY]) * MS_PER_DAY +
              (time_ms)at[HOUR] * MS_PER_HOUR + (time_ms)at[MINUTE] * MS_PER_MINUTE +
              (time_ms)at[SECOND] * MS_PER_SECOND;
    return 0;
}

static int take_fraction(struct sv *rest, time_ms *ret_ms, struct err *err)
{
    time_ms ms = 0;
    if (take(rest, '.')) {
        struct sv digits = take_while(rest, is_digit);
        if (digits.len < 1 || digits.len > 9) {
            (void)err_set(err, -EINVAL, "a fraction of a second has 1 to 9 digits");
            return time_error(err);
        }
        for (size_t i = 0; i < 3; i++)
            ms = ms * 10 + (i < digits.len ? digits.ptr[i] - '0' : 0);
    }
    *ret_ms = ms;
    return 0;
}

static int take_offset(struct sv *rest, time_ms *ret_ms, struct err *err)
{
    int hour = 0, minute = 0;
    bool negative = false;
    if (!take(rest, 'Z') && !take(rest, 'z')) {
        negative = take(rest, '-');
        if (!negative && !take(rest, '+')) {
            (void)err_set(err, -EINVAL, "'Z' or an offset must follow the seconds");
            return time_error(err);
        }
        int r = take_field(rest, &OFFSET_HOUR, &hour, err);
        if (r < 0)
            return r;
        r = take_field(rest, &OFFSET_MINUTE, &minute, err);
        if (r < 0)
            return r;
    }
    time_ms ms = (time_ms)hour * MS_PER_HOUR + (time_ms)minute * MS_PER_MINUTE;
    *ret_ms = negative ? -ms : ms;
    return 0;
}

int rfc3339_parse(struct sv text, time_ms *ret_ms, struct err *err)
{
    struct sv rest = text;
    time_ms at, fraction, offset;
    int r = take_date_time(&rest, &at, err);
    if (r < 0)
        return r;
    r = take_fraction(&rest, &fraction, err);
    if (r < 0)
        return r;
    r = take_offset(&rest, &offset, err);
    if (r < 0)
        return r;
    if (rest.len) {
        (void)err_set(err, -EINVAL, "something follows the offset");
        return time_error(err);
    }
    *ret_ms = at + fraction - offset;
    return 0;
}

static char *put_digits(char *at, int number, int digits)
{
    for (int i = digits; i-- > 0; number /= 10)
        at[i] = (char)('0' + number % 10);
    return at + digits;
}

/* Without the Z; returns the milliseconds that are left. By hand: every line of the access log has
 * one, and printf() takes ten times as long. */
static int format_seconds(time_ms at, struct str *out)
{
    int64_t days = floor_div(at, MS_PER_DAY);
    int ms = (int)(at % MS_PER_DAY + (at % MS_PER_DAY < 0 ? MS_PER_DAY : 0));
    int64_t year;
    int month, day;
    date_from_days(days, &year, &month, &day);
    if (year < 0 || year > 9999)
        str_addf(out, "%04" PRId64, year);
    char text[24], *end = text;
    if (year >= 0 && year <= 9999)
        end = put_digits(end, (int)year, 4);
    const struct {
        char before;
        int number;
    } parts[] = {{'-', month},
                 {'-', day},
                 {'T', ms / MS_PER_HOUR},
                 {':', ms / MS_PER_MINUTE % 60},
                 {':', ms / MS_PER_SECOND % 60}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        *end++ = parts[i].before;
        end = put_digits(end, parts[i].number, 2);
    }
    str_addn(out, text, (size_t)(end - text));
    return ms % MS_PER_SECOND;
}

void rfc3339_format(time_ms at, struct str *out)
{
    (void)format_seconds(at, out); /* rounds down */
    str_addc(out, 'Z');
}

void rfc3339_format_ms(time_ms at, struct str *out)
{
    char fraction[] = ".000Z";
    (void)put_digits(fraction + 1, format_seconds(at, out), 3);
    str_addn(out, fraction, sizeof(fraction) - 1);
}

void rfc3339_format_micro(time_ms at, struct str *out)
{
    int ms = format_seconds(at, out);
    str_addf(out, ".%03d000Z", ms);
}
