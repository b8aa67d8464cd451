// SPDX-License-Identifier: Apache-2.0
/* Templates mark the places of numbers by runs of control characters, which JSON never holds. */
#include "bench/request.h"
#include "base/mem.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define KEY "\1\1\1\1\1\1"
#define CODE "\2\2\2\2\2\2\2\2" /* six digits in base 64 */
#define COUNT "\3\3\3\3\3\3\3\3\3\3"
#define KEY_DIGITS 6
#define COUNT_DIGITS 10

// clang-format off
#define PROBE(path, delay) \
    "{\"httpGet\":{\"path\":\"" path "\",\"port\":8080,\"scheme\":\"HTTP\"}," \
    "\"initialDelaySeconds\":" delay ",\"periodSeconds\":10,\"timeoutSeconds\":1," \
    "\"successThreshold\":1,\"failureThreshold\":3}"
#define ENV(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"

static const char POD[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-" KEY "\","
    "\"namespace\":\"default\",\"labels\":{\"app\":\"trainer\",\"role\":\"worker\","
    "\"batch.kubernetes.io/job-name\":\"train-" KEY "\",\"tier\":\"batch\"},"
    "\"annotations\":{\"bench.example.com/count\":\"" COUNT "\","
    "\"bench.example.com/purpose\":\"an ordinary worker of an ordinary training job\"}},"
    "\"spec\":{\"containers\":[{\"name\":\"worker\","
    "\"image\":\"registry.example.com/team/trainer:2026.11.3\","
    "\"imagePullPolicy\":\"IfNotPresent\","
    "\"command\":[\"python3\",\"-m\",\"trainer.main\"],"
    "\"args\":[\"--epochs=90\",\"--batch-size=256\",\"--checkpoint-dir=/data/checkpoints\"],"
    "\"env\":[" ENV("RANK", KEY) "," ENV("WORLD_SIZE", "512") "," ENV("MASTER_PORT", "29500") ","
    ENV("MASTER_ADDR", "train-0.train.default.svc") "," ENV("LOG_LEVEL", "info") ","
    ENV("NCCL_DEBUG", "WARN") "],"
    "\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"8Gi\"},"
    "\"limits\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}},"
    "\"ports\":[{\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"}],"
    "\"readinessProbe\":" PROBE("/ready", "5") ",\"livenessProbe\":" PROBE("/alive", "30") ","
    "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/data\"},"
    "{\"name\":\"config\",\"mountPath\":\"/etc/trainer\",\"readOnly\":true}],"
    "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"},"
    "{\"name\":\"logs\",\"image\":\"registry.example.com/tools/shipper:1.14\","
    "\"imagePullPolicy\":\"IfNotPresent\",\"args\":[\"--from=/data/logs\"],"
    "\"resources\":{\"requests\":{\"cpu\":\"50m\",\"memory\":\"64Mi\"}},"
    "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/data\"}],"
    "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"}],"
    "\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}},"
    "{\"name\":\"config\",\"configMap\":{\"name\":\"trainer\",\"defaultMode\":420}}],"
    "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30,"
    "\"dnsPolicy\":\"ClusterFirst\",\"schedulerName\":\"default-scheduler\","
    "\"securityContext\":{},\"enableServiceLinks\":true,\"priority\":0,"
    "\"nodeSelector\":{\"example.com/pool\":\"gpu\"},"
    "\"tolerations\":[{\"key\":\"example.com/gpu\",\"operator\":\"Exists\","
    "\"effect\":\"NoSchedule\"}]}}";

#define CONDITION(type) \
    "{\"type\":\"" type "\",\"status\":\"True\",\"lastTransitionTime\":\"2026-11-01T10:00:00Z\"}"

static const char STATUS[] =
    "{\"status\":{\"phase\":\"Running\",\"podIP\":\"10.1.2.3\",\"hostIP\":\"10.0.0.7\","
    "\"message\":\"" COUNT "\",\"startTime\":\"2026-11-01T10:00:00Z\","
    "\"conditions\":[" CONDITION("Initialized") "," CONDITION("Ready") ","
    CONDITION("ContainersReady") "," CONDITION("PodScheduled") "],"
    "\"containerStatuses\":[{\"name\":\"worker\",\"ready\":true,\"restartCount\":0,"
    "\"started\":true,\"image\":\"registry.example.com/team/trainer:2026.11.3\",\"imageID\":\"\","
    "\"state\":{\"running\":{\"startedAt\":\"2026-11-01T10:00:00Z\"}}}]}}";

static const char NOTE[] =
    "{\"metadata\":{\"annotations\":{\"bench.example.com/count\":\"" COUNT "\"}}}";
// clang-format on

static const struct {
    const char *method;
    const char *path;
    const char *content_type;
} HEADS[REQUEST_TYPE_COUNT] = {
    [REQUEST_CREATE] = {"POST", "/api/v1/namespaces/default/pods", "application/json"},
    [REQUEST_PUT] = {"PUT", "/api/v1/namespaces/default/pods/pod-" KEY, "application/json"},
    [REQUEST_PATCH] = {"PATCH", "/api/v1/namespaces/default/pods/pod-" KEY "/status",
                       "application/strategic-merge-patch+json"},
    [REQUEST_NOTE] = {"PATCH", "/api/v1/namespaces/default/pods/pod-" KEY,
                      "application/merge-patch+json"},
    [REQUEST_CONFIG] = {"POST", "/api/v1/namespaces/default/configmaps", "application/json"},
    [REQUEST_RECONFIG] = {"PUT", "/api/v1/namespaces/default/configmaps/bench", "application/json"},
    [REQUEST_GET] = {"GET", NULL, NULL},
    [REQUEST_ETCD] = {"POST", "/v3/kv/put", "application/json"},
};

