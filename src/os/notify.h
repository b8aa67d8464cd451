// SPDX-License-Identifier: Apache-2.0
#pragma once
/* Tells the service manager, when there is one ($NOTIFY_SOCKET): "READY=1", "STOPPING=1". */
void notify_send(const char *state);
