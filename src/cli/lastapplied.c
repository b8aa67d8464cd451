// SPDX-License-Identifier: Apache-2.0
#include "cli/lastapplied.h"
#include "base/vec.h"
#include <stdlib.h>

static void write_value(yyjson_mut_val *val, struct str *out);

/* U+2028 and U+2029 end lines in JavaScript; Go escapes them. */
static bool is_line_end(const unsigned char *c, size_t left)
{
    return left >= 3 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9);
}

static void write_text(const char *text, size_t len, struct str *out)
{
    static const char SHORT[] = "\"\\\n\r\t\b\f", LETTER[] = "\"\\nrtbf";
    const unsigned char *c = (const unsigned char *)text;
    str_addc(out, '"');
    for (size_t i = 0; i < len; i++) {
        const char *found = c[i] ? strchr(SHORT, c[i]) : NULL;
        if (found != NULL) {
            str_addf(out, "\\%c", LETTER[found - SHORT]);
        } else if (c[i] < 0x20 || c[i] == '<' || c[i] == '>' || c[i] == '&') {
            str_addf(out, "\\u%04x", c[i]);
        } else if (is_line_end(c + i, len - i)) {
            str_addf(out, "\\u20%02x", c[i + 2] - 0x80);
            i += 2;
        } else {
            str_addc(out, (char)c[i]);
        }
    }
    str_addc(out, '"');
}

static int by_key(const void *a, const void *b)
{
    return strcmp(yyjson_mut_get_str(*(yyjson_mut_val *const *)a),
                  yyjson_mut_get_str(*(yyjson_mut_val *const *)b));
}

static void write_object(yyjson_mut_val *object, struct str *out)
{
    VEC(yyjson_mut_val *) keys = {0};
    size_t i, n;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(object, i, n, key, val)
    {
        vec_push(&keys, key);
    }
    if (keys.len > 0)
        qsort(keys.items, keys.len, sizeof(*keys.items), by_key);
    str_addc(out, '{');
    for (size_t k = 0; k < keys.len; k++) {
        key = keys.items[k];
        str_add(out, k ? "," : NULL);
        write_text(yyjson_mut_get_str(key), yyjson_mut_get_len(key), out);
        str_addc(out, ':');
        write_value(yyjson_mut_obj_iter_get_val(key), out);
    }
    str_addc(out, '}');
    vec_done(&keys);
}

static void write_array(yyjson_mut_val *array, struct str *out)
{
    size_t i, n;
    yyjson_mut_val *val;
    str_addc(out, '[');
    yyjson_mut_arr_foreach(array, i, n, val)
    {
        str_add(out, i ? "," : NULL);
        write_value(val, out);
    }
    str_addc(out, ']');
}

/* Recursion is bounded by the depth that the parser lets through. */
static void write_value(yyjson_mut_val *val, struct str *out)
{
    if (yyjson_mut_is_obj(val))
        write_object(val, out);
    else if (yyjson_mut_is_arr(val))
        write_array(val, out);
    else if (yyjson_mut_is_str(val))
        write_text(yyjson_mut_get_str(val), yyjson_mut_get_len(val), out);
    else
        json_write(val, out);
}

void lastapplied_set(yyjson_mut_doc *doc, yyjson_mut_val *object)
{
    yyjson_mut_val *annotations = json_mut_need_obj(doc, object, "metadata.annotations");
    json_mut_put(doc, annotations, LAST_APPLIED, NULL);
    scoped_str text = {0};
    write_value(object, &text);
    str_addc(&text, '\n');
    json_mut_put(doc, annotations, LAST_APPLIED,
                 yyjson_mut_strncpy(doc, str_text(&text), text.len));
}

yyjson_doc *lastapplied_get(yyjson_mut_val *object)
{
    yyjson_mut_val *text =
        yyjson_mut_obj_get(json_mut_at(object, "metadata.annotations"), LAST_APPLIED);
    yyjson_doc *doc = NULL;
    if (!yyjson_mut_is_str(text))
        return NULL;
    struct sv view = {yyjson_mut_get_str(text), yyjson_mut_get_len(text)};
    return json_parse(view, &doc, NULL) == 0 ? doc : NULL;
}
