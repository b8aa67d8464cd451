// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"

/* The only place that asks the kernel for the time; the loop does so once a turn. */
time_ms clock_monotonic(void);
time_ms clock_wall(void); /* since 1970 */
