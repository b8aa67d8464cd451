# SPDX-License-Identifier: Apache-2.0
"""Group restarts of real workers: a section of scripts/bench, which passes itself as `kit`. One worker
is killed; what counts is the time until the last of all workers of the next start has begun, by its
own clock. The floor is a program that does nothing but kill and posix_spawn (restart_bare), run turn by
turn with the node as agent and, for small groups, with the strategy that makes all pods anew. The same with
muster-agent in front of the worker (parent) and beside it (sidecar). RESTART_ALL=1 in the environment
also measures the largest group with sidecars, ten thousand processes, which takes minutes."""

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

# Rounds, and the worker: an ordinary program, or for thousands one that costs next to nothing.
SIZES = {8: (9, "bench_restart_worker_libc"), 64: (7, "bench_restart_worker_libc"),
         512: (5, "bench_restart_worker_libc"), 5000: (3, "bench_restart_worker")}
AGENT_ROUNDS = {8: 5, 64: 3, 512: 2, 5000: 1}
AGENT_MAX = {"parent": 5000, "sidecar": 512}  # unless all are asked for
LINEAR = 1.3  # at most so many times the time a worker with ten times the workers
LIMIT_S = 120
REST = 10  # tenths of a second without work
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


def field(name, path):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


AGENT_ENV = [field("NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"),
             field("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']")]


def rule(action, operator, code):
    return {"action": action, "exitCodes": {"operator": operator, "values": [code]}}


def pod_spec(mode, command):
    """As in examples/jobset-in-place-*.yaml."""
    worker = {"name": "w", "command": command}
    pod = {"restartPolicy": "OnFailure" if mode == "node" else "Never",
           "terminationGracePeriodSeconds": 0, "containers": [worker]}
    if mode == "parent":
        worker.update({"command": ["muster-agent", "--", *command], "env": AGENT_ENV})
    if mode == "sidecar":
        worker.update({"restartPolicy": "Never", "restartPolicyRules": [rule("RestartPod", "NotIn", 0)]})
        pod["initContainers"] = [
            {"name": "agent", "command": ["muster-agent"], "restartPolicy": "Always",
             "restartPolicyRules": [rule("RestartPod", "In", 64), rule("Terminate", "NotIn", 64)],
             "startupProbe": {"httpGet": {"path": "/barrier-is-lifted", "port": 8080},
                              "failureThreshold": 600, "periodSeconds": 1},
             "env": [*AGENT_ENV, {"name": "RESTART_POD_IN_PLACE_EXIT_CODE", "value": "64"}]}]
    return pod


def job_set(size, worker, file, mode):
    in_place = mode != "recreate"
    strategy = "InPlaceRestart" if in_place else "Recreate"
    pod = pod_spec(mode, [str(worker), str(file)])
    job = {"completions": size, "parallelism": size, "podReplacementPolicy": "Failed",
           "backoffLimit": 2147483647 if in_place else 0, "template": {"spec": pod}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "g"},
            "spec": {"failurePolicy": {"maxRestarts": 1000, "restartStrategy": strategy},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


class Group:
    """A server and one group of workers on it."""

    def __init__(self, kit, folder, size, mode):
        worker = kit.BUILD / "bench" / SIZES[size][1]
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
        self.call("POST", SETS, job_set(size, worker, self.file, mode))
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

    def messages(self):
        """What the server has counted so far: patches from outside, events to watchers, writes."""
        connection = Unix(self.socket)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()

        def total(name):
            return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))

        return {"patches": total('muster_http_requests_total{method="PATCH"'),
                "events": total("muster_watch_events_total "), "writes": total("muster_store_revision ")}

    def bytes_of(self, messages):
        """Of a restart's messages: each patch is answered with the pod, each event has the JobSet."""
        def size(path):
            return len(json.dumps(self.call("GET", path), separators=(",", ":")))

        pods = self.call("GET", "/api/v1/namespaces/default/pods?limit=1")["items"]
        pod = size(f"/api/v1/namespaces/default/pods/{pods[0]['metadata']['name']}")
        return messages["patches"] * pod + messages["events"] * size(f"{SETS}/g")

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
        """The server and its spawners. Nobody looks at the workers: what was looked up in /proc makes
        their end dearer, by a tenth of a whole restart."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as file:
            return {self.server.pid, *map(int, file.read().split())}

    def cpu_ms(self):
        total = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    words = file.read().rsplit(")", 1)[1].split()
                total += int(words[11]) + int(words[12])
        return total * 1000 / os.sysconf("SC_CLK_TCK")

    def rest(self):
        """Until nothing is left to write, and the next start has been prepared: groups die when they have
        run for a while, not half a second after they began."""
        before, quiet = self.cpu_ms(), 0
        while quiet < REST:
            time.sleep(0.1)
            now = self.cpu_ms()
            quiet = quiet + 1 if now - before <= 10 else 0
            before = now

    def restart(self):
        """One round: ms from a death to the last start, ms of CPU of server and spawners until all is
        told, messages."""
        cpu, count, before = self.cpu_ms(), self.records(), self.messages()
        victim = random.choice(self.last(self.size))[0]
        begin = clock_ns()
        os.kill(victim, signal.SIGKILL)
        self.wait(count + self.size)
        last = max(ns for _, ns in self.last(self.size))
        self.rest()
        after = self.messages()
        return {"ms": (last - begin) / 1e6, "cpu_ms": self.cpu_ms() - cpu,
                **{key: after[key] - before[key] for key in after}}

    def stop(self):
        self.call("DELETE", f"{SETS}/g")
        self.rest()
        self.kit.end(self.server, timeout=LIMIT_S)


def bare(kit, folder, size, rounds, *more):
    command = [str(kit.BUILD / "bench" / "bench_restart_bare"),
               str(kit.BUILD / "bench" / SIZES[size][1]), str(folder / "bare"), str(size),
               str(rounds), *more]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
    return [int(line) / 1e6 for line in out.stdout.split()]


@contextlib.contextmanager
def running(kit, folder, size, mode):
    here = folder / f"{mode[:3]}{size}"
    here.mkdir()
    group = Group(kit, here, size, mode)
    try:
        yield group
    finally:
        group.stop()


def measure(kit, folder, size, mode, rounds):
    with running(kit, folder, size, mode) as group:
        results = [group.restart() for _ in range(rounds)]
        if mode in ("parent", "sidecar"):
            for one in results:
                one["bytes"] = group.bytes_of(one)
        return results


def measure_by_turns(kit, folder, size, rounds):
    """The node between two floors, again and again: a machine that others use is slow for seconds, and then
    for both. The floors, the node's rounds, and how many times its floors each of them was."""
    floors, ours, ratios = [bare(kit, folder, size, 2)], [], []
    with running(kit, folder, size, "node") as group:
        for _ in range(rounds):
            ours.append(group.restart())
            floors.append(bare(kit, folder, size, 2))
            ratios.append(ours[-1]["ms"] / statistics.median(floors[-2] + floors[-1]))
    return [one for floor in floors for one in floor], ours, ratios


