#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control path of a group restart, without workers: bench/agents.py BUILD [MEMBERS...], and a
section of scripts/bench, which passes itself as `kit`.

A server without a node makes the pods of a JobSet; bench_agents is all of its members. Prints one
line a size: time from one death to the last barrier lifted, CPU of the server, messages, bytes. The
section then starts each of the real agents, with a worker, to see how large it is."""

import importlib.util
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

E2E = pathlib.Path(__file__).resolve().parents[1] / "test" / "e2e"
sys.path.insert(0, str(E2E))
from muster_test import Process, Server  # noqa: E402
from objects import World  # noqa: E402

# The helpers of the tests have this file's name.
spec = importlib.util.spec_from_file_location("e2e_agents", E2E / "agents.py")
e2e = importlib.util.module_from_spec(spec)
spec.loader.exec_module(e2e)

ROUNDS = 5
SIZES = (8, 64, 512, 5000)


def run(build, members):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, program=str(build / "muster")).start()
        try:
            return measure(build, server, members)
        finally:
            server.stop()


def measure(build, server, members):
    api = server.local()
    thing = e2e.jobset("set", members, restarts=1000000)
    del thing["spec"]["managedBy"]
    api.ok("POST", e2e.jobsets("default"), thing)
    while True:
        made = api.get(e2e.pods("default"))["items"]
        if len(made) == members:
            break
        time.sleep(0.1)
    names = "".join("{name} {uid}\n".format(**pod["metadata"]) for pod in made)
    done = subprocess.run([build / "bench/bench_agents", server.socket, "default", "set",
                           str(ROUNDS), str(server.popen.pid)], input=names,
                          stdout=subprocess.PIPE, text=True, check=True)
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    set_bytes = len(json.dumps(api.get(e2e.jobsets("default") + "/set"), separators=(",", ":")))
    pod_bytes = len(json.dumps(api.get(e2e.pods("default") + "/" + made[0]["metadata"]["name"]),
                               separators=(",", ":")))
    api.close()
    return rounds, set_bytes, pod_bytes


def summary(rounds, set_bytes, pod_bytes):
    middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    middle["least_ms"] = min(one["ms"] for one in rounds)
    middle["bytes"] = middle["announcements"] * pod_bytes + middle["events"] * set_bytes
    return middle


def allow_many_files():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20000, most), most))


def section(kit):
    allow_many_files()
    figures = kit.figures["agents"] = {}
    for members in SIZES:
        if kit.time_is_up():
            break
        one = figures[members] = summary(*run(kit.BUILD, members))
        bar = kit.bars.judge("control path", one["ms"] / 1000, f"{one['ms'] / 1000:.3f} s") \
            if members == SIZES[-1] else ()
        kit.row(f"control path of a restart, {members:,} agents",
                f"{one['ms']:.1f} ms, least {one['least_ms']:.1f}; server CPU {one['server_cpu_ms']:.0f} ms",
                f"{one['announcements']:.0f} announcements, {one['events']:.0f} events, "
                f"{one['bytes'] / 1000:.0f} KB", *bar)


def resident(pid):
    """In bytes; exact, where /proc/PID/statm may lag behind by some pages."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Rss:\s+(\d+) kB", text, re.M)[1]) * 1024


def resident_agent(program, group, epoch, **env):
    """Of the agent when its worker runs. The server has no controller for this group: we are it."""
    command = [program, "--", "sleep", "1000"]
    with e2e.running(Process(command, env=group.env(**env))) as agent:
        group.wait_epoch(epoch)
        group.status(deprecatedEpoch=epoch - 1, syncedEpoch=epoch)
        agent.errors.until("the worker starts")
        return resident(agent.popen.pid)


def measure_size(kit, world):
    server, program, group = world.server, kit.BUILD / "muster-agent", e2e.Group(world)
    (group.folder / "ca").write_text(server.ca())
    tls = resident_agent(program, group, 1, MUSTER_SOCKET="", MUSTER_SERVER=server.url,
                         MUSTER_CA=str(group.folder / "ca"), MUSTER_TOKEN=server.token)
    told = f"{tls / 1e6:.2f} MB"
    kit.row("RSS of an agent with TLS", told, "-", *kit.bars.judge("agent tls", tls / 1e6, told))
    if b"ld-linux" in program.read_bytes():
        raise kit.Skipped("muster-agent is not static, which takes musl-gcc")
    small, file = resident_agent(program, group, 2), program.stat().st_size
    told = f"{small / 1000:.0f} KB (program {file / 1000:.0f} KB)"
    kit.figures["agent_rss"] = {"tls": tls, "socket": small, "program": file}
    kit.row("RSS of an agent on the node's socket", told, "-", *kit.bars.judge("agent", small / 1000, told))


def size(kit):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, program=str(kit.BUILD / "muster")).start()
        try:
            measure_size(kit, World(folder, server))
        finally:
            server.end()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    allow_many_files()
    print(f"{'members':>8} {'ms':>8} {'least':>8} {'server CPU ms':>14} {'own CPU ms':>11} "
          f"{'announcements':>14} {'events':>8} {'KB':>8}")
    for members in map(int, sys.argv[2:] or SIZES):
        one = summary(*run(build, members))
        print(f"{members:8} {one['ms']:8.1f} {one['least_ms']:8.1f} {one['server_cpu_ms']:14.1f} "
              f"{one['own_cpu_ms']:11.1f} {one['announcements']:14.0f} {one['events']:8.0f} "
              f"{one['bytes'] / 1000:8.0f}", flush=True)


if __name__ == "__main__":
    main()
