# SPDX-License-Identifier: Apache-2.0
"""JobSets on real processes: restarts that make Jobs anew and restarts in place, suspend and resume,
what kubectl shows of them, and a server that is killed in between."""

import contextlib
import os
import sys

from muster_test import Cases, Kubectl, contains, equal, fail, matches
from pods import PODS, Node, wait_until

cases = Cases()
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"


class World(Node):
    def __init__(self, folder):
        super().__init__(folder)
        self.kubectl = Kubectl(folder, self.server.data / "kubeconfig")

    def wait(self, name, wanted):
        return self.api.wait_for(SETS, lambda thing: thing["metadata"]["name"] == name and
                                 wanted(thing))

    def mark(self, name):
        return str(self.scratch(name))


@contextlib.contextmanager
def world_in(folder):
    world = World(folder)
    try:
        yield world
        world.stop()
    finally:
        world.server.end()


def jobset(name, command, members=2, jobs=1, **spec):
    job = {"completions": members, "parallelism": members, "backoffLimit": 0,
           "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                                 "containers": [{"name": "c", "command": ["sh", "-c", command]}]}}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"replicatedJobs": [{"name": "w", "replicas": jobs, "template": {"spec": job}}],
                     **spec}}


def in_place(name, command, members=2, max_restarts=3):
    thing = jobset(name, command, members, failurePolicy={
        "restartStrategy": "InPlaceRestart", "maxRestarts": max_restarts})
    job = thing["spec"]["replicatedJobs"][0]["template"]["spec"]
    job.update(backoffLimit=2147483647, podReplacementPolicy="Failed")
    job["template"]["spec"]["restartPolicy"] = "OnFailure"
    return thing


def is_true(thing, kind):
    return any(c["type"] == kind and c["status"] == "True"
               for c in thing.get("status", {}).get("conditions", []))


def synced(epoch):
    return lambda thing: thing.get("status", {}).get("syncedEpoch") == epoch


def uids(world, name):
    """Of its pods but for those that are on their way out: one that has ended is seen a moment longer."""
    items = world.api.get(f"{PODS}?labelSelector=jobset.sigs.k8s.io/jobset-name={name}")["items"]
    return sorted(item["metadata"]["uid"] for item in items if "deletionTimestamp" not in item["metadata"])


@cases
def jobs_are_made_anew_until_all_succeed(world):
    mark = world.mark("anew")
    command = f'test $JOB_COMPLETION_INDEX = 0 && exit 0; test -e {mark} && exit 0; touch {mark}; exit 3'
    for strategy in ("Recreate", "BlockingRecreate"):
        if os.path.exists(mark):
            os.remove(mark)
        name = strategy.lower()
        world.kubectl.apply(jobset(name, command, failurePolicy={"maxRestarts": 1,
                                                                 "restartStrategy": strategy}))
        thing = world.wait(name, lambda t: is_true(t, "Completed") or is_true(t, "Failed"))
        equal(thing["status"]["terminalState"], "Completed")
        equal((thing["status"]["restarts"], thing["status"]["restartsCountTowardsMax"]), (1, 1))
        contains(world.kubectl("describe", "jobset", name), "RestartJobSetFailurePolicyAction", "AllJobsCompleted",
                 "all Jobs are made anew")
    matches(world.kubectl("get", "jobset", "recreate"), r"^recreate +Completed +1 +True")


@cases
def members_know_their_names_whatever_the_strategy(world):
    mark = world.mark("names")
    world.kubectl.apply(jobset("names", f'grep -c "\tnames-w-0-[01].names " "$MUSTER_HOSTS_FILE" '
                                        f'> {mark}.$JOB_COMPLETION_INDEX'))
    world.wait("names", lambda t: is_true(t, "Completed"))
    for index in range(2):
        equal(open(f"{mark}.{index}", encoding="utf-8").read(), "2\n", "names in the file")
    folder = world.server.data / "node" / "hosts"
    wait_until(lambda: not any(folder.iterdir()), "an empty folder of hosts files")


@cases
def the_budget_ends(world):
    world.kubectl.apply(jobset("bad", "exit 1", failurePolicy={"maxRestarts": 1}))
    thing = world.wait("bad", lambda t: is_true(t, "Completed") or is_true(t, "Failed"))
    equal(thing["status"]["terminalState"], "Failed")
    contains(world.kubectl("describe", "jobset", "bad"), "ReachedMaxRestarts")
    contains(world.api.call("GET", "/metrics").text, "jobset_completed_total 3",
             "jobset_failed_total 1")