/* ---- building ---- */

static void add_config(struct str *out)
{
    str_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"bench\","
                 "\"namespace\":\"default\"},\"data\":{\"count\":\"" COUNT "\",\"text\":\"");
    for (int i = 0; i < 28; i++)
        str_add(out, "sixty-four bytes of a configuration file that nobody will read.\\n");
    str_add(out, "\"}}");
}

static void add_base64(struct str *out, const char *data, size_t len)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert(len % 3 == 0);
    for (size_t i = 0; i < len; i += 3) {
        unsigned bits = (unsigned)(unsigned char)data[i] << 16 |
                        (unsigned)(unsigned char)data[i + 1] << 8 | (unsigned char)data[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            str_addc(out, DIGITS[bits >> shift & 63]);
    }
}

/* What kube-apiserver's key would look like; its length lets the digits start at a whole group. */
static void add_etcd(struct str *out, size_t value_bytes)
{
    static const char PREFIX[] = "/registry/pods/default/pod-";
    scoped_str value = {0};
    while (value.len < value_bytes)
        str_addn(&value, POD, sizeof(POD) - 1);
    str_add(out, "{\"key\":\"");
    add_base64(out, PREFIX, sizeof(PREFIX) - 1);
    str_add(out, CODE "\",\"value\":\"");
    add_base64(out, value.data, value_bytes - value_bytes % 3);
    str_add(out, "\"}");
}

static void add_body(struct str *out, const struct request_options *options)
{
    switch (options->type) {
    case REQUEST_CREATE:
    case REQUEST_PUT:
        str_add(out, POD);
        return;
    case REQUEST_PATCH:
        str_add(out, STATUS);
        return;
    case REQUEST_NOTE:
        str_add(out, NOTE);
        return;
    case REQUEST_CONFIG:
    case REQUEST_RECONFIG:
        add_config(out);
        return;
    case REQUEST_ETCD:
        add_etcd(out, options->value_bytes);
        return;
    case REQUEST_GET:
    case REQUEST_TYPE_COUNT:
        return;
    }
}

static void add_path(struct str *out, const char *path)
{
    const char *mark = strstr(path, "%k");
    if (mark == NULL) {
        str_add(out, path);
        return;
    }
    str_addn(out, path, (size_t)(mark - path));
    str_add(out, KEY);
    str_add(out, mark + 2);
}

/* Remembers the marks and puts zeros there. */
static void find_marks(struct request *request)
{
    char *bytes = request->bytes.data;
    for (size_t i = 0; i < request->bytes.len; i++) {
        if (bytes[i] == KEY[0]) {
            vec_push(&request->keys, i);
            memset(bytes + i, '0', KEY_DIGITS);
        } else if (bytes[i] == CODE[0]) {
            vec_push(&request->codes, i);
            memset(bytes + i, 'A', sizeof(CODE) - 1);
        } else if (bytes[i] == COUNT[0]) {
            vec_push(&request->counts, i);
            memset(bytes + i, '0', COUNT_DIGITS);
        }
    }
}

void request_init(struct request *request, const struct request_options *options)
{
    assert(options->type < REQUEST_TYPE_COUNT);
    *request = (struct request){0};
    struct str *out = &request->bytes;
    scoped_str body = {0};
    add_body(&body, options);
    str_addf(out, "%s ", HEADS[options->type].method);
    add_path(out, options->type == REQUEST_GET ? options->path : HEADS[options->type].path);
    str_add(out, " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n");
    if (options->token != NULL)
        str_addf(out, "Authorization: Bearer %s\r\n", options->token);
    if (body.len > 0)
        str_addf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                 HEADS[options->type].content_type, body.len);
    str_add(out, "\r\n");
    str_addn(out, str_text(&body), body.len);
    find_marks(request);
}

void request_done(struct request *request)
{
    str_done(&request->bytes);
    vec_done(&request->keys);
    vec_done(&request->codes);
    vec_done(&request->counts);
}

void request_copy(struct request *request, const struct request *from)
{
    *request = (struct request){0};
    str_addn(&request->bytes, from->bytes.data, from->bytes.len);
    for (size_t i = 0; i < from->keys.len; i++)
        vec_push(&request->keys, from->keys.items[i]);
    for (size_t i = 0; i < from->codes.len; i++)
        vec_push(&request->codes, from->codes.items[i]);
    for (size_t i = 0; i < from->counts.len; i++)
        vec_push(&request->counts, from->counts.items[i]);
}

/* ---- numbering ---- */

static void put_digits(char *at, uint64_t number, size_t digits)
{
    while (digits-- > 0) {
        at[digits] = (char)('0' + number % 10);
        number /= 10;
    }
}

void request_number(struct request *request, uint64_t key, uint64_t count)
{
    char *bytes = request->bytes.data;
    for (size_t i = 0; i < request->keys.len; i++)
        put_digits(bytes + request->keys.items[i], key, KEY_DIGITS);
    for (size_t i = 0; i < request->counts.len; i++)
        put_digits(bytes + request->counts.items[i], count, COUNT_DIGITS);
    if (request->codes.len == 0)
        return;
    char digits[KEY_DIGITS];
    scoped_str code = {0};
    put_digits(digits, key, KEY_DIGITS);
    add_base64(&code, digits, KEY_DIGITS);
    for (size_t i = 0; i < request->codes.len; i++)
        memcpy(bytes + request->codes.items[i], code.data, code.len);
}

static void template_init(struct request *request, const char *template)
{
    *request = (struct request){0};
    str_add(&request->bytes, template);
    find_marks(request);
}

void request_pod(struct request *request)
{
    template_init(request, POD);
}

void request_status(struct request *request)
{
    template_init(request, STATUS);
}

void request_note(struct request *request)
{
    template_init(request, NOTE);
}
