// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/kind.h"

/* A refusal as the API words it: an HTTP code, a machine-readable reason, a sentence, and for
 * invalid objects the fields. Zero-initialised it means "fine". */
struct status {
    int code;
    const char *reason; /* static text: "NotFound" */
    struct str message;
    const char *group;    /* details, static or of a kind; NULL: none */
    const char *resource; /* "pods"; "Pod" for Invalid, as clients expect */
    char name[256];
    struct findings causes;
    int retry_after_s;
};

static inline bool status_ok(const struct status *status)
{
    return status->code == 0;
}
void status_done(struct status *status);
void status_move(struct status *to, struct status *from);
/* {"kind":"Status",...}, appended. */
void status_write(const struct status *status, struct str *out_json);

/* All of these set *status and may be called on a zeroed or an earlier one. */
void status_set(struct status *status, int code, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void status_not_found(struct status *status, const struct kind *kind, const char *name);
void status_exists(struct status *status, const struct kind *kind, const char *name);
void status_conflict(struct status *status, const struct kind *kind, const char *name,
                     const char *why_or_null);
void status_bad_request(struct status *status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void status_forbidden(struct status *status, const struct kind *kind, const char *name,
                      const char *why);
/* Takes the findings. */
void status_invalid(struct status *status, const struct kind *kind, const char *name,
                    struct findings *findings);
