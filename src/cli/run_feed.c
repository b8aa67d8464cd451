// SPDX-License-Identifier: Apache-2.0
#include "cli/run_feed.h"
#include "base/mem.h"
#include "cli/follow.h"
#include "cli/logfeed.h"
#include "cli/target.h"
#include "os/fd.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define QUEUED_BYTES_MAX (4u << 20)
#define LOGS_MAX 256 /* each is a thread here and a stream of the server */

struct watcher {
    struct run_feed *feed;
    const struct kind *kind;
    const char *ns;
    struct cli cli; /* its own connection and its own standard error */
    pthread_t thread;
};

struct followed {
    struct run_log log;
    size_t number; /* in the logfeed */
};

struct run_feed {
    struct cli *cli;
    struct logfeed *logs;
    VEC(struct followed) followed; /* some may have ended */
    VEC(struct watcher *) watchers;
    int wake_fd;   /* there are posts */
    int cancel_fd; /* all shall end */
    pthread_mutex_t lock;
    pthread_cond_t room;
    VEC(struct run_post) posts; /* under the lock, as are these */
    size_t queued_bytes;
    bool is_closed;
};

static void raise_fd(int fd)
{
    (void)eventfd_write(fd, 1); /* fails only when it is raised 2^64 times */
}

/* Takes the post over. Not 0: nobody wants it any more. */
static int put(struct run_feed *feed, struct run_post *post)
{
    (void)pthread_mutex_lock(&feed->lock);
    while (feed->queued_bytes > QUEUED_BYTES_MAX && !feed->is_closed)
        (void)pthread_cond_wait(&feed->room, &feed->lock);
    int closed = feed->is_closed;
    if (closed) {
        str_done(&post->text);
    } else {
        feed->queued_bytes += post->text.len;
        vec_push(&feed->posts, *post);
        if (feed->posts.len == 1)
            raise_fd(feed->wake_fd);
    }
    (void)pthread_mutex_unlock(&feed->lock);
    return closed;
}

/* ---- watches ---- */

static int on_list(void *arg, yyjson_val *list)
{
    struct watcher *w = arg;
    struct run_post post = {.type = RUN_POST_LIST, .kind = w->kind, .ns = w->ns};
    json_write_val(list, &post.text);
    return put(w->feed, &post);
}

static int on_event(void *arg, const char *type, yyjson_val *object)
{
    struct watcher *w = arg;
    struct run_post post = {.type = RUN_POST_EVENT, .kind = w->kind, .ns = w->ns};
    (void)snprintf(post.event, sizeof(post.event), "%s", type);
    json_write_val(object, &post.text);
    return put(w->feed, &post);
}

static void *watch(void *arg)
{
    struct watcher *w = arg;
    char *said = NULL;
    size_t said_len = 0;
    scoped_str url = {0};
    target_collection(w->kind, w->ns, &url);
    w->cli.err = open_memstream(&said, &said_len);
    struct follow follow = {str_text(&url), NULL, TIME_NEVER, on_list, on_event, w};
    int r = follow_run(&w->cli, &follow);
    if (w->cli.err != NULL)
        (void)fclose(w->cli.err); /* memory only */
    struct run_post post = {.type = RUN_POST_END, .kind = w->kind, .ns = w->ns, .exit_code = r};
    str_addn(&post.text, said ? said : "", said_len);
    (void)put(w->feed, &post); /* closed: nobody asks any more */
    free(said);
    return NULL;
}

void run_feed_watch(struct run_feed *feed, const struct kind *kind, const char *ns)
{
    struct watcher *w = mem_zalloc(sizeof(*w));
    struct err err = {0};
    struct remote *shared = &feed->cli->remote;
    w->feed = feed;
    w->kind = kind;
    w->ns = ns;
    w->cli = *feed->cli;
    w->cli.remote = (struct remote){0};
    int r = shared->again(shared->self, &w->cli.remote, &err);
    if (r == 0) {
        (void)snprintf(w->cli.remote.label, sizeof(w->cli.remote.label), "%s", shared->label);
        w->cli.remote.cancel_on(w->cli.remote.self, feed->cancel_fd);
        r = -pthread_create(&w->thread, NULL, watch, w);
    }
    if (r == 0) {
        vec_push(&feed->watchers, w);
        return;
    }
    struct run_post post = {.type = RUN_POST_END, .kind = kind, .ns = ns, .exit_code = CLI_FAILED};
    str_addf(&post.text, "error: cannot watch %s: %s\n", kind->plural, strerror(-r));
    (void)put(feed, &post); /* is open */
    remote_close(&w->cli.remote);
    mem_free(w);
}

/* ---- logs ---- */

static int on_lines(void *arg, struct sv lines)
{
    struct run_post post = {.type = RUN_POST_LOG};
    str_addn(&post.text, lines.ptr, lines.len);
    return put(arg, &post);
}

