// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>

/* What is measured of N workers, through the spawner and without it. */
struct spawn_figures {
    uint64_t start_ns;      /* none to all */
    uint64_t rolling_ns;    /* all killed, each started again when it has ended */
    uint64_t stop_start_ns; /* all terminated and reaped, then all started */
    uint64_t kill_ns;       /* all to none */
    uint64_t cpu_ns;        /* of those who do it, in all */
    uint64_t rss_bytes;     /* what they need for it */
};

/* The least that a program can do: clone, exec, kill, reap. In spawn_bare.c. */
struct spawn_figures spawn_bare(const char *child, int n);
