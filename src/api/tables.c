// SPDX-License-Identifier: Apache-2.0
#include "api/call.h"
#include "store/scale.h"
#include <string.h>

void tables_begin(struct str *out, const struct kind *kind, const char *meta_json)
{
    str_addf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":%s,",
             meta_json);
    str_add(out, "\"columnDefinitions\":");
    table_columns(kind, out);
    str_add(out, ",\"rows\":[");
}

void tables_row(struct str *out, const struct obj *obj, time_ms now, const char *include)
{
    tables_row_as(out, obj->kind, obj, now, include);
}

void tables_row_as(struct str *out, const struct kind *as, const struct obj *obj, time_ms now,
                   const char *include)
{
    str_add(out, out->data[out->len - 1] == '[' ? "{\"cells\":" : ",{\"cells\":");
    table_cells(obj->kind, obj->root, now, out);
    str_add(out, ",\"object\":");
    if (include != NULL && strcmp(include, "Object") == 0) {
        version_add(as, obj, out);
    } else if (include != NULL && strcmp(include, "None") == 0) {
        str_add(out, "null");
    } else {
        version_add_meta(obj, out);
    }
    str_addc(out, '}');
}

void tables_row_view(struct str *out, const struct kind *kind, yyjson_val *view, time_ms now,
                     const char *include)
{
    str_add(out, out->data[out->len - 1] == '[' ? "{\"cells\":" : ",{\"cells\":");
    table_cells(kind, view, now, out);
    str_add(out, ",\"object\":");
    if (str_eq(include, "None"))
        str_add(out, "null");
    else
        json_write_val(view, out);
    str_addc(out, '}');
}

void tables_end(struct str *out)
{
    str_add(out, "]}\n");
}

void tables_scale(const struct call *call, const struct obj *obj, struct str *out)
{
    scoped_json_mut *scale = scale_view(obj);
    if (!call_wants_table(call)) {
        json_write(yyjson_mut_doc_get_root(scale), out);
        return;
    }
    scoped_json *view = yyjson_mut_doc_imut_copy(scale, NULL);
    tables_begin(out, &KIND_SCALE, "{}");
    tables_row_view(out, &KIND_SCALE, yyjson_doc_get_root(view), loop_wall(call->api->loop),
                    call_param(call, "includeObject"));
    tables_end(out);
}