static void forget(struct followed *followed)
{
    mem_free(followed->log.ns);
    mem_free(followed->log.pod);
    mem_free(followed->log.container);
    mem_free(followed->log.life);
}

static void forget_ended(struct run_feed *feed)
{
    size_t kept = 0;
    for (size_t i = 0; i < feed->followed.len; i++) {
        struct followed *followed = &feed->followed.items[i];
        if (logfeed_is_busy(feed->logs, followed->number))
            feed->followed.items[kept++] = *followed;
        else
            forget(followed);
    }
    feed->followed.len = kept;
}

bool run_feed_log(struct run_feed *feed, const struct run_log *log)
{
    if (feed->cli->remote.self == NULL)
        return true; /* we have said goodbye to the server already */
    if (logfeed_busy(feed->logs) >= LOGS_MAX)
        return false;
    forget_ended(feed);
    struct followed followed = {.log = {.ns = mem_strdup(log->ns),
                                        .pod = mem_strdup(log->pod),
                                        .container = mem_strdup(log->container),
                                        .life = mem_strdup(log->life)}};
    followed.number = logfeed_add(feed->logs, log->ns, log->pod, log->container);
    vec_push(&feed->followed, followed);
    return true;
}

bool run_feed_reads(const struct run_feed *feed,
                    bool (*is_meant)(void *arg, const struct run_log *log), void *arg)
{
    for (size_t i = 0; i < feed->followed.len; i++) {
        const struct followed *followed = &feed->followed.items[i];
        if (logfeed_is_busy(feed->logs, followed->number) && is_meant(arg, &followed->log))
            return true;
    }
    return false;
}

/* ---- the loop's side ---- */

int run_feed_new(struct cli *cli, struct run_feed **ret_feed, struct err *err)
{
    scoped_fd wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    scoped_fd cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0 || cancel < 0)
        return err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno));
    struct run_feed *feed = mem_zalloc(sizeof(*feed));
    feed->cli = cli;
    feed->wake_fd = fd_take(&wake);
    feed->cancel_fd = fd_take(&cancel);
    (void)pthread_mutex_init(&feed->lock, NULL); /* neither can fail without attributes */
    (void)pthread_cond_init(&feed->room, NULL);
    feed->logs = logfeed_new(cli, &(struct logfeed_options){.follow = true,
                                                            .bar = true,
                                                            .sink = on_lines,
                                                            .arg = feed,
                                                            .is_silent = true,
                                                            .can_cancel = true,
                                                            .cancel_fd = feed->cancel_fd});
    *ret_feed = feed;
    return 0;
}

int run_feed_fd(const struct run_feed *feed)
{
    return feed->wake_fd;
}

void run_feed_take(struct run_feed *feed, void (*each)(void *arg, const struct run_post *post),
                   void *arg)
{
    eventfd_t ignored;
    (void)pthread_mutex_lock(&feed->lock);
    (void)eventfd_read(feed->wake_fd, &ignored); /* nothing to read: nobody has woken us */
    __auto_type posts = feed->posts;
    feed->posts.items = NULL;
    feed->posts.len = feed->posts.cap = 0;
    feed->queued_bytes = 0;
    (void)pthread_cond_broadcast(&feed->room);
    (void)pthread_mutex_unlock(&feed->lock);
    for (size_t i = 0; i < posts.len; i++) {
        each(arg, &posts.items[i]);
        str_done(&posts.items[i].text);
    }
    vec_done(&posts);
}

static void close_all(struct run_feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    feed->is_closed = true;
    (void)pthread_cond_broadcast(&feed->room);
    (void)pthread_mutex_unlock(&feed->lock);
    raise_fd(feed->cancel_fd);
}

void run_feed_free(struct run_feed *feed)
{
    if (feed == NULL)
        return;
    close_all(feed);
    for (size_t i = 0; i < feed->watchers.len; i++) {
        struct watcher *w = feed->watchers.items[i];
        (void)pthread_join(w->thread, NULL); /* it was started */
        remote_close(&w->cli.remote);
        mem_free(w);
    }
    vec_done(&feed->watchers);
    (void)logfeed_finish(feed->logs); /* silent: its errors are of streams that we ended */
    for (size_t i = 0; i < feed->followed.len; i++)
        forget(&feed->followed.items[i]);
    vec_done(&feed->followed);
    for (size_t i = 0; i < feed->posts.len; i++)
        str_done(&feed->posts.items[i].text);
    vec_done(&feed->posts);
    (void)pthread_mutex_destroy(&feed->lock);
    (void)pthread_cond_destroy(&feed->room);
    close(feed->wake_fd);
    close(feed->cancel_fd);
    mem_free(feed);
}
