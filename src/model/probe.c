// SPDX-License-Identifier: Apache-2.0
/* Probes and lifecycle hooks: what is asked of a running container. */
#include "model/container.h"
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field EXEC_FIELDS[] = {
    {"command", F_STRING, LIST, .pb = 1,
     .doc = "Program and arguments, run inside the container; exit code 0 is success. There is no "
            "shell, unless the command is one text instead of a list."},
    {0}};
// clang-format on

/* A command in one text is for the shell. */
static void exec_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *command = yyjson_mut_obj_get(val, "command");
    if (!yyjson_mut_is_str(command))
        return;
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    (void)yyjson_mut_arr_add_str(doc, list, "/bin/sh");
    (void)yyjson_mut_arr_add_str(doc, list, "-c");
    (void)yyjson_mut_arr_add_strcpy(doc, list, yyjson_mut_get_str(command));
    json_mut_put(doc, val, "command", list);
}

static const struct type TYPE_EXEC = {
    CORE_V1("ExecAction"),
    "Runs a program in the container.",
    EXEC_FIELDS,
    .expand = exec_expand,
};

// clang-format off

static const struct field HTTP_HEADER_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO, .doc = "Name of the header."},
    {"value", F_STRING, ONE, REQUIRED, .pb = 2 | PB_ZERO, .doc = "Its value."},
    {0}};
static const struct type TYPE_HTTP_HEADER = {
    CORE_V1("HTTPHeader"), "A header of the request.", HTTP_HEADER_FIELDS};

#define PORT_OF_ACTION(number)                                                                     \
    {"port", F_INT_OR_STRING, ONE, REQUIRED | RANGE, .min = 1, .max = 65535,                       \
     .format = FMT_PORT_NAME, .pb = (number) | PB_ZERO,                                            \
     .doc = "Number of the port, or its name in the container's list of ports."}

static const struct field HTTP_GET_FIELDS[] = {
    {"path", F_STRING, ONE, .fallback = "\"/\"", .pb = 1, .doc = "Path that is asked for."},
    PORT_OF_ACTION(2),
    {"host", F_STRING, ONE, .pb = 3,
     .doc = "Host that is asked; without it, the pod's own address."},
    {"scheme", F_STRING, ONE, .fallback = "\"HTTP\"", .values = VALUES("HTTP", "HTTPS"), .pb = 4,
     .doc = "HTTP or HTTPS; certificates are not checked."},
    {"httpHeaders", F_OBJECT, LIST, .of = &TYPE_HTTP_HEADER, .pb = 5,
     .doc = "Headers to send; a name may come more than once."},
    {0}};
static const struct type TYPE_HTTP_GET = {
    CORE_V1("HTTPGetAction"), "Sends a GET request; status 200 to 399 is success.",
    HTTP_GET_FIELDS};

static const struct field TCP_SOCKET_FIELDS[] = {
    PORT_OF_ACTION(1),
    {"host", F_STRING, ONE, .pb = 2,
     .doc = "Host that is called; without it, the pod's own address."},
    {0}};
static const struct type TYPE_TCP_SOCKET = {
    CORE_V1("TCPSocketAction"), "Opens a TCP connection; that it opens is success.",
    TCP_SOCKET_FIELDS};

static const struct field GRPC_FIELDS[] = {
    {"port", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .max = 65535, .pb = 1 | PB_ZERO,
     .doc = "Port of the gRPC server."},
    {"service", F_STRING, ONE, .fallback = "\"\"", .pb = 2 | PB_ZERO,
     .doc = "Service whose health is asked for; empty: the server as a whole."},
    {0}};
static const struct type TYPE_GRPC = {
    CORE_V1("GRPCAction"), "Asks the gRPC health service; SERVING is success.", GRPC_FIELDS};

