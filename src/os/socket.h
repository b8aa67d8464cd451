// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"

/* Listening sockets, non-blocking and close-on-exec. */
int socket_listen_unix(const char *path, int *ret_fd, struct err *err); /* mode 0600 */
/* "127.0.0.1:0", "[::1]:8443", ":8443", "host:port". Tells what it is bound to. */
int socket_check_tcp(const char *address, struct err *err); /* is it written so? */
int socket_listen_tcp(const char *address, int *ret_fd, char ret_host[256], int *ret_port,
                      struct err *err);
