// SPDX-License-Identifier: Apache-2.0
#pragma once

/* As process 1 of a container we inherit every orphan in it, and nobody else reaps them. Then the
 * program goes on in a child (this returns there), and process 1 only reaps, passes signals on, and
 * ends as the child does. Does nothing in any other process. */
void init_guard(void);
