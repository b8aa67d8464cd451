#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a gang of ../two-gangs.yaml: two shards hold half of the data each, and the trainer
finds the line through all of it, for which it needs both of them in every step.

member.py shard      answers with the gradient of its half until SIGTERM
member.py trainer    asks both shards, step by step, and prints the line

Members find each other at abstract unix sockets, which are gone when their owner is."""

import contextlib
import os
import signal
import socket
import sys
import time

SHARDS = 2
STEPS, PAUSE_S, RATE = 150, 0.02, 0.3
PATIENCE_S = 10


def address(index):
    return f"\0two-gangs-{os.environ.get('GANG', 'alone')}-{index}"


def gradient(data, slope, height):
    off = [(slope * x + height - y, x) for x, y in data]
    return sum(e * x for e, x in off), sum(e for e, _ in off)


def answer(link, data):
    with link.makefile("rw") as stream:
        for line in stream:
            print(*gradient(data, *map(float, line.split())), file=stream, flush=True)


def tell_ready(*_):
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link, contextlib.suppress(OSError):
            link.connect("\0" + path[1:] if path.startswith("@") else path)
            link.send(b"READY=1")


def keep_telling_ready():
    """A server that was killed just now has not heard it, and the next one will ask."""
    signal.signal(signal.SIGALRM, tell_ready)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    tell_ready()


def shard(index):
    data = [(x / 10, 2 * x / 10 + 1) for x in range(index, 20, SHARDS)]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address(index))
        listener.listen()
        print(f"shard {index} has {len(data)} points", flush=True)
        keep_telling_ready()
        while True:
            link = listener.accept()[0]
            with link, contextlib.suppress(OSError):
                answer(link, data)


def trainer():
    with contextlib.ExitStack() as stack:
        streams = []
        for index in range(SHARDS):
            link = stack.enter_context(socket.socket(socket.AF_UNIX))
            link.settimeout(PATIENCE_S)
            link.connect(address(index))
            streams.append(stack.enter_context(link.makefile("rw")))
        slope = height = 0.0
        for _ in range(STEPS):
            for stream in streams:
                print(slope, height, file=stream, flush=True)
            parts = [tuple(map(float, stream.readline().split())) for stream in streams]
            slope -= RATE * sum(part[0] for part in parts) / 20
            height -= RATE * sum(part[1] for part in parts) / 20
            time.sleep(PAUSE_S)
        print(f"all three were here: y = {slope:.2f} x + {height:.2f}", flush=True)


def main(role):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if role == "shard":
        shard(int(os.environ.get("JOB_COMPLETION_INDEX", "0")))
    elif role == "trainer":
        trainer()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
