#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses 200 ms of CPU, says that it is ready, and waits to be ended."""

import os
import signal
import socket
import time

while time.process_time() < 0.2:
    sum(i * i for i in range(1000))
path = os.environ["NOTIFY_SOCKET"]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
    link.connect("\0" + path[1:] if path.startswith("@") else path)
    link.send(b"READY=1")
signal.pause()
