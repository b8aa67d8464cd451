// SPDX-License-Identifier: Apache-2.0
#pragma once

/* A lock that ends with its holder: flock() on a file that begins with the pid of who has it.
 *
 * Takes it, `how` LOCK_SH or LOCK_EX, without waiting for anybody who lives. 1: it is ours. 0: it
 * is not, and `*ret_holder` is who has it; 0 when that is not told. Negative errno. */
int filelock_take(int fd, int how, long *ret_holder);
