// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"

/* The clocks, for programs without a loop; with one, loop_now() and loop_wall() are cheaper and do
 * not change within a turn. */
time_ms clock_wall(void);      /* since 1970 */
time_ms clock_monotonic(void); /* for spans and deadlines */
