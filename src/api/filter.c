// SPDX-License-Identifier: Apache-2.0
#include "api/call.h"
#include "model/selector.h"

bool filter_parse(const struct call *call, struct filter *ret_filter, struct status *status)
{
    struct filter filter = {0};
    struct err err = {0};
    const char *labels = call_param(call, "labelSelector");
    const char *fields = call_param(call, "fieldSelector");
    int r = 0;
    if (labels != NULL && *labels != '\0')
        r = label_selector_parse(sv_of(labels), &filter.labels, &err);
    if (r == 0 && fields != NULL && *fields != '\0')
        r = field_selector_parse(sv_of(fields), call->kind->selectable, &filter.fields, &err);
    if (r < 0) {
        filter_done(&filter);
        status_bad_request(status, "%s%s%s", err.text, err.hint[0] ? ": " : "", err.hint);
        return false;
    }
    *ret_filter = filter;
    return true;
}

bool filter_matches(const struct filter *filter, const struct obj *obj)
{
    if (filter->labels != NULL && !label_selector_matches(filter->labels, obj->meta.labels))
        return false;
    return filter->fields == NULL || field_selector_matches(filter->fields, obj->root);
}

void filter_done(struct filter *filter)
{
    label_selector_free(filter->labels);
    field_selector_free(filter->fields);
    *filter = (struct filter){0};
}