static const struct field PROBE_FIELDS[] = {
    {"exec", F_OBJECT, ONE, .of = &TYPE_EXEC, .pb = PB_IN(1, 1) | PB_ZERO,
     .doc = "Runs a program in the container."},
    {"httpGet", F_OBJECT, ONE, .of = &TYPE_HTTP_GET, .pb = PB_IN(1, 2) | PB_ZERO,
     .doc = "Sends a GET request."},
    {"tcpSocket", F_OBJECT, ONE, .of = &TYPE_TCP_SOCKET, .pb = PB_IN(1, 3) | PB_ZERO,
     .doc = "Opens a TCP connection."},
    {"grpc", F_OBJECT, ONE, .of = &TYPE_GRPC, .pb = PB_IN(1, 4) | PB_ZERO,
     .doc = "Asks the gRPC health service."},
    {"initialDelaySeconds", F_INT32, ONE, RANGE, .pb = 2,
     .doc = "Seconds from the container's start to the first probe."},
    {"timeoutSeconds", F_INT32, ONE, RANGE, .min = 1, .fallback = "1", .pb = 3,
     .doc = "Seconds after which a probe without an answer has failed."},
    {"periodSeconds", F_INT32, ONE, RANGE, .min = 1, .fallback = "10", .pb = 4,
     .doc = "Seconds from one probe to the next."},
    {"successThreshold", F_INT32, ONE, RANGE, .min = 1, .fallback = "1", .pb = 5,
     .doc = "Successes in a row that turn failure into success; 1 for liveness and startup."},
    {"failureThreshold", F_INT32, ONE, RANGE, .min = 1, .fallback = "3", .pb = 6,
     .doc = "Failures in a row that turn success into failure."},
    {"terminationGracePeriodSeconds", F_INT64, ONE, RANGE, .min = 1, .pb = 7 | PB_ZERO,
     .doc = "Seconds that a container gets to end when this probe failed; "
            "without it, the pod's. Not for readiness."},
    {0}};

static const struct field SLEEP_FIELDS[] = {
    {"seconds", F_INT64, ONE, REQUIRED | RANGE, .pb = 1 | PB_ZERO, .doc = "Seconds to wait."},
    {0}};
static const struct type TYPE_SLEEP = {CORE_V1("SleepAction"), "Waits a while.", SLEEP_FIELDS};

static const struct field HANDLER_FIELDS[] = {
    {"exec", F_OBJECT, ONE, .of = &TYPE_EXEC, .pb = 1 | PB_ZERO,
     .doc = "Runs a program in the container."},
    {"httpGet", F_OBJECT, ONE, .of = &TYPE_HTTP_GET, .pb = 2 | PB_ZERO,
     .doc = "Sends a GET request."},
    {"sleep", F_OBJECT, ONE, .of = &TYPE_SLEEP, .pb = 4 | PB_ZERO,
     .doc = "Waits a while."},
    {"tcpSocket", F_OBJECT, ONE, .of = &TYPE_TCP_SOCKET, .pb = 3 | PB_ZERO,
     .doc = "Not supported as a hook; accepted because Kubernetes accepts it."},
    {0}};
// clang-format on

static void probe_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("exec", "httpGet", "tcpSocket", "grpc"), "handler");
}

const struct type TYPE_PROBE = {
    CORE_V1("Probe"),
    "A question that is put to the container again and again.",
    PROBE_FIELDS,
    .check = probe_check,
};

static void handler_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("exec", "httpGet", "sleep", "tcpSocket"), "handler");
}

static const struct type TYPE_HANDLER = {
    CORE_V1("LifecycleHandler"),
    "What is done at a turn of the container's life.",
    HANDLER_FIELDS,
    .check = handler_check,
};

// clang-format off
static const struct field LIFECYCLE_FIELDS[] = {
    {"postStart", F_OBJECT, ONE, .of = &TYPE_HANDLER, .pb = 1 | PB_ZERO,
     .doc = "Done right after the start; when it fails the container is killed."},
    {"preStop", F_OBJECT, ONE, .of = &TYPE_HANDLER, .pb = 2 | PB_ZERO,
     .doc = "Done before the container is told to end; its time counts in the grace period."},
    {"stopSignal", F_STRING, ONE, .pb = 3 | PB_ZERO,
     .doc = "Signal that tells the container to end, such as SIGUSR1; without it, SIGTERM "
            "or what the image says."},
    {0}};
// clang-format on

const struct type TYPE_LIFECYCLE = {
    CORE_V1("Lifecycle"),
    "What is done when the container has started and before it ends.",
    LIFECYCLE_FIELDS,
};
