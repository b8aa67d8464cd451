#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A consumer that takes its share from a file: whenever it changes (SIGHUP says so), it tells which
parts of which source are its own. A real one would open and close partitions here."""

import json
import os
import signal
import socket
import sys

PATH = os.environ["MUSTER_VREPLICAS_FILE"]
NOTIFY = os.environ["NOTIFY_SOCKET"]
if NOTIFY.startswith("@"):
    NOTIFY = "\0" + NOTIFY[1:]  # a name without a file, where the path would be too long


def share():
    try:
        with open(PATH) as file:
            return json.loads(file.read() or "{}")
    except (OSError, ValueError):
        return {}


def tell(signo=None, frame=None):
    parts = [f"{v['name']}[{v['first']}..{v['first'] + v['vreplicas'] - 1}]/{v['total']}"
             for v in share().get("vpods", [])]
    print(f"{os.environ.get('HOSTNAME', '?')} consumes " + (" ".join(parts) or "nothing"),
          flush=True)


signal.signal(signal.SIGHUP, tell)
signal.signal(signal.SIGTERM, lambda signo, frame: sys.exit(0))
tell()
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:  # signals may come from now on
    ready.sendto(b"READY=1", NOTIFY)
while True:
    signal.pause()