@cases
def a_group_restarts_in_place_once(world):
    mark = world.mark("place")
    command = (f'test $JOB_COMPLETION_INDEX = 1 && test ! -e {mark} && touch {mark} && exit 9; '
               f'while test ! -e {mark}.end; do sleep 0.05; done')
    world.kubectl.apply(in_place("group", command, members=3))
    thing = world.wait("group", synced(2))
    status = thing["status"]
    equal((status["deprecatedEpoch"], status["restarts"], status["restartsCountTowardsMax"],
           status["inPlaceRestarts"]), (1, 0, 1, 1))
    equal((status["previousInPlaceRestartAttempt"], status["currentInPlaceRestartAttempt"]), (0, 1))
    matches(world.kubectl("get", "jobset", "group", "-o", "wide"), r"^group +<none> +1 .* 2 *$")
    contains(world.kubectl("describe", "jobset", "group"), "restart 1 of 3 in place",
             "asks for epoch 2: container c ended with exit code 9")
    contains(world.api.call("GET", "/metrics").text,
             'muster_jobset_restarts{namespace="default",jobset="group",how="in-place"} 1',
             'muster_jobset_epoch{namespace="default",jobset="group"} 2')
    before = uids(world, "group")
    world.kubectl("annotate", "jobset", "group", "muster.dev/restart-request=now")
    status = world.wait("group", synced(3))["status"]
    equal((status["restartsCountTowardsMax"], status["inPlaceRestarts"]), (1, 2))
    equal(uids(world, "group"), before, "pods")
    open(mark + ".end", "w").close()
    world.wait("group", lambda t: is_true(t, "Completed"))


@cases
def the_cause_of_the_end_is_told(world):
    thing = in_place("absent", "true", max_restarts=0)
    pod = thing["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["command"] = ["/no/such/program"]
    world.kubectl.apply(thing)
    world.wait("absent", lambda t: is_true(t, "Failed"))
    said = world.kubectl("describe", "jobset", "absent")
    contains(said, "all 0 that maxRestarts allows are used: container c could not be started: ",
             "/no/such/program")
    if "Restarted" in said:
        fail(said)


@cases
def suspend_and_resume_are_free(world):
    mark = world.mark("rest")
    world.kubectl.apply(in_place("rest", f'while test ! -e {mark}; do sleep 0.05; done',
                                 max_restarts=0))
    world.wait("rest", synced(1))
    before = uids(world, "rest")
    world.kubectl("patch", "jobset", "rest", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    world.wait("rest", lambda t: is_true(t, "Suspended") and
               t["status"]["replicatedJobsStatus"][0]["suspended"] == 1)
    world.kubectl("patch", "jobset", "rest", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    status = world.wait("rest", synced(2))["status"]
    equal(status.get("restartsCountTowardsMax", 0), 0)
    if set(before) & set(uids(world, "rest")):
        fail("the pods are the same")
    open(mark, "w").close()
    world.wait("rest", lambda t: is_true(t, "Completed"))


@cases
def an_announcement_does_not_go_down(world):
    name = world.api.get(f"{PODS}?labelSelector=jobset.sigs.k8s.io/jobset-name=group")[
        "items"][0]["metadata"]["name"]
    said = world.kubectl.refused("annotate", "--overwrite", "pod", name,
                                 "jobset.sigs.k8s.io/epoch=1")
    contains(said, "may not go down: it was 3")


@cases
def a_server_that_is_killed_goes_on_where_it_was(world):
    mark = world.mark("kill")
    command = (f'test $JOB_COMPLETION_INDEX = 1 && test ! -e {mark} && touch {mark} && exit 9; '
               f'while test ! -e {mark}.end; do sleep 0.05; done')
    world.kubectl.apply(in_place("kill", command, members=3))
    world.wait("kill", lambda t: t.get("status", {}).get("deprecatedEpoch") == 1)
    world.restart()
    status = world.wait("kill", synced(2))["status"]
    equal((status["deprecatedEpoch"], status["restartsCountTowardsMax"]), (1, 1))
    open(mark + ".end", "w").close()
    world.wait("kill", lambda t: is_true(t, "Completed"))


if __name__ == "__main__":
    sys.exit(cases.main(world_in))
