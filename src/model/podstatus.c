// SPDX-License-Identifier: Apache-2.0
/* What is known of a pod and its containers. Written by the node; nothing here is required of
 * people. */
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field WAITING_FIELDS[] = {
    {"reason", F_STRING, ONE, .pb = 1,
     .doc = "One word: why it does not run yet, such as CrashLoopBackOff."},
    {"message", F_STRING, ONE, .pb = 2, .doc = "The same for people."},
    {0}};
static const struct type TYPE_WAITING = {
    CORE_V1("ContainerStateWaiting"), "The container does not run yet.", WAITING_FIELDS};

static const struct field RUNNING_FIELDS[] = {
    {"startedAt", F_TIME, ONE, .pb = 1, .doc = "When it started."},
    {0}};
static const struct type TYPE_RUNNING = {
    CORE_V1("ContainerStateRunning"), "The container runs.", RUNNING_FIELDS};

static const struct field TERMINATED_FIELDS[] = {
    {"exitCode", F_INT32, ONE, .pb = 1 | PB_ZERO, .doc = "Exit code of the process."},
    {"signal", F_INT32, ONE, .pb = 2, .doc = "Signal that ended it, or 0."},
    {"reason", F_STRING, ONE, .pb = 3, .doc = "One word: Completed, Error, OOMKilled and so on."},
    {"message", F_STRING, ONE, .pb = 4, .doc = "The container's last words."},
    {"startedAt", F_TIME, ONE, .pb = 5, .doc = "When it had started."},
    {"finishedAt", F_TIME, ONE, .pb = 6, .doc = "When it ended."},
    {"containerID", F_STRING, ONE, .pb = 7, .doc = "Which run this was, as runtime://id."},
    {0}};
static const struct type TYPE_TERMINATED = {
    CORE_V1("ContainerStateTerminated"), "The container has ended.", TERMINATED_FIELDS};

static const struct field STATE_FIELDS[] = {
    {"waiting", F_OBJECT, ONE, .of = &TYPE_WAITING, .pb = 1 | PB_ZERO,
     .doc = "It does not run yet."},
    {"running", F_OBJECT, ONE, .of = &TYPE_RUNNING, .pb = 2 | PB_ZERO, .doc = "It runs."},
    {"terminated", F_OBJECT, ONE, .of = &TYPE_TERMINATED, .pb = 3 | PB_ZERO,
     .doc = "It has ended."},
    {0}};
static const struct type TYPE_STATE = {
    CORE_V1("ContainerState"), "One of: waiting, running, terminated.", STATE_FIELDS};

#define LIFECYCLE_STATES                                                                           \
    VALUES("downloading", "blocked", "pending", "starting", "ready", "failed", "exited")

static const struct field LIFECYCLE_MOVE_FIELDS[] = {
    {"state", F_STRING, ONE, REQUIRED, .values = LIFECYCLE_STATES, .doc = "The state it came to."},
    {"at", F_MICRO_TIME, ONE, .doc = "When it came to it."},
    {0}};
static const struct type TYPE_LIFECYCLE_MOVE = {
    "dev.muster.v1alpha1.ContainerLifecycleMove", "One move of a container from state to state.",
    LIFECYCLE_MOVE_FIELDS};

static const struct field CONTAINER_LIFECYCLE_FIELDS[] = {
    {"state", F_STRING, ONE, .values = LIFECYCLE_STATES,
     .doc = "downloading: its image is fetched. blocked: it waits for other containers. pending: "
            "the node's throttle holds it back. starting: it runs and is not ready yet. ready. "
            "failed: its start did not succeed. exited: it has ended."},
    {"since", F_MICRO_TIME, ONE, .doc = "When it came to this state."},
    {"generation", F_INT64, ONE, RANGE, .doc = "Which start this is, from 1."},
    {"reason", F_STRING, ONE, .doc = "One word: what it waits for, or why it failed."},
    {"message", F_STRING, ONE, .doc = "The same for people."},
    {"nextStart", F_TIME, ONE, .doc = "When it is started again, after a failure."},
    {"moves", F_OBJECT, LIST, .of = &TYPE_LIFECYCLE_MOVE,
     .doc = "The states of this start so far, oldest first."},
    {0}};
static const struct type TYPE_CONTAINER_LIFECYCLE = {
    "dev.muster.v1alpha1.ContainerLifecycle", "How far the start of a container has come.",
    CONTAINER_LIFECYCLE_FIELDS};

