// SPDX-License-Identifier: Apache-2.0
#include "cli/logfeed.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/target.h"
#include "model/kind.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define STOPPED 1
#define LINE_BYTES_MAX (1u << 20) /* longer ones are broken: a line is kept until it ends */

struct source { /* one container */
    struct logfeed *feed;
    size_t number;
    char *pod;
    char *target;
    char *prefix;    /* NULL: none */
    struct str line; /* begun */
    struct remote remote;
    pthread_t thread;
    bool has_thread;
    atomic_bool has_ended;
};

struct logfeed {
    struct cli *cli;
    struct logfeed_options options;
    pthread_mutex_t lock; /* of both output streams and exit_code */
    VEC(struct source *) sources;
    size_t added; /* ever */
    atomic_size_t busy;
    int exit_code;
};

/* ---- printing ---- */

static void print_lines(struct source *source, struct sv text, struct str *out)
{
    while (text.len > 0) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) + 1 : text.len;
        str_addn(&source->line, text.ptr, len);
        text.ptr += len;
        text.len -= len;
        if (newline == NULL && source->line.len < LINE_BYTES_MAX)
            return;
        str_add(out, source->prefix);
        str_addn(out, source->line.data, source->line.len);
        str_add(out, newline == NULL ? "\n" : NULL);
        str_clear(&source->line);
    }
}

static int print(struct logfeed *feed, const char *text, size_t len)
{
    FILE *out = feed->cli->out;
    bool ok;
    (void)pthread_mutex_lock(&feed->lock);
    if (feed->options.sink != NULL)
        ok = feed->options.sink(feed->options.arg, (struct sv){text, len}) == 0;
    else
        ok = fwrite(text, 1, len, out) == len && fflush(out) == 0;
    (void)pthread_mutex_unlock(&feed->lock);
    return ok ? 0 : STOPPED; /* nobody reads us any longer */
}

static int on_text(void *arg, struct sv text)
{
    struct source *source = arg;
    if (source->prefix == NULL)
        return print(source->feed, text.ptr, text.len);
    scoped_str out = {0};
    print_lines(source, text, &out);
    return out.len > 0 ? print(source->feed, out.data, out.len) : 0;
}

/* A last line without an end must not run into the next one's prefix. */
static void end_line(struct source *source)
{
    scoped_str out = {0};
    if (source->line.len == 0)
        return;
    print_lines(source, SV("\n"), &out);
    (void)print(source->feed, out.data, out.len);
}

/* ---- reading ---- */

static void add_hint(struct source *source, const struct client_response *res)
{
    FILE *err = source->feed->cli->err;
    const char *text = str_text(&res->body);
    if (strstr(text, "a container name must be specified") != NULL)
        fprintf(err, "hint: choose one with -c NAME, or take all with --all-containers\n");
    else if (strstr(text, "is waiting to start") != NULL)
        fprintf(err, "hint: 'muster describe pod %s' tells what it waits for\n", source->pod);
    else if (strstr(text, "previous terminated container") != NULL)
        fprintf(err, "hint: it has not been started again yet; leave --previous out\n");
}

static void fail(struct source *source, int r, const struct client_response *res, struct err *err)
{
    struct logfeed *feed = source->feed;
    if (feed->options.is_silent)
        return;
    (void)pthread_mutex_lock(&feed->lock);
    int exit_code = CLI_FAILED;
    if (r < 0) {
        exit_code = cli_unreachable(feed->cli, err);
    } else {
        (void)cli_refusal(feed->cli, res->status, (struct sv){str_text(&res->body), res->body.len});
        add_hint(source, res);
    }
    feed->exit_code = exit_code > feed->exit_code ? exit_code : feed->exit_code;
    (void)pthread_mutex_unlock(&feed->lock);
}

static void read_source(struct source *source, const struct remote *remote)
{
    struct client_response res = {0};
    struct err err = {0};
    struct stream stream = {.target = source->target,
                            .accept = "text/plain, application/json",
                            .arg = source,
                            .on_text = on_text};
    int r = remote->stream(remote->self, &stream, &res, &err);
    end_line(source);
    if (r < 0 || (r == 0 && res.status > 299))
        fail(source, r, &res, &err);
    client_response_done(&res);
}

static void *thread_main(void *arg)
{
    struct source *source = arg;
    read_source(source, &source->remote);
    remote_close(&source->remote); /* a server that ends waits for its connections */
    source->has_ended = true;
    source->feed->busy--;
    return NULL;
}

/* ---- the caller's side ---- */

/* Each life of a container has the same colour when it has a bar. */
static int color_of(const struct logfeed *feed, const char *pod, const char *container)
{
    static const int COLORS[] = {36, 33, 32, 35, 34, 31};
    if (!feed->options.bar)
        return COLORS[feed->added % ARRAY_LEN(COLORS)];
    uint64_t hash = hash_text(hash_text(HASH_START, pod), container ? container : "");
    return COLORS[hash % ARRAY_LEN(COLORS)];
}

