// SPDX-License-Identifier: Apache-2.0
#include "api/call.h"
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
        str_add(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                     "\"metadata\":");
        json_write_val(yyjson_obj_get(obj->root, "metadata"), out);
        str_addc(out, '}');
    }
    str_addc(out, '}');
}

void tables_end(struct str *out)
{
    str_add(out, "]}\n");
}
