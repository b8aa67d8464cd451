// SPDX-License-Identifier: Apache-2.0
/* Checks of one value that is not an object: its JSON type, then what its table row says. Each
 * mistake of type that YAML invites (quotes missing, quotes too many) gets a hint. */
#include "base/quantity.h"
#include "model/percent.h"
#include "model/schema_internal.h"

/* Not what to write in them: of YAML's 0777 and off there are only 511 and false here. */
static void hint_quotes(struct check *c, yyjson_mut_val *val)
{
    if (yyjson_mut_is_num(val) || yyjson_mut_is_bool(val))
        check_hint(c, HINT_QUOTES);
}

/* "8080" where 8080 is meant; `plain` says whether the text would be right without its quotes. */
static void hint_no_quotes(struct check *c, yyjson_mut_val *val, bool (*plain)(yyjson_val *val))
{
    if (!yyjson_mut_is_str(val))
        return;
    scoped_json *doc = yyjson_read(yyjson_mut_get_str(val), yyjson_mut_get_len(val), 0);
    if (doc == NULL || !plain(yyjson_doc_get_root(doc)))
        return;
    scoped_free char *hint = mem_printf("write it without quotes: %s", yyjson_mut_get_str(val));
    check_hint(c, hint);
}

static bool range_has_max(const struct field *field)
{
    if (field->max == 0 && field->min >= 0)
        return false;
    return field->max != INT64_MAX && !(field->type == F_INT32 && field->max == INT32_MAX);
}

static bool in_range(const struct field *field, int64_t n)
{
    return n >= field->min && (!range_has_max(field) || n <= field->max);
}

static void report_range(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    scoped_str why = {0};
    if (!range_has_max(field))
        str_addf(&why, "must be greater than or equal to %lld", (long long)field->min);
    else if (field->min == INT64_MIN)
        str_addf(&why, "must be less than or equal to %lld", (long long)field->max);
    else
        str_addf(&why, "must be between %lld and %lld, inclusive", (long long)field->min,
                 (long long)field->max);
    check_invalid(c, NULL, val, str_text(&why));
}

void check_length(struct check *c, const struct field *field, yyjson_mut_val *val, const char *unit)
{
    size_t len = yyjson_mut_is_arr(val) ? yyjson_mut_arr_size(val) : yyjson_mut_get_len(val);
    if (!(field->flags & RANGE) || in_range(field, (int64_t)len))
        return;
    scoped_str why = {0};
    bool short_ = (int64_t)len < field->min;
    str_addf(&why, "must have %s %lld %s", short_ ? "at least" : "no more than",
             (long long)(short_ ? field->min : field->max), unit);
    check_invalid(c, NULL, val, str_text(&why));
}

static bool is_ranged(const struct field *field)
{
    return (field->flags & RANGE) && field->shape != LIST;
}

bool check_empty(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    size_t len = yyjson_mut_is_str(val)   ? yyjson_mut_get_len(val)
                 : yyjson_mut_is_arr(val) ? yyjson_mut_arr_size(val)
                                          : yyjson_mut_obj_size(val);
    if (!(field->flags & NON_EMPTY) || len > 0)
        return false;
    if (field->flags & REQUIRED)
        check_required(c, NULL, NULL);
    else
        check_invalid(c, NULL, val, "must not be empty");
    return true;
}

static bool is_one_of(const char *text, const char *const *values)
{
    for (; *values != NULL; values++)
        if (str_eq(text, *values))
            return true;
    return false;
}

/* An empty text in an optional field is how many clients write "not set". */
static bool check_empty_string(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (field->shape != ONE || yyjson_mut_get_len(val) > 0)
        return false;
    if (check_empty(c, field, val))
        return true;
    if (!(field->flags & REQUIRED))
        return field->fallback == NULL;
    if (format_problem(field->format, "", 0) == NULL)
        return false;
    check_required(c, NULL, NULL);
    return true;
}

static void check_string(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (!yyjson_mut_is_str(val)) {
        check_type(c, NULL, val, "a string");
        hint_quotes(c, val);
        return;
    }
    if (check_empty_string(c, field, val))
        return;
    const char *text = yyjson_mut_get_str(val);
    size_t len = yyjson_mut_get_len(val);
    /* Views hand strings out as C text, and processes get them as such. */
    if (field->shape != MAP && memchr(text, '\0', len) != NULL) {
        check_invalid(c, NULL, val, "must not contain NUL characters");
        return;
    }
    if (field->values != NULL && !is_one_of(text, field->values)) {
        check_not_supported(c, NULL, val, field->values);
        return;
    }
    const char *why = field->flags & KEY_FORMAT ? NULL : format_problem(field->format, text, len);
    if (why != NULL)
        check_invalid(c, NULL, val, why);
    if (is_ranged(field))
        check_length(c, field, val, "characters");
}

static bool is_plain_int(yyjson_val *val)
{
    return yyjson_is_int(val);
}

static bool is_plain_bool(yyjson_val *val)
{
    return yyjson_is_bool(val);
}

static bool is_plain_num(yyjson_val *val)
{
    return yyjson_is_num(val);
}

static void check_bool(struct check *c, yyjson_mut_val *val)
{
    if (yyjson_mut_is_bool(val))
        return;
    check_type(c, NULL, val, "a boolean");
    hint_no_quotes(c, val, is_plain_bool);
}

