#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control path of a group restart, without workers: bench/agents.py BUILD [MEMBERS...]

A server without a node makes the pods of a JobSet; bench_agents is all of its members. Prints one
line a size: time from one death to the last barrier lifted, CPU of the server, messages, bytes."""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "e2e"))
from agents import jobset, jobsets, pods  # noqa: E402
from muster_test import Server  # noqa: E402

ROUNDS = 5


def run(build, members):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, program=str(build / "muster")).start()
        try:
            return measure(build, server, members)
        finally:
            server.stop()


def measure(build, server, members):
    api = server.local()
    thing = jobset("set", members, restarts=1000000)
    del thing["spec"]["managedBy"]
    api.ok("POST", jobsets("default"), thing)
    while True:
        made = api.get(pods("default"))["items"]
        if len(made) == members:
            break
        time.sleep(0.1)
    names = "".join("{name} {uid}\n".format(**pod["metadata"]) for pod in made)
    done = subprocess.run([build / "bench/bench_agents", server.socket, "default", "set",
                           str(ROUNDS), str(server.popen.pid)], input=names,
                          stdout=subprocess.PIPE, text=True, check=True)
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    set_bytes = len(json.dumps(api.get(jobsets("default") + "/set"), separators=(",", ":")))
    pod_bytes = len(json.dumps(api.get(pods("default") + "/" + made[0]["metadata"]["name"]),
                               separators=(",", ":")))
    api.close()
    return rounds, set_bytes, pod_bytes


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    print(f"{'members':>8} {'ms':>8} {'least':>8} {'server CPU ms':>14} {'own CPU ms':>11} "
          f"{'announcements':>14} {'events':>8} {'KB':>8}")
    for members in map(int, sys.argv[2:] or ["8", "64", "512", "5000"]):
        rounds, set_bytes, pod_bytes = run(build, members)
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        size = (middle["announcements"] * pod_bytes + middle["events"] * set_bytes) / 1000
        print(f"{members:8} {middle['ms']:8.1f} {min(one['ms'] for one in rounds):8.1f} "
              f"{middle['server_cpu_ms']:14.1f} {middle['own_cpu_ms']:11.1f} "
              f"{middle['announcements']:14.0f} {middle['events']:8.0f} {size:8.0f}", flush=True)


if __name__ == "__main__":
    main()