static const struct field CONTAINER_STATUS_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .pb = 1 | PB_ZERO, .doc = "Name of the container."},
    {"state", F_OBJECT, ONE, .of = &TYPE_STATE, .pb = 2, .doc = "What it does now."},
    {"lastState", F_OBJECT, ONE, .of = &TYPE_STATE, .pb = 3,
     .doc = "How the run before this one ended."},
    {"ready", F_BOOL, ONE, .pb = 4 | PB_ZERO,
     .doc = "True while its probes say that it can do its work."},
    {"started", F_BOOL, ONE, .pb = 9 | PB_ZERO,
     .doc = "True once its startup probe has succeeded, or it has none."},
    {"restartCount", F_INT32, ONE, .pb = 5 | PB_ZERO, .doc = "How often it was started again."},
    {"image", F_STRING, ONE, .pb = 6 | PB_ZERO,
     .doc = "Image that runs; empty for a plain process."},
    {"imageID", F_STRING, ONE, .pb = 7 | PB_ZERO, .doc = "Digest of the image."},
    {"containerID", F_STRING, ONE, .pb = 8, .doc = "Which run this is, as runtime://id."},
    {"allocatedResources", F_QUANTITY, MAP, .pb = 10, .doc = "What the node has set aside for it."},
    {"allocatedResourcesStatus", F_ANY, LIST, .pb = 14, .doc = "Health of its devices."},
    {"resources", F_OBJECT, ONE, .of = &TYPE_RESOURCES, .pb = 11 | PB_ZERO,
     .doc = "Requests and limits in force."},
    {"volumeMounts", F_ANY, LIST, .pb = 12, .doc = "Mounts as they were made."},
    {"user", F_ANY, ONE, .pb = 13, .doc = "User and groups of the first process."},
    {"stopSignal", F_STRING, ONE, .pb = 15 | PB_ZERO, .doc = "Signal that tells it to end."},
    {"lifecycle", F_OBJECT, ONE, .of = &TYPE_CONTAINER_LIFECYCLE,
     .doc = "How far its start has come, and why no further. Not in Kubernetes."},
    {0}};
static const struct type TYPE_CONTAINER_STATUS = {
    CORE_V1("ContainerStatus"), "What is known of one container.", CONTAINER_STATUS_FIELDS};

static const struct field POD_CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "PodScheduled, Initialized, ContainersReady, Ready and so on."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "True, False or Unknown."},
    {"observedGeneration", F_INT64, ONE, .pb = 7,
     .doc = "The generation for which this was found out."},
    {"lastProbeTime", F_TIME, ONE, .pb = 3, .doc = "When this was last looked at."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 4, .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, .pb = 5, .doc = "One word: why the status is what it is."},
    {"message", F_STRING, ONE, .pb = 6, .doc = "The same for people."},
    {0}};
static const struct type TYPE_POD_CONDITION = {
    CORE_V1("PodCondition"), "One aspect of the pod's state, and since when it is so.",
    POD_CONDITION_FIELDS};

static const struct field POD_IP_FIELDS[] = {
    {"ip", F_STRING, ONE, REQUIRED, .pb = 1 | PB_ZERO, .doc = "The address."},
    {0}};
static const struct type TYPE_POD_IP = {CORE_V1("PodIP"), "An address of the pod.", POD_IP_FIELDS};
static const struct type TYPE_HOST_IP = {
    CORE_V1("HostIP"), "An address of the node.", POD_IP_FIELDS};

static const struct field POD_STATUS_FIELDS[] = {
    {"phase", F_STRING, ONE,
     .values = VALUES("Pending", "Running", "Succeeded", "Failed", "Unknown"), .pb = 1,
     .doc = "Pending: not all containers have started. Running. Succeeded: all ended well. "
            "Failed: all ended, at least one badly. Unknown: its node is silent."},
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_POD_CONDITION, .merge_key = "type", .pb = 2,
     .doc = "How far the pod has come."},
    {"message", F_STRING, ONE, .pb = 3, .doc = "Why the pod is in this phase, for people."},
    {"reason", F_STRING, ONE, .pb = 4,
     .doc = "One word for it, such as Evicted or DeadlineExceeded."},
    {"observedGeneration", F_INT64, ONE, .pb = 17,
     .doc = "The generation for which this was found out."},
    {"nominatedNodeName", F_STRING, ONE, .pb = 11,
     .doc = "Node on which room is being made for this pod."},
    {"hostIP", F_STRING, ONE, .pb = 5, .doc = "Address of the pod's node."},
    {"hostIPs", F_OBJECT, LIST, .of = &TYPE_HOST_IP, .pb = 16,
     .doc = "All addresses of the pod's node."},
    {"podIP", F_STRING, ONE, .pb = 6, .doc = "Address of the pod."},
    {"podIPs", F_OBJECT, LIST, MERGE, .of = &TYPE_POD_IP, .merge_key = "ip", .pb = 12,
     .doc = "All addresses of the pod; the first is podIP."},
    {"startTime", F_TIME, ONE, .pb = 7, .doc = "When the node took the pod."},
    {"initContainerStatuses", F_OBJECT, LIST, .of = &TYPE_CONTAINER_STATUS, .pb = 10,
     .doc = "What is known of each init container."},
    {"containerStatuses", F_OBJECT, LIST, .of = &TYPE_CONTAINER_STATUS, .pb = 8,
     .doc = "What is known of each container."},
    {"ephemeralContainerStatuses", F_OBJECT, LIST, .of = &TYPE_CONTAINER_STATUS, .pb = 13,
     .doc = "What is known of each ephemeral container."},
    {"qosClass", F_STRING, ONE, .values = VALUES("Guaranteed", "Burstable", "BestEffort"), .pb = 9,
     .doc = "Guaranteed: limits for all, and requests equal to them. BestEffort: neither. "
            "Burstable: all others. Decides who is stopped first when memory is short."},
    {"resize", F_STRING, ONE, .pb = 14, .doc = "How far a change of resources has come."},
    {"resourceClaimStatuses", F_ANY, LIST, .pb = 15, .doc = "Claims that were made for the pod."},
    {"extendedResourceClaimStatus", F_ANY, ONE, .pb = 18,
     .doc = "Claims behind extended resources."},
    {0}};
// clang-format on

const struct type TYPE_POD_STATUS = {
    CORE_V1("PodStatus"),
    "What is known of the pod.",
    POD_STATUS_FIELDS,
};
