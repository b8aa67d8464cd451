#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that fit a line through many points together: data-parallel gradient descent.

Each worker has its own part of the data. In every step it computes its part of the gradient, and all
parts are summed by a ring all-reduce over loopback sockets: nobody gets on without all others. Every
few steps the weights are saved. Whoever loses a neighbour ends; started again, all agree on the
newest state that everybody has, and go on from there. Whoever leaves at the end says so in a file
first: if somebody dies in that moment, those who are started again find it and leave as well, instead
of waiting for one who is done. With --clean the last one to leave takes the folder away.

The sum of each part is taken in one order, so the result is the same to the last bit however often
somebody died: `train.py --alone` computes it without any network.

Environment: RANK and WORLD_SIZE say who this is; MUSTER_EPOCH tells one start of the group from the
next, so that nobody talks to a neighbour of the start before."""

import argparse
import hashlib
import os
import random
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time

FEATURES = 24
SAMPLES = 48  # of each worker
RATE = 0.12
PATIENCE_S = 120


def data_of(rank):
    """The points of one worker: the same at every start."""
    source = random.Random(1000 + rank)
    secret = [((i * 7) % 11 - 5) / 5 for i in range(FEATURES)]
    rows = []
    for _ in range(SAMPLES):
        x = [source.uniform(-1, 1) for _ in range(FEATURES)]
        rows.append((x, sum(a * b for a, b in zip(x, secret)) + source.gauss(0, 0.01)))
    return rows


def gradient(rows, weights):
    """The gradient of the squared error, and behind it the error itself."""
    total = [0.0] * (FEATURES + 1)
    for x, y in rows:
        off = sum(a * b for a, b in zip(x, weights)) - y
        for i, value in enumerate(x):
            total[i] += off * value
        total[FEATURES] += off * off
    return total


def move(weights, total, world):
    count = SAMPLES * world
    return [w - RATE * t / count for w, t in zip(weights, total)]


def chunks(length, world):
    """Where each worker's part of a vector begins and ends."""
    edges = [length * i // world for i in range(world + 1)]
    return list(zip(edges, edges[1:]))


class Ring:
    """Sends to the next worker, hears from the one before. Ports are the kernel's choice, and are
    told in files of this start of the group."""

    def __init__(self, rank, world, epoch, folder):
        self.rank, self.world = rank, world
        here = os.path.join(folder, f"ports-{epoch}")
        os.makedirs(here, exist_ok=True)
        listener = socket.create_server(("127.0.0.1", 0), backlog=world)
        self.tell(os.path.join(here, str(rank)), listener.getsockname()[1])
        port = self.ask(os.path.join(here, str((rank + 1) % world)))
        self.out = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        listener.settimeout(PATIENCE_S)
        self.into, _ = listener.accept()
        listener.close()
        for link in (self.out, self.into):
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.settimeout(PATIENCE_S)

    @staticmethod
    def tell(path, port):
        with open(f"{path}.new", "w", encoding="ascii") as file:
            file.write(str(port))
        os.rename(f"{path}.new", path)

    @staticmethod
    def ask(path):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                with open(path, encoding="ascii") as file:
                    return int(file.read())
            except FileNotFoundError:
                time.sleep(0.002)
        raise ConnectionError(f"nobody told {path}")

    def receive(self, size):
        parts = b""
        while len(parts) < size:
            part = self.into.recv(size - len(parts))
            if not part:
                raise ConnectionError("the worker before is gone")
            parts += part
        return parts

    def swap(self, values, count):
        self.out.sendall(struct.pack(f"<{len(values)}d", *values))
        return struct.unpack(f"<{count}d", self.receive(8 * count))

    def sum(self, values):
        """Ring all-reduce: each part goes once round to be summed, once more to be told."""
        values, parts = list(values), chunks(len(values), self.world)
        for turn in range(2 * (self.world - 1)):
            mine = parts[(self.rank - turn) % self.world]
            theirs = parts[(self.rank - turn - 1) % self.world]
            came = self.swap(values[mine[0]:mine[1]], theirs[1] - theirs[0])
            if turn < self.world - 1:
                came = [a + b for a, b in zip(came, values[theirs[0]:theirs[1]])]
            values[theirs[0]:theirs[1]] = came
        return values

    def least(self, value):
        for _ in range(self.world - 1):
            value = min(value, int(self.swap([value], 1)[0]))
        return value


class Saved:
    """The weights after some steps, in files of this worker. The last two are kept: a neighbour may
    have died just before it saved."""

    def __init__(self, folder, rank):
        self.folder, self.rank = folder, rank

    def path(self, step):
        return os.path.join(self.folder, f"state-{self.rank}-{step}")

    def steps(self):
        begin = f"state-{self.rank}-"
        names = (name for name in os.listdir(self.folder) if name.startswith(begin))
        return sorted(int(name[len(begin):]) for name in names if name[len(begin):].isdigit())

    def save(self, step, weights):
        with open(f"{self.path(step)}.new", "wb") as file:
            file.write(struct.pack(f"<{FEATURES}d", *weights))
        os.rename(f"{self.path(step)}.new", self.path(step))
        for old in self.steps()[:-2]:
            os.remove(self.path(old))

    def load(self, step):
        if step == 0:
            return [0.0] * FEATURES
        with open(self.path(step), "rb") as file:
            return list(struct.unpack(f"<{FEATURES}d", file.read()))

    def drop_after(self, step):
        for late in self.steps():
            if late > step:
                os.remove(self.path(late))


def fingerprint(weights):
    return hashlib.sha256(struct.pack(f"<{FEATURES}d", *weights)).hexdigest()[:16]


def alone(world, steps):
    """What all workers together must come to."""
    rows, weights, error = [data_of(rank) for rank in range(world)], [0.0] * FEATURES, 0.0
    for _ in range(steps):
        parts = [gradient(rows[rank], weights) for rank in range(world)]
        total = []
        for owner, (first, last) in enumerate(chunks(FEATURES + 1, world)):
            part = parts[owner][first:last]
            for turn in range(1, world):
                other = parts[(owner + turn) % world][first:last]
                part = [a + b for a, b in zip(part, other)]
            total += part
        weights, error = move(weights, total, world), total[FEATURES] / (SAMPLES * world)
    return weights, error


def tell_ready():
    """To whoever starts many of these: this one has what it needs, the next may begin. He may be
    away for a moment, and comes back."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith("@"):
        address = "\0" + address[1:]  # a name without a file
    until = time.monotonic() + PATIENCE_S
    while address and time.monotonic() < until:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
                ready.sendto(b"READY=1", address)
            return
        except OSError:
            time.sleep(0.05)


def is_done(folder):
    """Whether all have come to the end in a start before this one."""
    return os.path.exists(os.path.join(folder, "done"))


def leave(folder, rank, world, clean):
    """From here on nobody needs anybody; the folder goes with the last one."""
    names = ("done", f"left-{rank}") if clean else ("done",)
    for name in names:
        with open(os.path.join(folder, name), "w", encoding="ascii"):
            pass
    if not clean:
        return
    if all(os.path.exists(os.path.join(folder, f"left-{other}")) for other in range(world)):
        shutil.rmtree(folder, ignore_errors=True)  # the last two may both believe to be the last
    sys.stdout.flush()
    os._exit(0)  # at once: who is killed from here on would find nobody when he is started again


def train(args, rank, world, epoch):
    saved, rows = Saved(args.dir, rank), data_of(rank)
    tell_ready()
    ring = Ring(rank, world, epoch, args.dir)
    first = ring.least(max([0] + saved.steps()))
    saved.drop_after(first)
    weights, error = saved.load(first), 0.0
    if rank == 0:
        print(f"epoch {epoch}: {world} workers go on after step {first}", flush=True)
    for step in range(first + 1, args.steps + 1):
        if epoch == 1 and args.fail == f"{rank}@{step}":
            print(f"worker {rank} dies in step {step}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        total = ring.sum(gradient(rows, weights))
        weights, error = move(weights, total, world), total[FEATURES] / (SAMPLES * world)
        if step % args.save_every == 0:
            saved.save(step, weights)
            if rank == 0:
                print(f"step {step:4d}  error {error:.6f}", flush=True)
        if args.pause_ms:
            time.sleep(args.pause_ms / 1000)
    if rank == 0:
        finish(args, weights, error)
    ring.least(0)  # nobody leaves before all are done
    leave(args.dir, rank, world, args.clean)


def finish(args, weights, error):
    right, _ = alone(int(os.environ["WORLD_SIZE"]), args.steps)
    same = fingerprint(right) == fingerprint(weights)
    text = f"result {fingerprint(weights)}  error {error:.6f}  "
    print(text + ("as without any death" if same else "NOT as without any death"), flush=True)
    if args.result:
        with open(args.result, "w", encoding="ascii") as file:
            file.write(fingerprint(weights) + "\n")
    if not same:
        sys.exit(42)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--pause-ms", type=int, default=0, help="after each step, to be watched")
    parser.add_argument("--fail", default="", help="RANK@STEP: that worker dies there, once")
    parser.add_argument("--dir", default="", help="for states and ports; a relative one is in $TMPDIR")
    parser.add_argument("--result", default="", help="a file for the fingerprint of the result")
    parser.add_argument("--clean", action="store_true", help="removes that folder at the end")
    parser.add_argument("--alone", action="store_true", help="computes the same without others")
    args = parser.parse_args()
    world = int(os.environ.get("WORLD_SIZE", "8"))
    if args.alone:
        print(fingerprint(alone(world, args.steps)[0]))
        return 0
    rank, epoch = int(os.environ["RANK"]), int(os.environ.get("MUSTER_EPOCH", "1"))
    args.dir = os.path.join(tempfile.gettempdir(), args.dir)
    os.makedirs(args.dir, exist_ok=True)
    if is_done(args.dir):
        print(f"worker {rank}: all is done already", flush=True)
        leave(args.dir, rank, world, args.clean)
        return 0
    try:
        train(args, rank, world, epoch)
    except (ConnectionError, TimeoutError) as error:
        print(f"worker {rank} has lost a neighbour: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