static void check_int(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (!yyjson_mut_is_int(val)) {
        check_type(c, NULL, val, "an integer");
        hint_no_quotes(c, val, is_plain_int);
        return;
    }
    bool fits64 = !yyjson_mut_is_uint(val) || yyjson_mut_get_uint(val) <= INT64_MAX;
    int64_t n = fits64 ? yyjson_mut_get_sint(val) : 0;
    bool wide = field->type == F_INT64;
    if (!fits64 || (!wide && (n < INT32_MIN || n > INT32_MAX)))
        check_invalid(c, NULL, val,
                      wide ? "must fit in a 64-bit integer" : "must fit in a 32-bit integer");
    else if (is_ranged(field) && !in_range(field, n))
        report_range(c, field, val);
}

static void check_number(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (!yyjson_mut_is_num(val)) {
        check_type(c, NULL, val, "a number");
        hint_no_quotes(c, val, is_plain_num);
        return;
    }
    double n = yyjson_mut_get_num(val);
    if (is_ranged(field) &&
        (n < (double)field->min || (range_has_max(field) && n > (double)field->max)))
        report_range(c, field, val);
}

static void check_int_or_string(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (yyjson_mut_is_int(val))
        check_int(c, field, val);
    else if (!yyjson_mut_is_str(val))
        check_type(c, NULL, val, "an integer or a string");
}

static void check_quantity(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    if (!yyjson_mut_is_str(val) && !yyjson_mut_is_num(val)) {
        check_type(c, NULL, val, "a quantity");
        return;
    }
    scoped_str text = {0};
    if (yyjson_mut_is_str(val))
        str_addn(&text, yyjson_mut_get_str(val), yyjson_mut_get_len(val));
    else
        json_write(val, &text);
    quantity q;
    if (quantity_parse((struct sv){str_text(&text), text.len}, &q, NULL) < 0) {
        check_invalid(c, NULL, val, "must be a quantity such as 2, 500m or 1.5Gi");
        return;
    }
    if (!is_ranged(field))
        return;
    if (quantity_cmp(q, quantity_of(field->min)) < 0 ||
        (range_has_max(field) && quantity_cmp(q, quantity_of(field->max)) > 0))
        report_range(c, field, val);
}

static void check_percent(struct check *c, yyjson_mut_val *val)
{
    if (!yyjson_mut_is_str(val) && !yyjson_mut_is_num(val)) {
        check_type(c, NULL, val, "a percentage");
        return;
    }
    scoped_str text = {0};
    if (yyjson_mut_is_str(val))
        str_addn(&text, yyjson_mut_get_str(val), yyjson_mut_get_len(val));
    else
        json_write(val, &text);
    struct sv view = {str_text(&text), text.len};
    double percent = 0;
    const char *why = percent_parse(view, &percent);
    if (why == NULL)
        return;
    check_invalid(c, NULL, val, why);
    if (!percent_is_ambiguous(view))
        return;
    scoped_free char *hint = mem_printf("write it with its sign, in quotes: \"%s%%\"", view.ptr);
    check_hint(c, hint);
}

static int time_text(struct sv text)
{
    time_ms at;
    return rfc3339_parse(text, &at, NULL);
}

static int duration_text(struct sv text)
{
    time_ms span;
    return duration_parse(text, &span, NULL);
}

/* Standard alphabet with padding; line ends are skipped, as encoders like to wrap. */
static int base64_text(struct sv text)
{
    size_t data = 0, pad = 0;
    for (size_t i = 0; i < text.len; i++) {
        char b = text.ptr[i];
        if (b == '\n' || b == '\r')
            continue;
        bool letter = (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z') || (b >= '0' && b <= '9') ||
                      b == '+' || b == '/';
        if (b != '=' && (!letter || pad > 0))
            return -1;
        if (b == '=')
            pad++;
        else
            data++;
    }
    return pad <= 2 && (data + pad) % 4 == 0 ? 0 : -1;
}

static void check_text(struct check *c, yyjson_mut_val *val, int (*parse)(struct sv text),
                       const char *why)
{
    if (!yyjson_mut_is_str(val))
        check_type(c, NULL, val, "a string");
    else if (parse((struct sv){yyjson_mut_get_str(val), yyjson_mut_get_len(val)}) < 0)
        check_invalid(c, NULL, val, why);
}

void check_scalar(struct check *c, const struct field *field, yyjson_mut_val *val)
{
    switch (field->type) {
    case F_STRING:
        check_string(c, field, val);
        return;
    case F_BOOL:
        check_bool(c, val);
        return;
    case F_INT32:
    case F_INT64:
        check_int(c, field, val);
        return;
    case F_NUMBER:
        check_number(c, field, val);
        return;
    case F_QUANTITY:
        check_quantity(c, field, val);
        return;
    case F_PERCENT:
        check_percent(c, val);
        return;
    case F_INT_OR_STRING:
        check_int_or_string(c, field, val);
        return;
    case F_TIME:
    case F_MICRO_TIME:
        check_text(c, val, time_text, "must be a time such as 2026-01-02T03:04:05Z (RFC 3339)");
        return;
    case F_DURATION:
        check_text(c, val, duration_text, "must be a duration such as 90s, 5m or 1h30m");
        return;
    case F_BYTES:
        check_text(c, val, base64_text, "must be base64 with padding (RFC 4648)");
        return;
    case F_OBJECT: /* the walk's own */
    case F_ANY:
        return;
    }
}
