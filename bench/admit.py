# SPDX-License-Identifier: Apache-2.0
"""The section `admit`: Kueue's own benchmark, with every write on the disk. scripts/bench passes itself
as `kit`. `bench_admit` makes the queues and workloads of a set and is their job side; what Kueue's figures
stand for is told in bench/README.md. BENCH_ADMIT=full adds the long runs."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

FULL = os.environ.get("BENCH_ADMIT") == "full"
MEMORY = pathlib.Path("/dev/shm")
LIMIT_S = 400
SIMULATE_LIMIT_S = 900
# Of each queue: name, count, interval ms, run ms, priority, CPUs.
SETS = {"baseline": (5, 6, ("small:350:100:200:50:1", "medium:100:500:500:100:5",
                            "large:50:1200:1000:200:20")),
        "large-scale": (10, 100, ("small:35:60:150:50:1", "medium:11:300:350:100:5",
                                  "large:4:700:700:200:20"))}
# Kueue, kube-apiserver and etcd (without fsync) on two cores.
KUEUE_CPU_S = 701
KUEUE_WAITS = "Kueue 34-41 / 107-115 / 222-240 s"
WORK_S = 66
NOMINAL = 20


def peak_rss(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def play(kit, folder, name, ready, *words):
    """One server, one set. Returns what bench_admit tells."""
    place = folder / name
    place.mkdir()
    options = []
    if ready is not None:
        config = place / "config.json"
        config.write_text(json.dumps({"apiVersion": "muster.dev/v1alpha1", "kind": "Configuration",
                                      "waitForPodsReady": {"enable": True, **ready}}))
        options = ["--config", str(config)]
        words = ("--ready", *words)
    server = kit.Muster(kit.BUILD / "muster", place / "data", *options)
    try:
        result = kit.run([kit.BUILD / "bench" / "bench_admit", "--unix", server.socket, "--pid",
                          server.pid, "--limit", LIMIT_S, *words], timeout=LIMIT_S + 60)
        result["peak_rss"] = peak_rss(server.pid)
    finally:
        server.stop()
        shutil.rmtree(place)
    kit.figures.setdefault("admit", {})[name] = result
    return result


def words_of(name):
    cohorts, queues, classes = SETS[name]
    return ["--cohorts", cohorts, "--queues", queues, *(w for c in classes for w in ("--class", c))]


def waits(result):
    return " / ".join(f"{result['classes'][c]['mean_ms'] / 1000:.1f}"
                      for c in ("large", "medium", "small"))


def faults(result):
    return result["over_quota"] + result["admitted_twice"]


# ---- the sets ----


def set_rows(kit, what, result, theirs, *bar):
    usage, cpu = result["usage"], result["cpu_s"]
    kit.row(f"{what}: wall time", f"{result['seconds']:.1f} s, {result['evictions']:,} preempted",
            f"fsync {kit.fsync_us(kit.BUILD / 'bench'):.0f} us")
    kit.row("  queue usage", f"{usage:.1%}", theirs, *bar)
    kit.row("  CPU of all of the server", f"{cpu:.1f} s, {result['writes']:,} writes, "
                                          f"{cpu / result['admissions'] * 1e6:.0f} us an admission")
    kit.row("  peak RSS", kit.mb(result["peak_rss"]))
    kit.row("  more than its quota, or admitted twice", f"{faults(result)} times", bar="never",
            holds=kit.verdict(faults(result), 0, True))


def baseline(kit, folder):
    result = play(kit, folder, "baseline", None, *words_of("baseline"))
    usage, rate = f"{result['usage']:.1%}", f"{result['workloads'] / result['cpu_s']:,.0f}"
    set_rows(kit, f"{result['workloads']:,} workloads of Kueue's baseline set", result, "Kueue 54-80 %",
             *kit.bars.judge("usage", result["usage"] * 100, usage))
    ratio = KUEUE_CPU_S / result["cpu_s"]
    kit.row("  workloads for each CPU second", rate,
            f"Kueue, kube-apiserver, etcd {result['workloads'] / KUEUE_CPU_S:.0f}: {ratio:.0f} x",
            *kit.bars.judge("admissions", ratio, f"{ratio:.0f} x, {rate} of them"))
    kit.row("  time to admission, large / medium / small", f"{waits(result)} s", KUEUE_WAITS)


def large_scale(kit, folder):
    result = play(kit, folder, "large-scale", None, *words_of("large-scale"))
    set_rows(kit, f"{result['workloads']:,} workloads of the large-scale set", result,
             "published: 39 %, 1179 s")
    kit.row("  time to admission, large / medium / small", f"{waits(result)} s",
            "published: 106 / 256 / 700 s")


# ---- waiting for readiness ----


def blocked_rate(kit, folder, name, count):
    result = play(kit, folder, name, {"blockAdmission": True}, "--held", "--class",
                  f"w:{count}:0:0:50:1")
    return result["admissions"] / result["seconds"], result


def blocked(kit, folder):
    """All are there, run for no time and are ready as soon as they are told to be admitted."""
    before = kit.fsync_us(folder)
    rate, result = blocked_rate(kit, folder, "blocked", 100)
    after = kit.fsync_us(folder)
    kit.row("blockAdmission, ready at once: admissions", f"{rate:,.0f}/s",
            f"Kueue 10-18/s; fsync {before:.0f}-{after:.0f} us",
            *kit.bars.judge("blocked", rate, f"{rate:,.0f}/s (fsync {before:.0f}-{after:.0f} us)"))
    kit.row("  CPU of all of the server", f"{result['cpu_s'] / result['admissions'] * 1e6:.0f} us each")
    if not MEMORY.is_dir():
        return
    memory = pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-", dir=MEMORY))
    try:
        rate, _ = blocked_rate(kit, memory, "blocked-memory", 100)
    finally:
        shutil.rmtree(memory, ignore_errors=True)
    kit.row("  the same with the data in memory", f"{rate:,.0f}/s")


def blocked_set(kit, folder):
    result = play(kit, folder, "blocked-baseline", {"blockAdmission": True}, *words_of("baseline"))
    set_rows(kit, "the baseline set with blockAdmission", result, "Kueue 2-9 % of a tenth of it")


MIX = ("--never", 10, "--slow", "50:200", "--flaps", "20:50")
MIX_READY = {"timeout": "1s", "recoveryTimeout": "1s",
             "requeuingStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 2,
                                   "backoffLimitCount": 2}}


def mixed(kit, folder):
    """One in a hundred is never ready, two lose their readiness, five take 200 ms."""
    count = 100 if FULL else 10
    ways = {"no blocking": {"blockAdmission": False},
            "blocking the cluster": {"blockAdmission": True},
            "blocking one queue": {"blockAdmission": True, "blockScope": "ClusterQueue"}}
    for number, (what, ready) in enumerate(ways.items()):
        result = play(kit, folder, f"mixed-{number}", {**MIX_READY, **ready}, *MIX,
                      "--class", f"w:{count}:0:100:50:1")
        kit.row(f"gangs of all sorts, {what}", f"{result['seconds']:.1f} s for "
                                               f"{result['workloads']:,}, {result['evictions']} evicted, "
                                               f"{result['given_up']} given up")
        kit.row("  more than its quota, or admitted twice", f"{faults(result)} times", bar="never",
                holds=kit.verdict(faults(result), 0, True))


# ---- growth ----


def growth(kit, folder):
    """One gang ends, the next is admitted, with more and more that wait. Counts are of a queue of 30."""
    each = {}
    for count in (100, 1000, 10000) if FULL else (100, 1000):
        result = play(kit, folder, f"waiting-{count}", None, "--held", "--skip", 600,
                      "--stop-after", 2000, "--class", f"w:{count}:0:0:50:1")
        each[count] = result["cpu_s"] / result["admissions"] * 1e6
    first = each[100]
    for count, us in each.items():
        ratio = us / first
        kit.row(f"CPU of an admission, {count * 30:,} workloads there", f"{us:.0f} us",
                bar="ratio about 1", holds=f"ratio {ratio:.2f}")


# ---- in virtual time ----


def job(number, queue, word):
    name, _, _, run_ms, priority, cpu = word.split(":")
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": f"j{number}", "namespace": f"ns{queue}",
                         "labels": {"kueue.x-k8s.io/queue-name": "lq",
                                    "kueue.x-k8s.io/priority-class": f"p{priority}"}},
            "spec": {"template": {
                "metadata": {"annotations": {"sim.muster.dev/run": f"{run_ms}ms"}},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                         "containers": [{"name": name, "image": "none",
                                         "resources": {"requests": {"cpu": cpu}}}]}}}}


def queue_objects(queue, cohort):
    api = "kueue.x-k8s.io/v1beta2"
    quota = [{"name": "cpu", "nominalQuota": NOMINAL, "borrowingLimit": 100}]
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns{queue}"}},
            {"apiVersion": api, "kind": "ClusterQueue", "metadata": {"name": f"cq{queue}"},
             "spec": {"cohortName": f"cohort{cohort}", "namespaceSelector": {},
                      "preemption": {"reclaimWithinCohort": "Any",
                                     "withinClusterQueue": "LowerPriority"},
                      "resourceGroups": [{"coveredResources": ["cpu"],
                                          "flavors": [{"name": "rf", "resources": quota}]}]}},
            {"apiVersion": api, "kind": "LocalQueue",
             "metadata": {"name": "lq", "namespace": f"ns{queue}"},
             "spec": {"clusterQueue": f"cq{queue}"}}]


def scenario(name, share):
    """The set as Jobs, with 1/share of the counts."""
    cohorts, queues, classes = SETS[name]
    objects = [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
                "metadata": {"name": "rf"}}]
    objects += [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
                 "metadata": {"name": f"p{value}"}, "value": value} for value in (50, 100, 200)]
    events = []
    for queue in range(cohorts * queues):
        objects += queue_objects(queue, queue // queues)
        for word in classes:
            count, interval = (int(part) for part in word.split(":")[1:3])
            events += [((number + 1) * interval, job(f"{word[0]}{number}", queue, word))
                       for number in range(max(1, count // share))]
    events.sort(key=lambda event: event[0])
    node = {"name": "n", "capacity": {"cpu": cohorts * queues * NOMINAL, "pods": 1000000}}
    return len(events), {"apiVersion": "muster.dev/v1alpha1", "kind": "Scenario",
                         "metadata": {"name": name},
                         "spec": {"until": "1h", "nodes": [node], "objects": objects,
                                  "events": [{"at": f"{at}ms", "create": what}
                                             for at, what in events]}}


def rehearse(kit, folder, name, share):
    jobs, text = scenario(name, share)
    file, out = folder / "scenario.json", folder / "out.jsonl"
    file.write_text(json.dumps(text))
    if kit.time_is_up():
        raise kit.Skipped("no time left")
    begin, cpu = time.monotonic(), os.times()
    with open(out, "w", encoding="utf-8") as sink:
        child = kit.spawn([str(kit.BUILD / "muster"), "simulate", "-o", "jsonl", str(file)], stdout=sink)
        try:
            code = child.wait(SIMULATE_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise kit.Skipped(f"no end after {SIMULATE_LIMIT_S} s") from None
        finally:
            kit.end(child)
    took, after = time.monotonic() - begin, os.times()
    cpu_s = after.children_user + after.children_system - cpu.children_user - cpu.children_system
    done = lines = last = 0
    with open(out, encoding="utf-8") as source:
        for line in source:
            event = json.loads(line)
            lines += 1
            last = event["ms"]
            done += event.get("kind") == "Workload" and event.get("condition") == "Finished"
    kit.figures["admit"][f"simulate-{name}-{share}"] = {"seconds": took, "cpu_s": cpu_s,
                                                        "lines": lines, "virtual_ms": last, "finished": done}
    kit.row(f"muster simulate, {jobs:,} Jobs of the {name} set", f"{took:.1f} s, {cpu_s:.1f} s CPU, {lines:,} lines",
            f"{last / 1000:.0f} s of virtual time, {done:,} finished", "all finish",
            kit.verdict(done, jobs, False) if code == 0 else f"exit code {code}")


def section(kit, folder):
    kit.figures["admit"] = {}
    kit.attempt("baseline set", baseline, kit, folder)
    kit.attempt("blocked admissions", blocked, kit, folder)
    kit.attempt("gangs of all sorts", mixed, kit, folder)
    kit.attempt("growth", growth, kit, folder)
    kit.attempt("simulate", rehearse, kit, folder, "baseline", 1 if FULL else 10)
    if FULL:
        kit.attempt("blocked baseline set", blocked_set, kit, folder)
        kit.attempt("large-scale set", large_scale, kit, folder)
        kit.attempt("simulate", rehearse, kit, folder, "large-scale", 1)
