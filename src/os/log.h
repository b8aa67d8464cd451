// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"

/* One line a happening on stderr: time, level, a stable dotted name, then key=value pairs that
 * the caller formats ("store.opened file=... objects=12"). Values with spaces must be quoted by
 * log_quote(). Never a token, never a key. */
enum log_level { LOG_DEBUG_LEVEL, LOG_INFO_LEVEL, LOG_WARN_LEVEL, LOG_ERROR_LEVEL };
void log_set_level(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_quote(const char *text, struct str *out); /* appended with its quotes */
#define log_debug(...) log_line(LOG_DEBUG_LEVEL, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO_LEVEL, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN_LEVEL, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR_LEVEL, __VA_ARGS__)
