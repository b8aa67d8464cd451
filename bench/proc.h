// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>
#include <sys/types.h>

/* What a process has used so far, as the kernel counts it. */
struct proc_use {
    uint64_t cpu_ns;  /* of all threads that are alive */
    uint64_t main_ns; /* of the first one, which in our server is the loop */
    uint64_t rss_bytes;
};

/* Zeros for a process that cannot be looked at. */
struct proc_use proc_use(pid_t pid);
/* The same once the process has come to rest, or after a tenth of a second. */
struct proc_use proc_use_at_rest(pid_t pid);

uint64_t proc_clock_ns(void); /* monotonic */