def ms(values):
    return f"{statistics.median(values):.1f} ms [{min(values):.1f}-{max(values):.1f}]"


def middle(results, key):
    return statistics.median(one[key] for one in results)


def times(results):
    return [one["ms"] for one in results]


def cpu_row(kit, results, size):
    kit.row("  CPU of server and spawners for it, a worker",
            f"{middle(results, 'cpu_ms') * 1000 / size:.0f} us",
            f"{middle(results, 'writes') / size:.1f} writes")


def node_rows(kit, folder, size, rounds):
    floor, ours, ratios = measure_by_turns(kit, folder, size, rounds)
    ratio = statistics.median(ratios)
    told = f"{ratio:.2f} x, {middle(ours, 'ms'):,.1f} ms (bare {statistics.median(floor):,.1f} ms)"
    kit.row(f"restart of {size} workers, death to last start", ms(times(ours)),
            f"{ratio:.2f} x bare, {ms(floor)}", *kit.bars.judge(f"restart {size}", ratio, told))
    cpu_row(kit, ours, size)
    return {"bare_ms": floor, "node": ours,
            "least_ms": other_floor(kit, folder, size, "least", "the cheapest clone there is", floor, ours),
            "grouped_ms": other_floor(kit, folder, size, "groups", "each start in a control group", floor, ours)}


def other_floor(kit, folder, size, way, what, floor, ours):
    """What restarts could cost at the very least, and how much is the kernel's price for control groups."""
    try:
        found = bare(kit, folder, size, SIZES[size][0], way)
    except subprocess.CalledProcessError:
        return []  # no groups can be made here; it has said so
    middle_ms = statistics.median(found)
    kit.row(f"  bare, but {what}", ms(found),
            f"{middle_ms / statistics.median(floor):.2f} x bare; the node {middle(ours, 'ms') / middle_ms:.2f} x it")
    return found


def recreate_rows(kit, folder, size, found):
    anew = found["recreate"] = measure(kit, folder, size, "recreate", 2)
    kit.row("  with all pods made anew (Recreate)", ms(times(anew)),
            f"{middle(anew, 'ms') / middle(found['node'], 'ms'):.1f} x in place")


def agent_rows(kit, folder, size, mode, found):
    ours = found[mode] = measure(kit, folder, size, mode, AGENT_ROUNDS[size])
    ratio = middle(ours, "ms") / statistics.median(found["bare_ms"])
    kit.row(f"  with an agent as {mode}", ms(times(ours)),
            f"{ratio:.2f} x bare, {middle(ours, 'ms') / middle(found['node'], 'ms'):.1f} x the node as agent")
    cpu_row(kit, ours, size)
    kit.row("  messages of it, a worker",
            f"{middle(ours, 'patches') / size:.2f} announcements, {middle(ours, 'events') / size:.2f} "
            f"watch events", f"{middle(ours, 'bytes') / size / 1000:.1f} KB")


def growth_rows(kit, figures):
    for mode in ("node", "parent", "sidecar"):
        sizes = [size for size, found in figures.items() if mode in found]
        for few, many in zip(sizes[-2:], sizes[-1:]):
            each = [middle(figures[size][mode], "ms") / size * 1000 for size in (few, many)]
            floor = [statistics.median(figures[size]["bare_ms"]) / size * 1000 for size in (few, many)]
            kit.row(f"time a worker, {mode}, {few} to {many}",
                    f"{each[0]:.0f} to {each[1]:.0f} us, {each[1] / each[0]:.2f} x",
                    f"bare {floor[0]:.0f} to {floor[1]:.0f} us, {floor[1] / floor[0]:.2f} x",
                    f"linear: <= {LINEAR} x", kit.verdict(each[1] / each[0], LINEAR, True))


def section(kit, folder):
    figures = {}
    wants_all = bool(os.environ.get("RESTART_ALL"))
    for size, (rounds, _) in SIZES.items():
        if kit.time_is_up():
            break
        found = figures[size] = node_rows(kit, folder, size, rounds)
        if not kit.time_is_up():
            recreate_rows(kit, folder, size, found)
        for mode in ("parent", "sidecar"):
            if (size <= AGENT_MAX[mode] or wants_all) and not kit.time_is_up():
                agent_rows(kit, folder, size, mode, found)
    growth_rows(kit, figures)
    kit.figures["restart"] = figures
