# SPDX-License-Identifier: Apache-2.0
"""Starts of real pods, throttled and all at once: a section of scripts/bench, which passes itself
as `kit`. Each run has a server of its own. Starts are frozen while the pods are made, so that
what is measured begins with one change of the NodeConfig."""

import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import struct
import time

SECTION_S = 90        # on a quiet machine: one round of everything, then more of the first kind
STARTS_PER_CORE = 32  # 64 on two cores
ALU_MS, MEM_MS, MIX_MS = 150, 150, 100
SHORT_MS = 60         # a start while the ready service is watched
CALL_MS = 1
LATE_MS = 200         # a start where time-outs strike
ALONE = 5
TIMEOUT_S = 3
LIVELOCK_S = 15
OTHERS_MAX = 0.06     # of all CPU; a round in which others use more is left out when it can be
RUN_LIMIT_S = 60
GROUP_TIMES = 64      # the share of our control group, so that others matter less
PODS = "/api/v1/namespaces/default/pods"
CONFIGS = "/apis/muster.dev/v1alpha1/nodeconfigs"
UNLIMITED = {"maxStartingContainersPerCore": 1000}
HEADER = """
Starts: {n} workers on {cores} cores, each busy until it says READY=1. ALU: {alu} ms of arithmetic; MEM ({half}): 16 MB
of fresh memory and random reads; MIX ({half}): {mix} ms of CPU and 300 ms of waiting. Ready: seconds
after the node was let loose. Own: from main() to READY=1, by the worker's clock; node: from starting to
ready in the pod's status; gap: from READY=1 to main() of the one that waited for that slot."""
LATENCY_HEADER = """
A ready service is called every 10 ms and works 1 ms, while {n} workers ({short} ms of arithmetic) start. How long
after it was due a call was answered, in ms:"""
LIVELOCK_HEADER = """
{n} starts of {late} ms of arithmetic with a start time-out of {timeout} s; who is too late is killed and starts again at once:"""


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=RUN_LIMIT_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Node:
    """A server that runs pods. It is never killed outright: its pods would live on."""

    def __init__(self, kit, group, folder, *options):
        self.kit, self.folder, self.is_configured = kit, folder, False
        self.api = Unix(folder / "d" / "muster.sock")
        folder.mkdir()
        self.lines = folder / "lines"
        self.lines.touch()
        command = [str(kit.BUILD / "muster"), "up", "--data", str(folder / "d"), "--log-level",
                   "error", "--node", f"bench-{os.getpid()}", *options]
        self.child = kit.spawn([str(word) for word in group.wrap(command)], signo=signal.SIGTERM,
                               stdout=kit.subprocess.PIPE, text=True)
        if not self.child.stdout.readline().startswith("ready "):
            self.stop()
            raise kit.Skipped("the server did not start")

    def stop(self):
        self.api.close()  # a server that goes waits for those who might still ask
        self.kit.end(self.child, 30)

    def call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.api.request(method, path, text, {"Content-Type": "application/json"})
        answer = self.api.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise self.kit.Skipped(f"{method} {path}: {answer.status} {data[:200]!r}")
        return data

    def configure(self, throttling, **more):
        body = {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeConfig",
                "metadata": {"name": "default"}, "spec": {"throttling": throttling, **more}}
        if self.is_configured:
            self.call("PUT", f"{CONFIGS}/default", body)
        else:
            self.call("POST", CONFIGS, body)
        self.is_configured = True

    def create(self, name, *containers):
        self.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"muster.dev/notify": "true"}},
            "spec": {"containers": [{"name": c, "command": command} for c, command in containers],
                     "terminationGracePeriodSeconds": 1}})

    def containers(self):
        return [status for pod in json.loads(self.call("GET", PODS))["items"]
                for status in pod.get("status", {}).get("containerStatuses", [])]

    def wait_state(self, state, count):
        until = time.monotonic() + RUN_LIMIT_S
        while sum(s.get("lifecycle", {}).get("state") == state for s in self.containers()) < count:
            if time.monotonic() > until:
                raise self.kit.Skipped(f"pods did not become {state}")
            time.sleep(0.02)

    def ready_lines(self):
        lines = [line.split() for line in self.lines.read_text().splitlines()]
        return [(name, *map(int, numbers)) for name, *numbers in lines]

    def cpu_s(self):
        """Of the server and its spawner."""
        ticks = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes()
                is_spawner = b"spawner" in words and str(self.folder).encode() in words
                if is_spawner or path.parent.name == str(self.child.pid):
                    stat = (path.parent / "stat").read_text().rsplit(")", 1)[1].split()
                    ticks += int(stat[11]) + int(stat[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def timeouts(self):
        text = self.call("GET", "/metrics").decode()
        return int(re.search(r"^muster_start_timeouts_total (\d+)", text, re.M)[1])


class Meter:
    """Who used the CPU meanwhile."""

    def __init__(self, kit, node):
        self.kit, self.node = kit, node
        self.server_s, self.ticks = node.cpu_s(), kit.cpu_ticks()

    def stop(self):
        self.server_s = self.node.cpu_s() - self.server_s
        after = self.kit.cpu_ticks()
        self.ticks = [after[i] - self.ticks[i] for i in range(3)]

    def others(self, work_s):
        """What neither the workers nor the server used, as a part of all."""
        total, idle, _ = (ticks / os.sysconf("SC_CLK_TCK") for ticks in self.ticks)
        return max(0, (total - idle - work_s - self.server_s) / max(total, 0.01))


# ---- one run ----


def rank(values, part):
    """The value that this part of all is not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def moved_ms(status, state):
    at = [m["at"] for m in status["lifecycle"]["moves"] if m["state"] == state]
    return datetime.datetime.fromisoformat(at[-1].replace("Z", "+00:00")).timestamp() * 1000


class Starts:
    """What the section needs again and again: programs, amounts of work, a place."""

    def __init__(self, kit, folder, group):
        self.kit, self.folder, self.group = kit, folder, group
        self.began = time.monotonic()
        self.cores = len(os.sched_getaffinity(0))
        self.n = STARTS_PER_CORE * self.cores
        self.worker = str(kit.BUILD / "bench" / "bench_start_worker")
        self.rate = kit.run(group.wrap([self.worker, "calibrate"]))
        self.number = 0
        self.text = []
        self.figures = kit.figures["start"] = {"steps_per_ms": self.rate}

    def left(self):
        return SECTION_S - (time.monotonic() - self.began)

    def command(self, kind, name, node, ms):
        steps = int(ms * self.rate["mem" if kind == "mem" else "alu"])
        return [self.worker, kind, name, str(node.lines), str(steps)]

    @contextlib.contextmanager
    def node(self, *options):
        self.number += 1
        node = Node(self.kit, self.group, self.folder / f"n{self.number}", *options)
        try:
            yield node
        finally:
            node.stop()

    def create(self, node, kind, ms, count, is_one_pod=False):
        names = [f"w{i}" for i in range(count)]
        workers = [(name, self.command(kind, name, node, ms)) for name in names]
        if is_one_pod:
            node.create("all", *workers)
        for worker in [] if is_one_pod else workers:
            node.create(worker[0], worker)
        node.wait_state("pending", count)

    def wait_lines(self, node, count, limit_s=RUN_LIMIT_S):
        until = time.monotonic() + limit_s
        while len(node.ready_lines()) < count and time.monotonic() < until:
            time.sleep(0.05)

    def run(self, kind, ms, count, throttling, is_one_pod=False):
        """One round: the times of all workers and who else used the CPU meanwhile."""
        if self.kit.time_is_up():
            raise self.kit.Skipped("no time left")
        with self.node() as node:
            node.configure({"maxStarting": 0})
            self.create(node, kind, ms, count, is_one_pod)
            meter = Meter(self.kit, node)
            begin = time.monotonic_ns()
            node.configure(throttling)
            self.wait_lines(node, count)
            meter.stop()
            node.wait_state("ready", count)
            lines = node.ready_lines()
            statuses = {status["name"]: status for status in node.containers()}
        if len(lines) < count:
            raise self.kit.Skipped(f"{count - len(lines)} workers did not get ready")
        return self.judge(lines, statuses, begin, meter)

    def judge(self, lines, statuses, begin, meter):
        begins, readies = sorted(l[1] for l in lines), sorted(l[2] for l in lines)
        work = sum(l[3] for l in lines) / 1e9
        return {"ready_s": [(at - begin) / 1e9 for at in readies],
                "begin_s": [(at - begin) / 1e9 for at in begins],
                "own_ms": [(l[2] - l[1]) / 1e6 for l in lines],
                "node_ms": [moved_ms(s, "ready") - moved_ms(s, "starting")
                            for s in statuses.values()],
                "cpu_ms": work * 1000 / len(lines),
                "server_cpu_ms": meter.server_s * 1000 / len(lines), "others": meter.others(work)}


def gaps_ms(one, cap):
    """From a slot that got free to main() of who took it; starts of one turn are not paired."""
    return [(begin - ready) * 1000 for begin, ready in zip(one["begin_s"][cap:], one["ready_s"])]


# ---- throttled against all at once ----


def quiet(rounds):
    """Those in which others left the CPU to us; all when there is none."""
    return [one for one in rounds if one["others"] <= OTHERS_MAX] or rounds


def all_of(rounds, key):
    return [value for one in rounds for value in one[key]]


def middle(rounds, part):
    return statistics.median(rank(one["ready_s"], part) for one in rounds)


def start_line(kind, what, rounds, cap):
    used = quiet(rounds)
    own, node = all_of(used, "own_ms"), all_of(used, "node_ms")
    gaps = [gap for one in used for gap in gaps_ms(one, cap)] if cap else []
    return (kind.upper(), what, f"{middle(used, 0):.2f}", f"{middle(used, 0.5):.2f}",
            f"{middle(used, 1):.2f}", f"{rank(own, 0.5):.0f} / {rank(own, 0.99):.0f}",
            f"{rank(node, 0.5):.0f} / {rank(node, 0.99):.0f}",
            str(round(sum(ms > 1000 for ms in own) / len(used))),
            f"{rank(gaps, 0.5):.1f} / {rank(gaps, 0.99):.1f}" if gaps else "-",
            f"{statistics.median(o['cpu_ms'] for o in used):.0f} + "
            f"{statistics.median(o['server_cpu_ms'] for o in used):.1f}",
            f"{len(used)} of {len(rounds)}, {max(o['others'] for o in used):.0%}")


LINE_COLUMNS = ("work", "cap", "first", "median", "last s", "own p50 / p99 ms", "node p50 / p99",
                "> 1 s", "gap p50 / p99", "CPU ms + ours", "rounds, others")
WAYS = (("1 a core", {}, 1), ("4 a core", {"maxStartingContainersPerCore": 4}, 4),
        ("none", UNLIMITED, None))


def measure_kind(s, kind, ms, count):
    rounds = {"alone": [s.run(kind, ms, ALONE, {"maxStarting": 1})]}
    for what, throttling, _ in WAYS:
        rounds[what] = [s.run(kind, ms, count, throttling)]
    s.figures[kind] = rounds
    return rounds


def more_rounds(s, count):
    """As many as there is time for, the two that the bar compares turn by turn; three are enough."""
    rounds = s.figures["alu"]
    took = sum(rounds[what][0]["ready_s"][-1] for what in rounds)
    while len(rounds["none"]) < 3 and s.left() > took:
        for what, throttling, _ in WAYS[::2]:
            rounds[what].append(s.run("alu", ALU_MS, count, throttling))
        rounds["alone"].append(s.run("alu", ALU_MS, ALONE, {"maxStarting": 1}))


def left_to_us(rounds):
    """The last ready, had nobody else used the CPU: fewer at a time leave more of it to others."""
    return statistics.median(one["ready_s"][-1] * (1 - one["others"]) for one in rounds)


def start_rows(s):
    kit = s.kit
    for kind in ("alu", "mem"):
        rounds = {what: quiet(list_of) for what, list_of in s.figures.get(kind, {}).items()}
        if not rounds:
            continue
        capped, free = rounds["1 a core"], rounds["none"]
        ratio = middle(capped, 1) / middle(free, 1)
        own = rank(all_of(capped, "own_ms"), 0.99)
        alone = statistics.median(all_of(rounds["alone"], "own_ms"))
        others = max(one["others"] for one in capped + free)
        corrected = "" if others <= OTHERS_MAX else (
            f" (others took {others:.0%}; without them {left_to_us(capped) / left_to_us(free):.3f} x)")
        name = f"{len(free[0]['ready_s'])} {kind.upper()} starts, 1 a core"
        kit.row(f"{name}: last ready", f"{middle(capped, 1):.2f} s",
                f"all at once {middle(free, 1):.2f} s: {ratio:.3f} x{corrected}",
                *kit.bars.judge("last ready", ratio, f"{ratio:.3f} x, {kind.upper()}{corrected}"))
        # The bar is of starts that need a CPU; two that need memory get in each other's way.
        told = f"{own / alone:.2f} x, {own:.0f} ms"
        bar = kit.bars.judge("own start", own / alone, told) if kind == "alu" else ()
        kit.row(f"{name}: own start p99", f"{own:.0f} ms",
                f"alone {alone:.0f} ms: {own / alone:.2f} x", *bar)


def measure_starts(s):
    half = s.n // 2
    s.text.append(HEADER.format(n=s.n, cores=s.cores, alu=ALU_MS, mix=MIX_MS, half=half))
    for kind, ms, count in (("alu", ALU_MS, s.n), ("mem", MEM_MS, half), ("mix", MIX_MS, half)):
        s.kit.attempt(f"{kind.upper()} starts", measure_kind, s, kind, ms, count)


def start_table(s):
    caps = {"alone": 1, **{what: a_core and a_core * s.cores for what, _, a_core in WAYS}}
    return [start_line(kind, what, rounds, caps[what])
            for kind in ("alu", "mem", "mix") if kind in s.figures
            for what, rounds in s.figures[kind].items()]


# ---- a ready service beside the starts ----

LATENCY_COLUMNS = ("layout", "starts", "p50", "p95", "p99", "max", "last ready s", "others")
LAYOUTS = (("a slice a pod, startingWeight 0.25; one pod starts", "all at once", (), UNLIMITED, True),
           ("the same", "1 a core", (), {}, True),
           ("the same, but each in a pod of its own", "all at once", (), UNLIMITED, False),
           ("no control groups", "all at once", ("--no-cgroups",), UNLIMITED, True),
           ("the same", "1 a core", ("--no-cgroups",), {}, True))


def answered(path, begin_ns, end_ns):
    """Latencies of the calls that were due in this span, once all of them have an answer."""
    until = time.monotonic() + RUN_LIMIT_S
    while True:
        calls = [pair for pair in struct.iter_unpack("QQ", path.read_bytes()) if pair[0]]
        if calls[-1][0] >= end_ns or time.monotonic() > until:
            return [(done - due) / 1e6 for due, done in calls if begin_ns <= due <= end_ns]
        time.sleep(0.05)


def latency_run(s, options, throttling, is_one_pod):
    with s.node(*options) as node:
        calls = s.folder / f"calls{s.number}"
        command = s.command("serve", "service", node, CALL_MS)
        command[3] = str(calls)
        node.configure({})
        node.create("service", ("service", command))
        node.wait_state("ready", 1)
        idle_from = time.monotonic_ns()
        node.configure({"maxStarting": 0})
        s.create(node, "alu", SHORT_MS, s.n, is_one_pod)
        meter, begin = Meter(s.kit, node), time.monotonic_ns()
        node.configure(throttling)
        s.wait_lines(node, s.n)
        meter.stop()
        lines = node.ready_lines()
        if len(lines) < s.n:
            raise s.kit.Skipped("the workers did not get ready")
        end = max(line[2] for line in lines)
        busy, before = answered(calls, begin, end), answered(calls, idle_from, begin)
    work = sum(line[3] for line in lines) / 1e9 + len(busy) * CALL_MS / 1000
    return {"ms": busy, "idle_ms": before, "last_s": (end - begin) / 1e9,
            "others": meter.others(work)}


def latency_line(layout, starts, ms, last="-", others="-"):
    return (layout, starts, *(f"{rank(ms, part):.1f}" for part in (0.5, 0.95, 0.99, 1)), last, others)


def measure_latency(s):
    runs = s.figures["latency"] = []
    table = []
    for layout, starts, options, throttling, is_one_pod in LAYOUTS:
        one = s.kit.attempt("latency during starts", latency_run, s, options, throttling, is_one_pod)
        if one is None or not one["ms"]:
            continue
        runs.append({"layout": layout, "starts": starts, **one})
        if not table:
            table.append(latency_line("no starts beside it", "-", one["idle_ms"]))
        table.append(latency_line(layout, starts, one["ms"], f"{one['last_s']:.2f}",
                                  f"{one['others']:.0%}"))
    s.text.append(LATENCY_HEADER.format(n=s.n, short=SHORT_MS))
    s.text.extend(s.kit.table_lines([LATENCY_COLUMNS] + table))


# ---- start time-outs ----


def measure_livelock(s):
    table, s.figures["livelock"] = [], {}
    for what, throttling, _ in WAYS[::2]:
        with s.node() as node:
            pause = {"initial": "10ms", "max": "10ms"}
            timeout = {"startTimeout": f"{TIMEOUT_S}s"}
            node.configure({"maxStarting": 0, **timeout}, restartBackoff=pause)
            s.create(node, "alu", LATE_MS, s.n)
            begin = time.monotonic()
            node.configure({**throttling, **timeout}, restartBackoff=pause)
            s.wait_lines(node, s.n, LIVELOCK_S)
            took = time.monotonic() - begin
            if len(node.ready_lines()) == s.n:
                node.wait_state("ready", s.n)  # said so, and heard
            ready = sum(status["ready"] for status in node.containers())
            killed = node.timeouts()
        s.figures["livelock"][what] = {"ready": ready, "killed": killed, "seconds": took}
        table.append((what, f"{ready} of {s.n}", f"{took:.1f}", str(killed)))
    s.text.append(LIVELOCK_HEADER.format(n=s.n, late=LATE_MS, timeout=TIMEOUT_S))
    s.text.extend(s.kit.table_lines([("cap", "ready", "after s", "starts killed")] + table))


def measure(kit, folder):
    """Adds its bars to the table of `kit`; returns lines to print after it."""
    place = folder / "starts"
    place.mkdir()
    with kit.CpuGroup(GROUP_TIMES) as group:
        s = Starts(kit, place, group)
        measure_starts(s)
        at = len(s.text)
        kit.attempt("latency during starts", measure_latency, s)
        kit.attempt("start time-outs", measure_livelock, s)
        if "alu" in s.figures:
            kit.attempt("more rounds of starts", more_rounds, s, s.n)
    start_rows(s)
    s.text[at:at] = kit.table_lines([LINE_COLUMNS] + start_table(s))
    s.text.append(f"\nStarts took {time.monotonic() - s.began:.0f} s.")
    return s.text
