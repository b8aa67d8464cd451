#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One server of the example application in ../oltp.yaml.

server.py [NAME...]       works a while, as programs do when they start, connects to the servers
                          NAME..., then answers pings until SIGTERM
server.py --ping NAME     asks one server once; the exit code tells whether it answered

Servers find each other at abstract unix sockets. Names contain the pod's uid, so that several of
these applications may run on one machine."""

import contextlib
import os
import selectors
import signal
import socket
import sys
import time

NAME = os.environ.get("MUSTER_CONTAINER", "server")
START_CPU_S = float(os.environ.get("START_CPU_MS", "100")) / 1000
PATIENCE_S = 10


def log(text):
    print(text, flush=True)


def address(name):
    return f"\0oltp-{os.environ.get('MUSTER_POD_UID', 'alone')}-{name}"


def ping(name):
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(PATIENCE_S)
        link.connect(address(name))
        link.sendall(b"ping\n")
        return link.recv(64) == b"pong\n"


def work(cpu_s):
    """What reading schemas and filling caches costs."""
    total = 0
    while time.process_time() < cpu_s:
        total += sum(i * i for i in range(1000))
    return total


def tell_ready():
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.connect("\0" + path[1:] if path.startswith("@") else path)
            link.send(b"READY=1")


def serve(listener):
    pings = 0
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                    continue
                data = b""
                with contextlib.suppress(OSError):
                    data = key.fileobj.recv(64)
                if data:
                    pings += 1
                    key.fileobj.sendall(b"pong\n")
                else:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                if data and pings in (1, 10, 100):
                    log(f"{pings} request{'s' if pings > 1 else ''} served")


def stop(*_):
    log("stopping")
    sys.exit(0)


def main(needs):
    signal.signal(signal.SIGTERM, stop)
    began = time.monotonic()
    work(START_CPU_S)
    for name in needs:
        if not ping(name):
            sys.exit(f"{name} gave a wrong answer")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address(NAME))
        listener.listen(64)
        tell_ready()
        log(f"ready after {time.monotonic() - began:.2f} s"
            + (f", connected to {', '.join(needs)}" if needs else ""))
        serve(listener)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ping"]:
        try:
            sys.exit(0 if ping(sys.argv[2]) else 1)
        except OSError as error:
            sys.exit(f"{sys.argv[2]}: {error}")
    main(sys.argv[1:])
