# SPDX-License-Identifier: Apache-2.0
"""One life of a gang, all of it: examples/whole.yaml with real processes, two nodes, a queue with room
for one of two gangs and a pool beside them. A member dies, a node is drained, the control plane is
killed and comes back; both gangs finish with the right result, the pool keeps every vreplica placed,
every object can tell at every moment where in its life it is, and the rehearsal of the same file tells
the same story."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from muster_test import LIMIT_S, SOURCE, Cases, Process, Server, equal, fail, matches, muster_path
from pods import wait_until
from story import JOBSETS, PODS, WORKLOADS, Recorder, rehearsed

cases = Cases()
FILE = SOURCE / "examples" / "whole.yaml"
FOLDER = SOURCE / "examples" / "whole"  # a scenario and the server's configuration
CONFIG = FOLDER / "configuration.yaml"
VPODS = "/apis/muster.dev/v1alpha1/namespaces/default/vpods"
QUEUES = ("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/machine",
          "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/gangs")
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONFIGMAP = "/api/v1/namespaces/default/configmaps/training"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/machine"
LONG_S = 4 * LIMIT_S  # for what takes many starts of Python on a busy machine
ASKED = ("jobset/red", "jobset/blue", "job/red-worker-0", "job/blue-worker-0", "workload/jobset-red",
         "workload/jobset-blue", "localqueue/gangs", "clusterqueue/machine", "resourceflavor/shares",
         "node/a", "node/b", "statefulset/sources", "pod/sources-0", "vpod/orders", "vpod/clicks",
         "configmap/training", "nodeconfig/default", "namespace/default")


class World:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.file = self.folder / "whole.yaml"
        self.server = Server(folder, "--nodes", str(FILE), "--config", str(CONFIG), node=True).start()
        self.recorder = Recorder(self.server)
        self.run = None

    def muster(self, *words):
        done = subprocess.run([muster_path(), *words, "--data", str(self.server.data)], text=True,
                              cwd=SOURCE, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LONG_S)
        if done.returncode != 0:
            fail(f"muster {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def get(self, path):
        """On a connection of its own: this is called from many threads."""
        api = self.server.local()
        with contextlib.closing(api):
            return api.get(path)

    def begin(self):
        """The example, with enough time between its steps to look at it from all sides."""
        self.file.write_text(FILE.read_text().replace('pauseMs: "20"', 'pauseMs: "80"'))
        env = {**os.environ, "MUSTER_DATA": str(self.server.data)}
        self.run = Process([muster_path(), "run", "--logs=false", str(self.file)], env=env, cwd=SOURCE)

    def let_go(self):
        """Whoever started it is killed: at the end he would stop the pool, and it goes on without
        him."""
        self.run.popen.kill()
        self.run.wait()

    def wait(self, who, what, times=1):
        self.recorder.wait(lambda story: story.of(who).count(what) >= times,
                           f"{who} is {what}, {times} times", LONG_S)

    def member(self, index, gang="red"):
        for pod in self.get(PODS)["items"]:
            if pod["metadata"]["name"].startswith(f"{gang}-worker-0-{index}-"):
                return pod["metadata"]["name"]
        return None


# ---- what every object says of itself ----

def check_answer(w, name, stage):
    """A state, since when, and what comes next; describe has the same."""
    answer = json.loads(w.muster("why", name, "-o", "json"))
    where = f"{stage}: muster why {name}: {answer}"
    for key, pattern in (("text", r"\w.{8,}"), ("since", r"\d{4}-\d\d-\d\dT[\d:.]+Z"), ("next", r"\w.{8,}")):
        if not re.fullmatch(pattern, answer.get(key, ""), re.S):
            fail(f"no {key} in {where}")
    if "isWell" not in answer:
        fail(f"no isWell in {where}")
    told = w.muster("describe", *name.split("/"), "--show-events=false")
    life = matches(told, r"^Life:\n(?:  .*\n)+")[0]
    matches(life, r"^  since \S+; next: \w")
    return f"{answer['text']} | next: {answer['next']}"


def check_all(w, stage, **expected):
    """Asks all objects at once; `expected` are patterns for what some must say."""
    names = list(ASKED)
    for index in (0, 5):
        if w.member(index):
            names.append(f"pod/{w.member(index)}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = dict(zip(names, pool.map(lambda name: check_answer(w, name, stage), names)))
    for name, pattern in expected.items():
        kind, _, rest = name.partition("_")
        matches(said[f"{kind}/{rest.replace('_', '-')}"], pattern)
    return said


# ---- the pool ----

class Pool:
    """Looks at the vpods whenever one changes: from the first placement on, nothing is without a
    place."""

    def __init__(self, w):
        self.w, self.is_over = w, False
        self.seen, self.bad = 0, []
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        placed = set()
        while not self.is_over:
            with contextlib.suppress(Exception):  # a server that is away
                for vpod in self.w.get(VPODS)["items"]:
                    name, wanted = vpod["metadata"]["name"], vpod["spec"]["vreplicas"]
                    there = sum(one["vreplicas"] for one in vpod.get("status", {}).get("placements", []))
                    placed |= {name} if there == wanted else set()
                    self.seen += there == wanted
                    if name in placed and there != wanted:
                        self.bad.append((name, there, wanted))
            wait = threading.Event()
            wait.wait(0.05)


# ---- the story ----

@cases
def before_it_is_admitted_a_gang_waits_whole(w):
    w.begin()
    w.wait("red", "admitted")
    wait_until(lambda: any(one["metadata"]["name"] == "jobset-blue" and
                           one.get("status", {}).get("conditions")
                           for one in w.get(WORKLOADS)["items"]), "blue is looked at")
    equal(w.member(0, "blue"), None, "pods of blue")
    wait_until(lambda: len(w.get(VPODS)["items"]) == 2, "all of the file is there")
    wait_until(lambda: any(one["metadata"]["name"] == "blue-worker-0" for one in w.get(JOBS)["items"]),
               "the Job of blue is made")
    for queue in QUEUES:
        wait_until(lambda: [w.get(queue).get("status", {}).get(f"{what}Workloads") for what in ("admitted", "pending")]
                   == [1, 1], f"{queue} has counted")
    w.let_go()
    check_all(w, "starting", jobset_blue="waits in queue gangs.*next: it starts when its Workload",
              job_blue_worker_0="waits with its jobset/blue.*next: it makes its pods when its JobSet blue",
              clusterqueue_machine="1 admitted, 1 waits", localqueue_gangs="1 admitted, 1 waits",
              workload_jobset_blue="next: it is let in, whole")


@cases
def all_are_ready_and_one_dies_by_itself(w):
    w.wait("red", "ready")
    nodes = {p["spec"]["nodeName"] for p in w.get(PODS)["items"] if p["metadata"]["name"].startswith("red-")}
    equal(nodes, {"a", "b"}, "placed over both zones")
    check_all(w, "ready", node_a="takes pods")
    w.wait("red", "epoch 2")
    check_all(w, "restarting")
    w.wait("red", "ready", 2)
    status = w.get(f"{JOBSETS}/red")["status"]
    equal((status["inPlaceRestarts"], status["restartsCountTowardsMax"]), (1, 1), "restarts")


@cases
def a_node_is_drained(w):
    matches(w.muster("drain", "b"), r"^node/b drained$")
    check_all(w, "drained", node_b="is ready, but cordoned, and empty.*next: it takes pods again after: muster uncordon b")
    w.wait("red", "epoch 3")
    w.wait("red", "ready", 3)
    nodes = {p["spec"]["nodeName"] for p in w.get(PODS)["items"]}
    equal(nodes, {"a"}, "who is where")
    equal(w.get(f"{JOBSETS}/red")["status"]["inPlaceRestarts"], 2, "restarts")


@cases
def the_control_plane_is_killed_and_comes_back(w):
    before = {p["metadata"]["uid"]: p["status"]["containerStatuses"][0].get("containerID")
              for p in w.get(PODS)["items"]}
    w.server.kill()
    w.server.start()
    after = {p["metadata"]["uid"]: p["status"]["containerStatuses"][0].get("containerID")
             for p in w.get(PODS)["items"]}
    equal(after, before, "pods and their processes")
    matches(w.muster("uncordon", "b"), r"^node/b uncordoned$")
    check_all(w, "killed and back", node_b="takes pods", vpod_orders="4 vreplicas")
    api = w.server.local()  # what is left need not be watched
    api.patch(CONFIGMAP, {"data": {"pauseMs": "0"}})
    api.close()


@cases
def both_finish_one_after_the_other(w):
    w.wait("red", "finished")
    w.wait("blue", "admitted")
    w.wait("blue", "ready")
    w.wait("blue", "finished")
    told = w.recorder.story.told
    if told.index(("red", "finished")) > told.index(("blue", "admitted")):
        fail("blue was let in before red had left")
    wait_until(lambda: w.get(QUEUE)["status"]["admittedWorkloads"] == 0, "the queue has counted it")
    check_all(w, "finished", jobset_red="is done.*next: nothing more", jobset_blue="is done",
              workload_jobset_red="finished", clusterqueue_machine="0 admitted, 0 wait.*next: whoever")


@cases
def with_the_right_result(w):
    steps = matches(FILE.read_text(), r'steps: "(\d+)"')[1]
    alone = subprocess.run([sys.executable, SOURCE / "examples" / "training" / "train.py", "--alone",
                            "--steps", steps], env={**os.environ, "WORLD_SIZE": "8"}, text=True,
                           capture_output=True, check=True).stdout.strip()
    for gang in ("red", "blue"):
        log = w.muster("logs", w.member(0, gang), "-c", "worker")
        matches(log, rf"^result {alone}  error \S+  as without any death$")


@cases
def applying_the_file_again_changes_no_node(w):
    w.muster("apply", "-f", str(w.file))
    matches(w.muster("apply", "-f", str(w.file)), r"^node/a unchanged\nnode/b unchanged$")


@cases
def nothing_is_left_of_them(w):
    for gang in ("red", "blue"):
        uid = w.get(f"{JOBSETS}/{gang}")["metadata"]["uid"]
        equal(os.path.exists(f"{tempfile.gettempdir()}/muster-whole-{uid}"), False, f"the folder of {gang}")


@cases
def the_pool_noticed_nothing(w):
    w.pool.is_over = True
    w.pool.thread.join()
    equal(w.pool.bad, [], "vreplicas without a place")
    if w.pool.seen == 0:
        fail("nobody looked")


@cases
def the_rehearsal_tells_the_same_story(w):
    done = subprocess.run([muster_path(), "simulate", "-o", "jsonl", FILE, FOLDER], text=True,
                          capture_output=True)
    equal((done.returncode, done.stderr), (0, ""), "exit code and stderr")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    told, real = rehearsed(lines[:-1]), w.recorder.story
    equal(real.gangs(), told.gangs(), "the gangs, really and rehearsed")
    for gang in ("red", "blue"):
        equal(real.lives(gang), told.lives(gang), f"the pods of {gang}, really and rehearsed")
    for story in (real, told):
        for gang in ("red", "blue"):
            begun = story.told.index((gang, "epoch 1"))
            bound = {who for who, what in story.told[:begun] if what == "bound" and who.startswith(gang)}
            equal(len(bound), 8, f"members of {gang} that had a node when the first epoch began")
    placed = {obj["metadata"]["name"]: obj["status"]["pending"] for obj in lines[-1]["objects"]
              if obj["kind"] == "VPod"}
    equal(placed, {"orders": 0, "clicks": 0}, "vreplicas without a place at the end of the rehearsal")


@cases
def and_with_one_command(w):
    env = {**os.environ, "TMPDIR": str(w.folder), "MUSTER_DATA": str(w.folder / "none")}
    with Process([muster_path(), "run", "--private", str(FILE), str(CONFIG)], env=env, cwd=SOURCE) as process:
        equal(process.wait(LONG_S), 0, "exit code")
        out, errors = process.lines.rest(), process.errors.rest()
    equal(errors, [], "stderr")
    equal(list(w.folder.glob("muster-whole-*")), [], "folders of the gangs")
    for gang in ("red", "blue"):
        right = [line for line in out if line.startswith(f"{gang}-worker-0-0-") and
                 line.endswith("as without any death") and "NOT" not in line]
        equal(len(right), 1, f"results of {gang}")
    text = "\n".join(line for line in out if " step " not in line)
    matches(text, r"^jobset/blue: waits in queue gangs$")
    matches(text, r"^jobset/red: 8/8 ready in ")
    matches(text, r"^2 succeeded, 0 failed, 3 stopped; all ready after .*; 1 restart; took ")


@contextlib.contextmanager
def world(folder):
    w = World(folder)
    w.pool = Pool(w)
    try:
        with w.recorder:
            w.pool.thread.start()
            yield w
            w.pool.is_over = True
            w.pool.thread.join()
        w.server.stop()
    finally:
        w.pool.is_over = True
        if w.run:
            w.run.__exit__()
        w.server.end()


if __name__ == "__main__":
    sys.exit(cases.main(world))
