// SPDX-License-Identifier: Apache-2.0
/* Documents into structs. A value of the wrong type leaves its member at zero: views are taken of
 * stored objects, which were checked, and a missing member must be handled anyhow. */
#include "base/quantity.h"
#include "model/schema.h"

static void put_int(void *at, yyjson_val *val)
{
    if (!yyjson_is_int(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX))
        return;
    int64_t n = yyjson_get_sint(val);
    memcpy(at, &n, sizeof(n));
}

static void put_bool(void *at, yyjson_val *val)
{
    bool b = yyjson_get_bool(val);
    memcpy(at, &b, sizeof(b));
}

static void put_number(void *at, yyjson_val *val)
{
    double n = yyjson_get_num(val);
    memcpy(at, &n, sizeof(n));
}

static void put_text(void *at, yyjson_val *val)
{
    const char *text = yyjson_get_str(val);
    memcpy(at, &text, sizeof(text));
}

static void put_value(void *at, yyjson_val *val)
{
    memcpy(at, &val, sizeof(val));
}

static void put_time(void *at, yyjson_val *val)
{
    time_ms t;
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    if (yyjson_is_str(val) && rfc3339_parse(text, &t, NULL) >= 0)
        memcpy(at, &t, sizeof(t));
}

static void put_quantity(void *at, yyjson_val *val)
{
    quantity q;
    scoped_str number = {0};
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    if (yyjson_is_num(val)) {
        json_write_val(val, &number);
        text = (struct sv){number.data, number.len};
    }
    if (text.ptr != NULL && quantity_parse(text, &q, NULL) >= 0)
        memcpy(at, &q, sizeof(q));
}

static void view_one(const struct field *field, yyjson_val *val, void *at)
{
    switch (field->type) {
    case F_OBJECT:
        if (field->of != NULL)
            view_decode(field->of, val, at);
        return;
    case F_STRING:
    case F_DURATION:
    case F_BYTES:
        put_text(at, val);
        return;
    case F_BOOL:
        put_bool(at, val);
        return;
    case F_INT32:
    case F_INT64:
        put_int(at, val);
        return;
    case F_NUMBER:
        put_number(at, val);
        return;
    case F_QUANTITY:
        put_quantity(at, val);
        return;
    case F_TIME:
    case F_MICRO_TIME:
        put_time(at, val);
        return;
    case F_INT_OR_STRING:
    case F_PERCENT:
    case F_ANY:
        put_value(at, val);
        return;
    }
}

void view_decode(const struct type *type, yyjson_val *root, void *view)
{
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        yyjson_val *val = f->view == 0 ? NULL : yyjson_obj_get(root, f->name);
        if (val == NULL || yyjson_is_null(val))
            continue;
        void *at = (char *)view + f->view - 1;
        if (f->shape == ONE)
            view_one(f, val, at);
        else if (f->shape == LIST ? yyjson_is_arr(val) : yyjson_is_obj(val))
            put_value(at, val);
    }
}
