#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pods of one sleeping process each cost the supervisor: bench/pods.py MUSTER FOLDER COUNT [LOOK...]

Starts a server with a node in FOLDER, which must not be there yet, and gives it one Job. Prints one
object of JSON. CPU is that of all threads of the supervisor, by the scheduler's account; the
spawner's is told apart."""

import ctypes
import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import time

LIMIT_S = 180
LOOK_S = 0.05
SETTLE_S = 1.0  # what is asked for lazily after a burst has been done by then
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LIMIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        self.request(method, path, None if body is None else json.dumps(body),
                     {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text[:300]}")
        return text


def job(count):
    container = {"name": "main", "command": ["sleep", "1000"]}
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "many"},
            "spec": {"parallelism": count, "completions": count, "template": {"spec": spec}}}


def cpu_s(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def user_and_system_s(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return [int(word) / os.sysconf("SC_CLK_TCK") for word in words[11:13]]


def rss(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Meter:
    """CPU of supervisor and spawner from here to there."""

    def __init__(self, pid, spawner):
        self.pids = (pid, spawner)
        self.begin = time.monotonic()
        self.before = [cpu_s(pid) for pid in self.pids]
        self.split = user_and_system_s(pid)

    def read(self):
        cpu, spawner = (cpu_s(pid) - then for pid, then in zip(self.pids, self.before))
        user, system = (now - then for now, then in
                        zip(user_and_system_s(self.pids[0]), self.split))
        return {"seconds": time.monotonic() - self.begin, "cpu_s": cpu, "spawner_cpu_s": spawner,
                "user_s": user, "system_s": system}


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not within {LIMIT_S} s")
        time.sleep(LOOK_S)


def measure(api, pid, count):
    def ready():
        return json.loads(api.ask("GET", f"{JOBS}/many"))["status"].get("ready", 0)

    def revision():
        return int(json.loads(api.ask("GET", f"{PODS}?limit=1"))["metadata"]["resourceVersion"])

    def some_left():
        return json.loads(api.ask("GET", f"{PODS}?limit=1"))["items"]

    time.sleep(SETTLE_S)
    [spawner] = children(pid)
    result = {"pods": count, "idle_rss": rss(pid), "spawner_idle_rss": rss(spawner)}
    before = revision()
    meter = Meter(pid, spawner)
    api.ask("POST", JOBS, job(count))
    until(lambda: ready() == count)
    result["start"] = meter.read() | {"writes": revision() - before}
    time.sleep(SETTLE_S)
    result["rss"], result["spawner_rss"] = rss(pid), rss(spawner)
    if len(sys.argv) > 4:  # a program that looks at the process while all of them run
        subprocess.run(sys.argv[4:], env=os.environ | {"PID": str(pid)}, check=False,
                       stdout=sys.stderr)
    meter = Meter(pid, spawner)
    text = api.ask("GET", PODS)
    result["list"] = meter.read() | {"bytes": len(text)}
    running = sum(pod["status"]["phase"] == "Running" for pod in json.loads(text)["items"])
    if running != count:
        sys.exit(f"{running} pods run, wanted {count}")
    before = revision()
    meter = Meter(pid, spawner)
    api.ask("DELETE", f"{JOBS}/many?propagationPolicy=Background")
    until(lambda: not some_left())
    result["stop"] = meter.read() | {"writes": revision() - before}
    time.sleep(SETTLE_S)
    result["rss_after"] = rss(pid)
    return result


def main(program, folder, count):
    command = [program, "up", "--data", folder, "--listen", "127.0.0.1:0", "--log-level", "error"]
    server = subprocess.Popen(command, preexec_fn=die_with_parent, stdout=subprocess.PIPE, text=True)
    try:
        if not server.stdout.readline().startswith("ready "):
            sys.exit("the server did not start")
        api = Connection(f"{folder}/muster.sock")
        print(json.dumps(measure(api, server.pid, count)))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
