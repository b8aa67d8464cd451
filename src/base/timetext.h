// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdint.h>

/* Time inside is milliseconds: since 1970 for points in time, plain for spans. */
typedef int64_t time_ms;
#define TIME_NEVER INT64_MAX

/* Durations as Go and Kubernetes write them: "1h30m", "300s", "1.5h", "250ms", "0", "-5s". */
int duration_parse(struct sv text, time_ms *ret_ms, struct err *err);
void duration_format(time_ms ms, struct str *out); /* "1h30m0s", "1.5s", "250ms", "0s" */
/* For people, as kubectl prints ages: "5s", "3m10s", "17m", "3h5m", "2d4h", "400d", "3y12d". */
void duration_human(time_ms ms, struct str *out);

/* RFC 3339, any offset, up to nanoseconds in; UTC out. */
int rfc3339_parse(struct sv text, time_ms *ret_ms, struct err *err);
void rfc3339_format(time_ms at, struct str *out);       /* 2026-01-02T03:04:05Z (rounds down) */
void rfc3339_format_ms(time_ms at, struct str *out);    /* 2026-01-02T03:04:05.678Z */
void rfc3339_format_micro(time_ms at, struct str *out); /* 2026-01-02T03:04:05.678000Z */
