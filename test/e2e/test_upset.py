# SPDX-License-Identifier: Apache-2.0
"""The world around a running server is upset: the clock is set, the data directory vanishes, the
server is stopped for a while. Whoever runs goes on, nothing goes back, nothing is lost in silence.

MUSTER_TEST_STOP_S says for how long it is stopped (5 s; a minute is the real thing)."""

import contextlib
import mmap
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

from muster_test import Cases, Server, Skip, contains, equal, fail, is_sanitized, muster_path, version_of
from objects import configmap
from pods import (PODS, Node, alive, container, exec_probe, is_ready, pod, statuses, wait_until)

cases = Cases()
MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
STOP_S = float(os.environ.get("MUSTER_TEST_STOP_S", "5"))
HOUR = 3600

# The wall clock of one process: the real one and what a file says. Timers are not concerned, as
# they are not when the clock of a machine is set.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
static volatile long *shift(void)
{
    static volatile long *found;
    static long none;
    if (found == NULL) {
        const char *path = getenv("CLOCK_SHIFT");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *at = fd >= 0 ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        found = at == MAP_FAILED ? &none : at;
    }
    return found;
}
int clock_gettime(clockid_t id, struct timespec *at)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(id, at);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += *shift();
    return r;
}
time_t time(time_t *ret)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (ret)
        *ret = at.tv_sec;
    return at.tv_sec;
}
int gettimeofday(struct timeval *ret, void *zone)
{
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    *ret = (struct timeval){at.tv_sec, at.tv_nsec / 1000};
    return 0;
}
"""


class Clock:
    """The wall clock of the servers that are started while it is there."""

    def __init__(self, folder):
        folder.mkdir()
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not compiler:
            raise Skip("no compiler")
        source, self.library, self.path = folder / "shim.c", folder / "shim.so", folder / "shift"
        source.write_text(SHIM)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"],
                       check=True)
        self.path.write_bytes(bytes(4096))
        self.file = open(self.path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 4096)

    def set(self, seconds):
        self.memory[:8] = struct.pack("l", seconds)

    def close(self):
        self.memory.close()
        self.file.close()


@contextlib.contextmanager
def node_with(folder, *options, env=None):
    """The release program, which takes a library that is put before its own."""
    server = Server(folder, *options, program=muster_path(release=True), node=True)
    old = {name: os.environ.get(name) for name in env or {}}
    os.environ.update(env or {})
    try:
        one = Node.__new__(Node)
        one.server, one.folder, one.number = server.start(), pathlib.Path(folder), 0
        one.api = server.local()
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    try:
        yield one
        one.stop()
    finally:
        server.end()


def in_place(name, command, members=3):
    job = {"completions": members, "parallelism": members, "backoffLimit": 2147483647,
           "podReplacementPolicy": "Failed", "template": {"spec": {
               "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1,
               "containers": [container("c", command, readinessProbe=exec_probe("true"))]}}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"failurePolicy": {"restartStrategy": "InPlaceRestart", "maxRestarts": 5},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


def synced(n):
    return n.api.get(f"{SETS}/set").get("status", {}).get("syncedEpoch", 0)


def node_is_ready(n):
    return is_ready(n.api.get("/api/v1/nodes")["items"][0])


def job(name, command, **spec):
    template = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                         "containers": [container("c", command)]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": template, **spec}}


def gang_pids(n):
    return {int(word) for word in (n.folder / "gang").read_text().split()} \
        if (n.folder / "gang").exists() else set()


def living(n):
    return {pid for pid in gang_pids(n) if alive(pid)}


def prepare(n):
    """What runs when the clock is set: a pod with probes, a gang, and a pod that waits to be
    restarted; and the newest version there is."""
    n.run(pod("calm", container("c", readinessProbe=exec_probe("true", failureThreshold=1),
                                livenessProbe=exec_probe("true", failureThreshold=1))))
    n.api.ok("POST", SETS, in_place("set", f"echo $$$$ >> {n.folder}/gang; exec sleep 1000"))
    n.api.wait_for(SETS, lambda s: s.get("status", {}).get("syncedEpoch") == 1)
    wait_until(lambda: len(living(n)) == 3, "the gang runs")
    return version_of(n.api.get(PODS))


def check_goes_on(n, before, round_):
    """Everything that has to do with time, after the clock was set."""
    calm = n.api.get(f"{PODS}/calm")
    equal((is_ready(calm), statuses(calm)["c"]["restartCount"]), (True, 0), "the calm pod")
    made = n.api.ok("POST", MAPS, configmap(f"after-{round_}"))
    equal(version_of(made) > before, True, "versions rise")
    # A pod is started, and started again when it dies; a Job ends by its deadline; one is taken
    # away after its time.
    n.run(pod(f"new-{round_}", container("c", readinessProbe=exec_probe("true"))))
    n.create(pod(f"dies-{round_}", container("c", "exit 1")))
    n.wait(f"dies-{round_}", lambda p: statuses(p).get("c", {}).get("restartCount", 0) >= 1)
    n.api.ok("POST", JOBS, job(f"late-{round_}", "exec sleep 1000", activeDeadlineSeconds=2))
    n.api.ok("POST", JOBS, job(f"brief-{round_}", "true", ttlSecondsAfterFinished=1))
    n.api.wait_for(JOBS, lambda j: j["metadata"]["name"] == f"late-{round_}" and any(
        c["type"] == "Failed" for c in j.get("status", {}).get("conditions", [])))
    n.api.wait_gone(JOBS, f"brief-{round_}")
    equal(node_is_ready(n), True, "the node")
    epoch = synced(n)
    os.kill(living(n).pop(), signal.SIGKILL)
    n.api.wait_for(SETS, lambda s: s.get("status", {}).get("syncedEpoch") == epoch + 1)
    wait_until(lambda: len(living(n)) == 3, "the gang runs again")
    n.delete(f"dies-{round_}", grace=0)
    n.delete(f"new-{round_}")


@cases
def the_clock_is_set(world):
    """An hour back, then two hours forth."""
    if is_sanitized(muster_path(release=True)):
        raise Skip("AddressSanitizer wants to be the first library")
    clock = Clock(world / "clock")
    env = {"LD_PRELOAD": str(clock.library), "CLOCK_SHIFT": str(clock.path)}
    with contextlib.closing(clock), node_with(world / "clock-node", env=env) as n:
        before = prepare(n)
        made = n.api.ok("POST", MAPS, configmap("now"))
        clock.set(-HOUR)
        back = n.api.ok("POST", MAPS, configmap("back"))
        equal(back["metadata"]["creationTimestamp"] < made["metadata"]["creationTimestamp"], True,
              "the server sees the clock that the test has set")
        for round_, shift in enumerate((-HOUR, HOUR)):
            clock.set(shift)
            check_goes_on(n, before, round_)
            before = version_of(n.api.get(PODS))
        # A token is valid by the clock on the wall: what has expired stays so when time goes on.
        token = subprocess.run([n.server.program, "token", "create", "--data", str(n.server.data), "--role", "view",
                                "--ttl", "60s"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        clock.set(0)
        api = n.server.remote(token)
        with contextlib.closing(api):
            api.get(MAPS)
            clock.set(120)
            api.refused(401, "GET", MAPS)
        admin = n.server.remote()
        with contextlib.closing(admin):
            admin.get(MAPS)


@cases
def the_data_directory_vanishes(world):
    """Reads go on, writes are refused with a reason; nothing is acknowledged that is not kept."""
    with node_with(world / "vanish") as n:
        pids = n.scratch("pids")
        n.run(pod("stays", container("c", f"echo $$$$ > {pids}; exec sleep 1000")))
        made = n.api.ok("POST", MAPS, configmap("before"))
        remote = n.server.remote()
        with contextlib.closing(remote), remote.watch(MAPS) as events:
            remote.get(MAPS)
            events.take(1)
            shutil.rmtree(n.server.data)
            for verb, path, body in (("POST", MAPS, configmap("after")), ("DELETE", f"{MAPS}/before", None),
                                     ("PUT", f"{MAPS}/before", {**made, "data": {"k": "v"}})):
                answer = remote.call(verb, path, body)
                equal(answer.status in (500, 507), True, f"{verb}: {answer.status} {answer.text[:300]}")
                contains(answer.text, "not stored", "muster.db", "removed")
            equal(remote.get(f"{MAPS}/before"), made, "reads go on")
            remote.refused(404, "GET", f"{MAPS}/after")
            answer = remote.call("GET", "/readyz?verbose")
            equal(answer.status, 500, "not ready")
            contains(answer.text, "[-]store", "muster.db")
            equal(remote.call("GET", "/livez").status, 200, "alive")
        pid = int(pids.read_text())
        equal(alive(pid), True, "the pod goes on")
        contains(n.server.stderr, "muster.db")
        n.api.close()
        n.server.popen.terminate()
        n.server.wait()
        n.server.check_clean()
        wait_until(lambda: not alive(pid), "its process is ended with the server")
        n.stop = lambda: None


@cases
def the_log_of_the_database_vanishes(world):
    """What is acknowledged after that is there after a kill -9 as well."""
    server = Server(world / "wal").start()
    try:
        api = server.local()
        made = [api.ok("POST", MAPS, configmap("before"))]
        for path in (server.data / "muster.db-wal", server.data / "muster.db-shm"):
            path.unlink()
            made.append(api.ok("POST", MAPS, configmap(f"without-{path.suffix[1:]}")))
        api.close()
        server.kill()
        server.start()
        api = server.local()
        for thing in made:
            equal(api.get(f"{MAPS}/{thing['metadata']['name']}"), thing, "after a restart")
        api.close()
        server.stop()
    finally:
        server.end()


@cases
def the_server_is_stopped_for_a_while(world):
    """SIGSTOP, and on it goes: time that it has not seen is nobody's fault."""
    with node_with(world / "stopped") as n:
        n.configure(maxRate=1000)
        n.run(pod("probed", container("c", livenessProbe=exec_probe("true", failureThreshold=1,
                                                                     timeoutSeconds=1),
                                      readinessProbe=exec_probe("true", failureThreshold=1))))
        go, hold = n.scratch("go"), n.scratch("hold")
        n.create(pod("starts", container("c", startupProbe=exec_probe(f"test -e {go}", failureThreshold=1000),
                                         startTimeout=f"{max(2.0, STOP_S * 0.6)}s")))
        n.create(pod("asked", container("c", livenessProbe=exec_probe(
            f"test -e {hold} && sleep 1.5; true", failureThreshold=1, timeoutSeconds=2))))
        n.api.ok("POST", SETS, in_place("set", f"echo $$$$ >> {n.folder}/gang; exec sleep 1000"))
        n.api.wait_for(SETS, lambda s: s.get("status", {}).get("syncedEpoch") == 1)
        wait_until(lambda: len(living(n)) == 3, "the gang runs")
        n.wait("starts", lambda p: statuses(p).get("c", {}).get("lifecycle", {}).get("state") == "starting")
        hold.touch()
        with n.api.watch(PODS) as events:
            time.sleep(0.1)  # whatever is under way then: it must not matter
            n.server.popen.send_signal(signal.SIGSTOP)
            time.sleep(STOP_S)  # what is tested
            n.server.popen.send_signal(signal.SIGCONT)
            go.touch()
            thing = n.wait("starts", lambda p: is_ready(p) or p["status"].get("phase") == "Failed")
            equal((is_ready(thing), statuses(thing)["c"]["restartCount"]), (True, 0), "who was starting")
            del events
        for name in ("probed", "asked"):
            thing = n.api.get(f"{PODS}/{name}")
            equal(statuses(thing)["c"]["restartCount"], 0, f"restarts of {name}")
        equal((synced(n), len(gang_pids(n))), (1, 3), "the gang")
        equal(node_is_ready(n), True, "the node")
        n.run(pod("next", container("c", readinessProbe=exec_probe("true"))))


@cases
def the_spawner_is_stopped_for_a_while(world):
    """Who holds the processes does not answer; what was asked for happens when it does."""
    with node_with(world / "spawner") as n:
        pids = n.scratch("pids")
        n.run(pod("first", container("c", f"echo $$$$ > {pids}; exec sleep 1000",
                                     readinessProbe=exec_probe("true", failureThreshold=3))))
        first = int(pids.read_text())
        spawner = int(pathlib.Path(f"/proc/{first}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(spawner, signal.SIGSTOP)
        try:
            n.create(pod("second", container("c", readinessProbe=exec_probe("true"))))
            for _ in range(5):
                n.api.ok("POST", MAPS, configmap(f"m{_}"))  # the loop does not wait for it
        finally:
            os.kill(spawner, signal.SIGCONT)
        n.wait("second", is_ready)
        equal(alive(first), True, "the first")


@contextlib.contextmanager
def folder_of(folder):
    yield pathlib.Path(folder)


if __name__ == "__main__":
    sys.exit(cases.main(folder_of))