static char *prefix_of(const struct logfeed *feed, const char *pod, const char *container)
{
    bool bar = feed->options.bar;
    if (!feed->options.prefix && !bar)
        return NULL;
    const char *slash = container ? "/" : "";
    const char *name = container ? container : "";
    const char *open = bar ? "" : "[pod/", *close = bar ? " |" : "]";
    if (!feed->cli->color)
        return mem_printf("%s%s%s%s%s ", open, pod, slash, name, close);
    return mem_printf("\033[%dm%s%s%s%s%s\033[0m ", color_of(feed, pod, container), open, pod,
                      slash, name, close);
}

static void add_query(const struct logfeed_options *options, const char *container,
                      struct str *target)
{
    char seconds[24];
    if (container != NULL)
        target_query(target, "container", container);
    if (options->follow)
        target_query(target, "follow", "true");
    if (options->limit != NULL)
        target_query(target, "limitBytes", options->limit);
    if (options->previous)
        target_query(target, "previous", "true");
    if (options->since_s > 0) {
        (void)snprintf(seconds, sizeof(seconds), "%" PRId64, options->since_s);
        target_query(target, "sinceSeconds", seconds);
    }
    if (options->since != NULL)
        target_query(target, "sinceTime", options->since);
    if (options->tail != NULL)
        target_query(target, "tailLines", options->tail);
    if (options->timestamps)
        target_query(target, "timestamps", "true");
}

struct logfeed *logfeed_new(struct cli *cli, const struct logfeed_options *options)
{
    struct logfeed *feed = mem_zalloc(sizeof(*feed));
    feed->cli = cli;
    feed->options = *options;
    (void)pthread_mutex_init(&feed->lock, NULL); /* cannot fail without attributes */
    return feed;
}

static void source_free(struct source *source)
{
    if (source->has_thread)
        (void)pthread_join(source->thread, NULL); /* it was started */
    remote_close(&source->remote);
    str_done(&source->line);
    mem_free(source->pod);
    mem_free(source->target);
    mem_free(source->prefix);
    mem_free(source);
}

/* A container that is started again and again must not leave a thread behind for each life. */
static void reap(struct logfeed *feed)
{
    size_t kept = 0;
    for (size_t i = 0; i < feed->sources.len; i++) {
        struct source *source = feed->sources.items[i];
        if (source->has_thread && source->has_ended)
            source_free(source);
        else
            feed->sources.items[kept++] = source;
    }
    feed->sources.len = kept;
}

static void start(struct logfeed *feed, struct source *source)
{
    struct remote *shared = &feed->cli->remote;
    struct err err = {0};
    if (!feed->options.follow || shared->again == NULL ||
        shared->again(shared->self, &source->remote, &err) < 0)
        return;
    if (feed->options.can_cancel && source->remote.cancel_on != NULL)
        source->remote.cancel_on(source->remote.self, feed->options.cancel_fd);
    feed->busy++;
    source->has_thread = pthread_create(&source->thread, NULL, thread_main, source) == 0;
    if (!source->has_thread)
        feed->busy--;
}

size_t logfeed_add(struct logfeed *feed, const char *ns, const char *pod, const char *container)
{
    struct source *source = mem_zalloc(sizeof(*source));
    scoped_str target = {0};
    reap(feed);
    source->number = feed->added;
    target_object(&KIND_POD, ns, pod, &target);
    str_add(&target, "/log");
    add_query(&feed->options, container, &target);
    source->feed = feed;
    source->pod = mem_strdup(pod);
    source->target = str_take(&target);
    source->prefix = prefix_of(feed, pod, container);
    vec_push(&feed->sources, source);
    feed->added++;
    start(feed, source);
    if (!source->has_thread && !(feed->options.follow && feed->options.can_cancel))
        read_source(source, &feed->cli->remote);
    return source->number;
}

size_t logfeed_busy(const struct logfeed *feed)
{
    return feed->busy;
}

bool logfeed_is_busy(const struct logfeed *feed, size_t number)
{
    for (size_t i = 0; i < feed->sources.len; i++) {
        const struct source *source = feed->sources.items[i];
        if (source->number == number)
            return source->has_thread && !source->has_ended;
    }
    return false;
}

int logfeed_finish(struct logfeed *feed)
{
    for (size_t i = 0; i < feed->sources.len; i++)
        source_free(feed->sources.items[i]);
    vec_done(&feed->sources);
    (void)pthread_mutex_destroy(&feed->lock);
    int exit_code = feed->exit_code;
    mem_free(feed);
    return exit_code;
}
