# SPDX-License-Identifier: Apache-2.0
"""Group restarts of real workers: a section of scripts/bench, which passes itself as `kit`. One worker
is killed; what counts is the time until the last of all workers of the next start has begun, by its
own clock. The floor is a program that does nothing but kill and clone (restart_bare), run turn by turn
with the node as agent and, for small groups, with the strategy that makes all pods anew."""

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import time

# Rounds, bar, and the worker: an ordinary program, or for thousands one that costs next to nothing.
SIZES = {8: (9, 2.0, "bench_restart_worker_libc"), 64: (7, 1.3, "bench_restart_worker_libc"),
         512: (5, 1.2, "bench_restart_worker_libc"), 5000: (3, 1.5, "bench_restart_worker")}
RECREATE_MAX = 512
LIMIT_S = 120
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
RECORD = struct.Struct("<qq")


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LIMIT_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def clock_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def job_set(size, worker, file, strategy):
    in_place = strategy == "InPlaceRestart"
    pod = {"restartPolicy": "OnFailure" if in_place else "Never",
           "terminationGracePeriodSeconds": 0,
           "containers": [{"name": "w", "command": [str(worker), str(file)]}]}
    job = {"completions": size, "parallelism": size, "podReplacementPolicy": "Failed",
           "backoffLimit": 2147483647 if in_place else 0, "template": {"spec": pod}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "g"},
            "spec": {"failurePolicy": {"maxRestarts": 1000, "restartStrategy": strategy},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


class Group:
    """A server and one group of workers on it."""

    def __init__(self, kit, folder, size, strategy):
        worker = kit.BUILD / "bench" / SIZES[size][2]
        self.size, self.kit = size, kit
        self.file = folder / "records"
        self.file.write_bytes(b"")
        out = open(folder / "out", "w+", encoding="utf-8")
        self.server = kit.spawn([str(kit.BUILD / "muster"), "up", "--data", str(folder / "data")],
                                signo=signal.SIGTERM, stdout=out, stderr=subprocess.STDOUT)
        until = time.monotonic() + LIMIT_S
        while "ready " not in (folder / "out").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        self.socket = folder / "data" / "muster.sock"
        self.call("POST", SETS, job_set(size, worker, self.file, strategy))
        self.wait(size)
        self.rest()

    def call(self, verb, path, body=None):
        connection = Unix(self.socket)
        connection.request(verb, path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{verb} {path}: {answer.status} {text[:300]}")
        return json.loads(text)

    def records(self):
        return self.file.stat().st_size // RECORD.size

    def wait(self, count):
        until = time.monotonic() + LIMIT_S
        while self.records() < count:
            if time.monotonic() > until:
                raise RuntimeError(f"{self.records()} of {count} starts")
            time.sleep(0.001)

    def last(self, count):
        data = self.file.read_bytes()[-count * RECORD.size:]
        return [RECORD.unpack_from(data, i * RECORD.size) for i in range(count)]

    def processes(self):
        """The server and its spawners."""
        found = [self.server.pid]
        with contextlib.suppress(OSError):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if len(words) > 2 and str(self.socket.parent).encode() in b" ".join(words) and \
                        b"spawner" in b" ".join(words):
                    found.append(int(pid))
        return set(found)

    def cpu_ms(self):
        total = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    words = file.read().rsplit(")", 1)[1].split()
                total += int(words[11]) + int(words[12])
        return total * 1000 / os.sysconf("SC_CLK_TCK")

    def rest(self):
        """Until nothing is left to write."""
        before, quiet = self.cpu_ms(), 0
        while quiet < 3:
            time.sleep(0.1)
            now = self.cpu_ms()
            quiet = quiet + 1 if now - before <= 10 else 0
            before = now

    def restart(self):
        """(ms from a death to the last start, ms of CPU of server and spawner until all is told)"""
        cpu, count = self.cpu_ms(), self.records()
        victim = random.choice(self.last(self.size))[0]
        begin = clock_ns()
        os.kill(victim, signal.SIGKILL)
        self.wait(count + self.size)
        last = max(ns for _, ns in self.last(self.size))
        self.rest()
        return (last - begin) / 1e6, self.cpu_ms() - cpu

    def stop(self):
        self.call("DELETE", f"{SETS}/g")
        self.rest()
        self.kit.end(self.server, timeout=LIMIT_S)


def bare(kit, folder, size, rounds):
    command = [str(kit.BUILD / "bench" / "bench_restart_bare"),
               str(kit.BUILD / "bench" / SIZES[size][2]), str(folder / "bare"), str(size),
               str(rounds)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
    return [int(line) / 1e6 for line in out.stdout.split()]


def measure(kit, folder, size, strategy, rounds):
    group = Group(kit, folder, size, strategy)
    try:
        return [group.restart() for _ in range(rounds)]
    finally:
        group.stop()


def ms(values):
    return f"{statistics.median(values):.1f} ms [{min(values):.1f}-{max(values):.1f}]"


def section(kit, folder):
    figures = {}
    for size, (rounds, bar, _) in SIZES.items():
        if kit.time_is_up():
            break
        here = folder / f"restart-{size}"
        here.mkdir()
        floor = bare(kit, here, size, rounds)
        ours = measure(kit, here, size, "InPlaceRestart", rounds)
        floor += bare(kit, here, size, rounds)
        times = [t for t, _ in ours]
        ratio = statistics.median(times) / statistics.median(floor)
        figures[size] = {"bare_ms": floor, "in_place_ms": times, "cpu_ms": [c for _, c in ours]}
        kit.row(f"restart of {size} workers, death to last start", ms(times),
                f"{ratio:.2f} x bare, {ms(floor)}", f"<= {bar}", kit.verdict(ratio, bar, True))
        kit.row(f"  CPU of server and spawner for it, a worker",
                f"{statistics.median(figures[size]['cpu_ms']) * 1000 / size:.0f} us")
        if size <= RECREATE_MAX and not kit.time_is_up():
            there = folder / f"recreate-{size}"
            there.mkdir()
            anew = [t for t, _ in measure(kit, there, size, "Recreate", 2)]
            figures[size]["recreate_ms"] = anew
            kit.row(f"  with all pods made anew (Recreate)", ms(anew),
                    f"{statistics.median(anew) / statistics.median(times):.1f} x in place")
    kit.figures["restart"] = figures
