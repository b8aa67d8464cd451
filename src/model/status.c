// SPDX-License-Identifier: Apache-2.0
#include "model/status.h"
#include <stdarg.h>
#include <stdio.h>

void status_done(struct status *status)
{
    str_done(&status->message);
    findings_done(&status->causes);
    *status = (struct status){0};
}

void status_move(struct status *to, struct status *from)
{
    status_done(to);
    *to = *from;
    *from = (struct status){0};
}

void status_set(struct status *status, int code, const char *reason, const char *fmt, ...)
{
    status_done(status);
    status->code = code;
    status->reason = reason;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* a cut sentence is still a sentence */
    va_end(args);
    str_add(&status->message, text);
}

static void set_about(struct status *status, const struct kind *kind, const char *name)
{
    status->group = kind->group;
    status->resource = kind->plural;
    (void)snprintf(status->name, sizeof(status->name), "%s", name ? name : "");
}

/* "pods" or "jobs.batch": how the API names a resource in its sentences. */
static const char *resource_name(const struct kind *kind, char out[128])
{
    (void)snprintf(out, 128, "%s%s%s", kind->plural, *kind->group ? "." : "", kind->group);
    return out;
}

void status_not_found(struct status *status, const struct kind *kind, const char *name)
{
    char resource[128];
    status_set(status, 404, "NotFound", "%s \"%s\" not found", resource_name(kind, resource), name);
    set_about(status, kind, name);
}

void status_exists(struct status *status, const struct kind *kind, const char *name)
{
    char resource[128];
    status_set(status, 409, "AlreadyExists", "%s \"%s\" already exists",
               resource_name(kind, resource), name);
    set_about(status, kind, name);
}

void status_conflict(struct status *status, const struct kind *kind, const char *name,
                     const char *why_or_null)
{
    char resource[128];
    const char *why = why_or_null ? why_or_null
                                  : "the object has been modified; please apply your changes to "
                                    "the latest version and try again";
    status_set(status, 409, "Conflict", "Operation cannot be fulfilled on %s \"%s\": %s",
               resource_name(kind, resource), name, why);
    set_about(status, kind, name);
}

void status_bad_request(struct status *status, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    status_set(status, 400, "BadRequest", "%s", text);
}

void status_forbidden(struct status *status, const struct kind *kind, const char *name,
                      const char *why)
{
    char resource[128];
    bool named = name != NULL && *name != '\0';
    status_set(status, 403, "Forbidden", "%s%s%s%s is forbidden: %s", resource_name(kind, resource),
               named ? " \"" : "", named ? name : "", named ? "\"" : "", why);
    set_about(status, kind, name);
}

void status_invalid(struct status *status, const struct kind *kind, const char *name,
                    struct findings *findings)
{
    status_set(status, 422, "Invalid", "%s%s%s \"%s\" is invalid: ", kind->name,
               *kind->group ? "." : "", kind->group, name);
    bool many = findings->list.len > 1;
    if (many)
        str_addc(&status->message, '[');
    for (size_t i = 0; i < findings->list.len; i++) {
        const struct finding *f = &findings->list.items[i];
        str_addf(&status->message, "%s%s: %s", i ? ", " : "", f->path, f->text);
        if (f->hint != NULL)
            str_addf(&status->message, " (%s)", f->hint);
    }
    if (many)
        str_addc(&status->message, ']');
    set_about(status, kind, name);
    status->resource = kind->name;
    status->causes = *findings;
    *findings = (struct findings){0};
}

static void add_text(struct str *out, const char *key, const char *text)
{
    str_addf(out, "\"%s\":", key);
    json_quote(text, strlen(text), out);
}

static void add_causes(const struct status *status, struct str *out)
{
    str_add(out, ",\"causes\":[");
    for (size_t i = 0; i < status->causes.list.len; i++) {
        const struct finding *f = &status->causes.list.items[i];
        str_add(out, i ? ",{" : "{");
        add_text(out, "reason", finding_reason_name(f->reason));
        str_addc(out, ',');
        scoped_str message = {0};
        str_add(&message, f->text);
        if (f->hint != NULL)
            str_addf(&message, " (%s)", f->hint);
        add_text(out, "message", str_text(&message));
        str_addc(out, ',');
        add_text(out, "field", f->path);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

static void add_details(const struct status *status, struct str *out)
{
    str_add(out, ",\"details\":{");
    if (status->name[0] != '\0') {
        add_text(out, "name", status->name);
        str_addc(out, ',');
    }
    if (status->group != NULL && *status->group != '\0') {
        add_text(out, "group", status->group);
        str_addc(out, ',');
    }
    add_text(out, "kind", status->resource ? status->resource : "");
    if (status->causes.list.len > 0)
        add_causes(status, out);
    if (status->retry_after_s > 0)
        str_addf(out, ",\"retryAfterSeconds\":%d", status->retry_after_s);
    str_addc(out, '}');
}

void status_write(const struct status *status, struct str *out)
{
    str_add(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},");
    if (status_ok(status)) {
        str_add(out, "\"status\":\"Success\"}");
        return;
    }
    str_add(out, "\"status\":\"Failure\",");
    add_text(out, "message", str_text(&status->message));
    str_addc(out, ',');
    add_text(out, "reason", status->reason);
    if (status->resource != NULL || status->retry_after_s > 0)
        add_details(status, out);
    str_addf(out, ",\"code\":%d}\n", status->code);
}
