// SPDX-License-Identifier: Apache-2.0
#include "node/spawners.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/log.h"
#include <unistd.h>

#define SPAWNERS_MAX 2
#define BUSY_STARTS 16 /* that wait for one spawner: from here on a second is worth a process */

struct spawners {
    struct spawner_options options; /* its texts are the caller's, and not looked at again */
    char *socket;
    char *program, *verb; /* of the helpers */
    struct spawner *items[SPAWNERS_MAX];
    size_t len, max;
    size_t n_listing; /* lists that are still to come, of all of them */
};

static void on_reply(void *arg, const struct spawn_reply *reply)
{
    struct spawners *spawners = arg;
    if (reply->type == SPAWN_LISTED && spawners->n_listing > 0 && --spawners->n_listing > 0)
        return;
    spawners->options.on_reply(spawners->options.arg, reply);
}

static char *socket_of(const struct spawners *spawners, size_t i)
{
    return i == 0 ? mem_strdup(spawners->socket) : mem_printf("%s.%zu", spawners->socket, i + 1);
}

static int open_next(struct spawners *spawners, struct err *err)
{
    scoped_free char *socket = socket_of(spawners, spawners->len);
    const char *const helper[] = {spawners->program, spawners->verb, socket, NULL};
    struct spawner_options options = {.loop = spawners->options.loop,
                                      .socket = socket,
                                      .helper = helper,
                                      .on_reply = on_reply,
                                      .arg = spawners};
    int r = spawner_open(&options, &spawners->items[spawners->len], err);
    spawners->len += r == 0;
    return r;
}

/* Those that an earlier supervisor had are needed at once: they hold its children. */
static int open_former(struct spawners *spawners, struct err *err)
{
    int r = 0;
    while (r == 0 && spawners->len < SPAWNERS_MAX) {
        scoped_free char *socket = socket_of(spawners, spawners->len);
        if (spawners->len > 0 && !file_exists(socket))
            break;
        r = open_next(spawners, err);
    }
    return r;
}

int spawners_open(const struct spawner_options *options, struct spawners **ret, struct err *err)
{
    struct spawners *spawners = mem_zalloc(sizeof(*spawners));
    spawners->options = *options;
    spawners->socket = mem_strdup(options->socket);
    spawners->program = mem_strdup(options->helper[0]);
    spawners->verb = mem_strdup(options->helper[1]);
    spawners->max = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPAWNERS_MAX : 1;
    int r = open_former(spawners, err);
    if (r < 0) {
        spawners_close(spawners, false);
        return r;
    }
    *ret = spawners;
    return 0;
}

void spawners_close(struct spawners *spawners, bool quit)
{
    if (spawners == NULL)
        return;
    for (size_t i = 0; i < spawners->len; i++)
        spawner_close(spawners->items[i], quit);
    mem_free(spawners->socket);
    mem_free(spawners->program);
    mem_free(spawners->verb);
    mem_free(spawners);
}

void spawners_list(struct spawners *spawners)
{
    for (size_t i = 0; i < spawners->len; i++) {
        spawners->n_listing++;
        spawner_list(spawners->items[i]);
    }
}

static struct spawner *least_busy(const struct spawners *spawners)
{
    struct spawner *best = spawners->items[0];
    for (size_t i = 1; i < spawners->len; i++)
        if (spawner_starts(spawners->items[i]) < spawner_starts(best))
            best = spawners->items[i];
    return best;
}

/* Where it is, or was; the first for what nobody knows. */
static struct spawner *holder_of(const struct spawners *spawners, const char *id)
{
    for (size_t i = 1; i < spawners->len; i++)
        if (spawner_holds(spawners->items[i], id))
            return spawners->items[i];
    return spawners->items[0];
}

void spawners_start(struct spawners *spawners, const struct spawn_request *request)
{
    struct spawner *spawner = holder_of(spawners, request->id);
    struct err err = {0};
    if (!spawner_holds(spawner, request->id)) { /* else that one refuses it */
        spawner = least_busy(spawners);
        if (spawner_starts(spawner) >= BUSY_STARTS && spawners->len < spawners->max &&
            open_next(spawners, &err) < 0) {
            log_warn("node.spawner error=\"%s\"", err.text);
            spawners->max = spawners->len; /* then without */
        }
    }
    spawner_start(spawner, request);
}

void spawners_signal(struct spawners *spawners, const char *id, int signo, bool to_group)
{
    spawner_signal(holder_of(spawners, id), id, signo, to_group);
}

void spawners_forget(struct spawners *spawners, const char *id)
{
    spawner_forget(holder_of(spawners, id), id);
}
