// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <stddef.h>

/* Removes parent/name and everything below it, however deep and whoever filled it: links are never
 * followed, what is mounted below is unmounted and not looked into. Takes at most about `budget`
 * steps, so that the loop can do other things in between. 0: nothing is left, or was there. 1: call
 * again. Else the first thing that could not be removed; all the rest has gone. */
int tree_remove(const char *parent, const char *name, size_t budget, struct err *err);
