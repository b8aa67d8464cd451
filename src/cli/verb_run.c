// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/applying.h"
#include "cli/nodesfile.h"
#include "cli/run.h"
#include "cli/run_gang.h"
#include "cli/target.h"
#include "cli/workdir.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DRAW_PAUSE_MS 100
#define SERVER_LOG_LINES 10

static const char *const UNTILS[] = {"done", "ready", NULL};
static const char *const FORMATS[] = {"json", "yaml", NULL};
const struct opt OPTS_RUN[] = {
    {"timeout", 0, "DURATION", "Give up, and stop what was started, after this; 0 is never.",
     .fallback = "0s"},
    {"until", 0, "WHEN",
     "Stay until everything is done, or only until it is ready, leaving it to the server.",
     .fallback = "done", .values = UNTILS},
    {"private", 0, NULL, "Start a server of its own even when there is one."},
    {"logs", 0, NULL, "Show what the containers print.", .fallback = "true"},
    {"quiet", 'q', NULL, "Show nothing but logs and errors."},
    {"namespace", 0, "NAMESPACE", "The namespace of objects that name none.",
     .complete = COMPLETE_NAMESPACE},
    {"output", 'o', "FORMAT",
     "json: print how it went to standard output, everything else to standard error. With "
     "--dry-run: how the JobSet is printed.",
     .values = FORMATS},
    {"members", 'n', "N", "Run a command as a group of so many processes: -n 8 -- COMMAND."},
    {"max-restarts", 0, "N", "How often the whole group may restart when a member dies.",
     .fallback = "3"},
    {"cpu", 0, "AMOUNT", "What each member of the group asks for."},
    {"memory", 0, "AMOUNT", "What each member of the group asks for, and may not exceed."},
    {"queue", 0, "NAME", "The LocalQueue that admits the group."},
    {"env", 'e', "NAME[=VALUE]",
     "A variable for each member of the group; without a value, the one that it has here.",
     .flags = OPT_REPEAT},
    {"name", 0, "NAME", "The group's name; made from the command unless given."},
    {"dry-run", 0, NULL, "Print the JobSet that the command would be, and run nothing."},
    {0},
};

/* ---- the loop ---- */

static void on_draw(void *arg)
{
    struct run *run = arg;
    run->is_dirty = false;
    run->drawn_at = loop_now(run->loop);
    time_ms due = run_show_draw(&run->show, &run->model, run->drawn_at);
    if (due != TIME_NEVER)
        loop_timer_set(run->loop, &run->draw_timer, due);
    if (run->show.is_broken)
        run->signals++; /* nobody looks: as if he had pressed ^C */
}

void run_touch(struct run *run)
{
    if (run->is_dirty)
        return;
    run->is_dirty = true;
    loop_timer_set(run->loop, &run->draw_timer, run->drawn_at + DRAW_PAUSE_MS);
}

void run_turn(struct run *run)
{
    loop_turn(run->loop, -1);
}

static void on_late(void *arg)
{
    struct run *run = arg;
    run->is_late = true;
}

static void on_alarm(void *arg)
{
    struct run *run = arg;
    run->alarm_rang = true;
}

static void on_signal(void *arg, int signo)
{
    struct run *run = arg;
    if (signo == SIGWINCH) {
        run_show_resize(&run->show);
        run_touch(run);
        return;
    }
    run->signals++;
}

static void on_server_said(void *arg, uint32_t events)
{
    struct run *run = arg;
    (void)events;
    int r = run_server_look(&run->server);
    run->is_server_ready = run->is_server_ready || r == 1;
    if (r < 0) {
        loop_io_del(run->out_io);
        run->out_io = NULL;
    }
}

static void on_server_ended(void *arg, uint32_t events)
{
    struct run *run = arg;
    (void)events;
    loop_io_del(run->pid_io);
    run->pid_io = NULL;
    run->server_code = run_server_reap(&run->server);
    run->has_server_ended = true;
}

/* ---- what the threads send ---- */

static void on_object(struct run *run, const struct run_post *post)
{
    scoped_json *doc = NULL;
    time_ms now = loop_now(run->loop);
    if (json_parse((struct sv){str_text(&post->text), post->text.len}, &doc, NULL) < 0)
        return; /* cannot be: it was written from a parsed one */
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (post->type == RUN_POST_LIST)
        run_model_list(&run->model, post->kind, post->ns, root, now);
    else
        run_model_event(&run->model, &(struct run_event){post->kind, post->event, root}, now);
}

static void on_post(void *arg, const struct run_post *post)
{
    struct run *run = arg;
    switch (post->type) {
    case RUN_POST_LIST:
    case RUN_POST_EVENT:
        on_object(run, post);
        break;
    case RUN_POST_LOG:
        run_show_logs(&run->show, (struct sv){str_text(&post->text), post->text.len});
        break;
    case RUN_POST_END:
        if (run->is_ending || run->is_lost)
            break; /* the server goes because we want it */
        run->is_lost = true;
        run->lost_code = post->exit_code;
        run_show_settle(&run->show, &run->model, loop_now(run->loop));
        fwrite(str_text(&post->text), 1, post->text.len, run->cli->err);
        break;
    }
}

static void on_posts(void *arg, uint32_t events)
{
    struct run *run = arg;
    (void)events;
    run_feed_take(run->feed, on_post, run);
    run_touch(run);
}

static void on_life(void *arg, const struct run_pod *pod, const struct run_unit *unit)
{
    struct run *run = arg;
    struct run_log log = {pod->ns, pod->name, unit->name, unit->life};
    if (!run->with_logs || run_feed_log(run->feed, &log))
        return;
    if (!run->told_of_logs)
        run_show_note(&run->show, "not all logs are shown, there are too many; see 'muster logs'");
    run->told_of_logs = true;
}

/* ---- the server ---- */

static bool is_given_up(const struct run *run)
{
    return run->signals > 0 || run->is_late;
}

static bool names_server(const struct cli *cli)
{
    return opt_is_given(&cli->opts, "server") || opt_is_given(&cli->opts, "kubeconfig") ||
           cli->remote.self != NULL;
}

/* Is there a server in the data directory? 1, 0, or -1 after an error was printed. */
static int find_server(struct cli *cli)
{
    scoped_str data = {0};
    struct client_response res = {0};
    struct err err = {0};
    if (cli_data_dir(cli, &data, &err) < 0)
        return 0;
    if (cli_connect(cli) != CLI_OK)
        return -1;
    struct request req = {.target = "/readyz"};
    int r = cli->remote.call(cli->remote.self, &req, &res, &err);
    client_response_done(&res);
    if (r == 0)
        return 1;
    if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR) {
        remote_close(&cli->remote);
        return 0;
    }
    (void)cli_unreachable(cli, &err);
    return -1;
}

static int fail_server(struct run *run)
{
    struct err err = {0};
    scoped_str tail = {0};
    (void)err_set(&err, -EPIPE, "the private server ended with exit code %d", run->server_code);
    (void)cli_error(run->cli, CLI_FAILED, &err);
    run_server_tail(&run->server, SERVER_LOG_LINES, &tail);
    fwrite(str_text(&tail), 1, tail.len, run->cli->err);
    return CLI_FAILED;
}

/* Nodes and a configuration that the files want to have: a private server has them. */
static const char *nodes_in(const struct manifests *manifests)
{
    for (size_t i = 0; i < manifests->list.len; i++) {
        const struct manifest *manifest = &manifests->list.items[i];
        if (nodes_file_has(manifest) && strcmp(manifest->file, "-") != 0)
            return manifest->file;
    }
    return NULL;
}

static int start_private(struct run *run)
{
    struct err err = {0};
    run->is_private = true;
    const char *config = run->manifests->configured;
    struct run_wishes wishes = {.nodes = nodes_in(run->manifests),
                                .config = !str_eq(config, "-") ? config : NULL};
    if (run_server_start(&run->server, &wishes, &err) < 0) {
        run->has_server_ended = true;
        return cli_error(run->cli, CLI_FAILED, &err);
    }
    run->out_io = loop_io_add(run->loop, run->server.out_fd, EPOLLIN, on_server_said, run);
    run->pid_io = loop_io_add(run->loop, run->server.pidfd, EPOLLIN, on_server_ended, run);
    while (!run->is_server_ready && !run->has_server_ended && !is_given_up(run))
        run_turn(run);
    if (run->has_server_ended)
        return fail_server(run);
    if (!run->is_server_ready)
        return CLI_OK;
    scoped_free char *warning = run_server_warning(&run->server);
    if (warning != NULL)
        run_show_note(&run->show, "warning: nothing limits CPU and memory here: %s", warning);
    scoped_free char *server = mem_printf("unix:%s/muster.sock", run->server.dir);
    struct address address = {.server = server};
    if (remote_open(&address, &run->cli->remote, &err) < 0)
        return cli_error(run->cli, CLI_FAILED, &err);
    return CLI_OK;
}

static int get_server(struct run *run)
{
    struct cli *cli = run->cli;
    bool own = opt_flag(&cli->opts, "private");
    if (own && (opt_is_given(&cli->opts, "server") || opt_is_given(&cli->opts, "kubeconfig")))
        return cli_usage(cli, "--private and a server do not go together");
    if (!own && names_server(cli))
        return cli_connect(cli);
    int found = own ? 0 : find_server(cli);
    if (found != 0)
        return found > 0 ? CLI_OK : CLI_UNREACHABLE;
    struct err err = {0};
    if (run->until_ready)
        (void)err_set(&err, -EINVAL,
                      "--until ready would stop everything as soon as it is ready: "
                      "there is no server that goes on");
    else if (opt_is_given(&cli->opts, "queue"))
        (void)err_set(&err, -EINVAL,
                      "--queue would wait for ever: there is no server that has queue '%s'",
                      opt_get(&cli->opts, "queue"));
    else
        return start_private(run);
    (void)err_hint(&err, "start one with: muster up");
    return cli_error(cli, CLI_USAGE, &err);
}

/* A name that was mistyped would be waited in for ever. */
static int refuse_unknown_queue(struct run *run)
{
    struct cli *cli = run->cli;
    const char *queue = opt_get(&cli->opts, "queue"), *ns = cli_namespace(cli);
    struct client_response res = {0};
    scoped_str url = {0};
    if (queue == NULL)
        return CLI_OK;
    target_object(&KIND_LOCALQUEUE, ns, queue, &url);
    int r = cli_call(cli, &(struct request){.target = str_text(&url)}, &res);
    bool is_unknown = r == CLI_OK && res.status == 404;
    client_response_done(&res);
    if (!is_unknown)
        return r;
    struct err err = {0};
    (void)err_set(&err, -ENOENT,
                  "--queue would wait for ever: there is no LocalQueue '%s' in "
                  "namespace '%s'",
                  queue, ns);
    (void)err_hint(&err, "see those that are there with: muster get localqueues -A");
    return cli_error(cli, CLI_FAILED, &err);
}

/* ---- applying ---- */

static bool is_local(const char *label)
{
    static const char *const HERE[] = {
        "unix:",        "http://127.",  "https://127.", "http://localhost", "https://localhost",
        "http://[::1]", "https://[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(HERE); i++) {
        if (str_starts(label, HERE[i]))
            return true;
    }
    return false;
}

/* Only what is made: what is there has its folder. */
static void fill_workdir(void *arg, yyjson_mut_doc *doc)
{
    const struct run *run = arg;
    scoped_free char *dir = get_current_dir_name();
    if (dir != NULL && is_local(run->cli->remote.label)) /* another machine has no such folder */
        workdir_fill(doc, dir);
}

static int on_applied(void *arg, const struct applied *applied)
{
    struct run *run = arg;
    bool created = str_eq(applied->verb, "created");
    if (created)
        items_add(&run->made, applied->kind, applied->ns, applied->name);
    if (!run_model_is_group(applied->kind))
        return CLI_OK;
    run_model_add(&run->model, applied->kind, applied->object, created);
    if (!created)
        run_show_note(&run->show, "%s/%s was there already and stays when this ends",
                      applied->kind->singular, applied->name);
    return CLI_OK;
}

static int apply_files(struct run *run, const struct manifests *manifests)
{
    struct applying applying = {.cli = run->cli,
                                .dry_run = "none",
                                .is_strict = true,
                                .renew = true,
                                .is_new = run_gang_is_asked(run->cli),
                                .before_create = fill_workdir,
                                .on_applied = on_applied,
                                .arg = run};
    return applying_send(&applying, manifests);
}

/* ---- following ---- */

static bool is_watched(const struct run *run, size_t upto, const struct kind *kind, const char *ns)
{
    for (size_t i = 0; i < upto; i++) {
        const struct run_group *group = run->model.groups.items[i];
        if (str_eq(group->ns, ns) && (kind == &KIND_POD || group->kind == kind))
            return true;
    }
    return false;
}

static int start_following(struct run *run)
{
    struct err err = {0};
    run->model.lives.on_life = on_life;
    run->model.lives.arg = run;
    if (run_feed_new(run->cli, &run->feed, &err) < 0)
        return cli_error(run->cli, CLI_FAILED, &err);
    run->feed_io = loop_io_add(run->loop, run_feed_fd(run->feed), EPOLLIN, on_posts, run);
    for (size_t i = 0; i < run->model.groups.len; i++) {
        const struct run_group *group = run->model.groups.items[i];
        if (!is_watched(run, i, &KIND_POD, group->ns))
            run_feed_watch(run->feed, &KIND_POD, group->ns);
        if (group->kind != &KIND_POD && !is_watched(run, i, group->kind, group->ns))
            run_feed_watch(run->feed, group->kind, group->ns);
    }
    run_touch(run);
    return CLI_OK;
}

static enum run_result result_of(const struct run *run)
{
    struct run_verdict verdict;
    run_model_judge(&run->model, &verdict);
    if (run->signals > 0)
        return RUN_RESULT_INTERRUPTED;
    if (verdict.failed > 0)
        return RUN_RESULT_FAILED;
    if (run_verdict_is_success(&verdict))
        return RUN_RESULT_SUCCEEDED;
    if (run->until_ready && verdict.ready == verdict.groups)
        return RUN_RESULT_READY;
    if (run->is_late)
        return RUN_RESULT_TIMEOUT;
    return run->is_lost || run->has_server_ended ? RUN_RESULT_LOST : RUN_RESULT_NONE;
}

static enum run_result follow(struct run *run)
{
    enum run_result result = result_of(run);
    while (result == RUN_RESULT_NONE) {
        run_turn(run);
        result = result_of(run);
    }
    return result;
}

/* ---- the verb ---- */

/* Whatever was made before something went wrong is taken away again. */
static int give_up(struct run *run, int exit_code)
{
    enum run_result result = run->signals > 0 ? RUN_RESULT_INTERRUPTED
                             : run->is_late   ? RUN_RESULT_TIMEOUT
                                              : RUN_RESULT_REFUSED;
    if (run->model.groups.len > 0 && run->feed == NULL)
        (void)start_following(run); /* so that the end of what runs is seen */
    int code = run_end(run, result);
    return result == RUN_RESULT_REFUSED ? exit_code : code;
}

static int run_files(struct run *run, const struct manifests *manifests)
{
    int exit_code = get_server(run);
    if (exit_code == CLI_OK)
        exit_code = refuse_unknown_queue(run);
    if (exit_code == CLI_OK && (!run->is_private || str_eq(manifests->configured, "-")))
        manifests_pass_over(run->cli, manifests);
    if (exit_code == CLI_OK && !is_given_up(run))
        exit_code = apply_files(run, manifests);
    if (exit_code == CLI_OK && !is_given_up(run) && run->model.groups.len == 0)
        run_show_note(&run->show, "nothing in these files runs");
    if (exit_code == CLI_OK && !is_given_up(run))
        exit_code = start_following(run);
    if (exit_code != CLI_OK || is_given_up(run))
        return give_up(run, exit_code);
    enum run_result result = follow(run);
    if (result == RUN_RESULT_LOST && run->has_server_ended)
        (void)fail_server(run);
    return run_end(run, result);
}

static int prepare(struct run *run, struct err *err)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    time_ms timeout = 0;
    if (cli_duration(run->cli, "timeout", &timeout) != CLI_OK)
        return CLI_USAGE;
    int r = loop_new(&run->loop, err);
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS) && r == 0; i++)
        r = loop_signal(run->loop, SIGNALS[i], on_signal, run, err);
    if (r < 0)
        return cli_error(run->cli, CLI_FAILED, err);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that goes is noticed when writing */
    loop_timer_init(&run->draw_timer, on_draw, run);
    loop_timer_init(&run->late_timer, on_late, run);
    loop_timer_init(&run->alarm, on_alarm, run);
    run->drawn_at = loop_now(run->loop) - DRAW_PAUSE_MS;
    run_model_init(&run->model, loop_now(run->loop));
    if (timeout > 0)
        loop_timer_set(run->loop, &run->late_timer, loop_now(run->loop) + timeout);
    return CLI_OK;
}

static void run_done(struct run *run)
{
    loop_io_del(run->feed_io);
    run_feed_free(run->feed);
    loop_io_del(run->out_io);
    loop_io_del(run->pid_io);
    if (run->is_private)
        run_server_done(&run->server);
    loop_timer_clear(run->loop, &run->draw_timer);
    loop_timer_clear(run->loop, &run->late_timer);
    loop_timer_clear(run->loop, &run->alarm);
    loop_free(run->loop);
    run_show_done(&run->show);
    run_model_done(&run->model);
    items_done(&run->made);
}

/* What a file says for itself. */
static int refuse_gang_options(struct cli *cli)
{
    static const char *const ONLY[] = {"max-restarts", "cpu", "memory", "queue", "env", "name"};
    for (size_t i = 0; i < ARRAY_LEN(ONLY); i++) {
        if (opt_is_given(&cli->opts, ONLY[i]))
            return cli_usage(cli,
                             "--%s is for a command: muster run -n 8 --%s … -- COMMAND; a file "
                             "says it in its manifests",
                             ONLY[i], ONLY[i]);
    }
    return CLI_OK;
}

static int read_manifests(struct cli *cli, int argc, char **argv, struct manifests *manifests)
{
    bool is_yaml = str_eq(opt_get(&cli->opts, "output"), "yaml");
    bool is_dry = opt_flag(&cli->opts, "dry-run"), is_gang = run_gang_is_asked(cli);
    if (is_dry && !is_gang)
        return cli_usage(cli, "--dry-run is for a command: muster run -n 8 --dry-run -- COMMAND; "
                              "for files there is: muster validate FILE");
    if (is_yaml && !is_dry)
        return cli_usage(cli, "-o yaml goes with --dry-run");
    if (is_gang)
        return run_gang_make(cli, argc, argv, manifests);
    if (argc == 0)
        return cli_usage(cli,
                         "what shall run? Write: muster run FILE, or muster run -n 8 -- COMMAND");
    if (refuse_gang_options(cli) != CLI_OK)
        return CLI_USAGE;
    return manifests_read(cli, (const char *const *)argv, (size_t)argc, manifests);
}

int verb_run(struct cli *cli, int argc, char **argv)
{
    struct err err = {0};
    struct manifests manifests = {0};
    struct run run = {.cli = cli,
                      .manifests = &manifests,
                      .with_logs = opt_flag(&cli->opts, "logs"),
                      .until_ready = str_eq(opt_get(&cli->opts, "until"), "ready")};
    bool json = str_eq(opt_get(&cli->opts, "output"), "json");
    int exit_code = read_manifests(cli, argc, argv, &manifests);
    if (exit_code == CLI_OK)
        exit_code = applying_check(cli, &manifests);
    if (exit_code == CLI_OK && opt_flag(&cli->opts, "dry-run")) {
        exit_code = run_gang_print(cli, &manifests);
        manifests_done(&manifests);
        return exit_code;
    }
    if (exit_code == CLI_OK)
        exit_code = prepare(&run, &err);
    if (exit_code == CLI_OK) {
        run_show_init(&run.show, cli, json ? cli->err : cli->out, opt_flag(&cli->opts, "quiet"));
        exit_code = run_files(&run, &manifests);
        run_done(&run);
    }
    manifests_done(&manifests);
    return exit_code;
}
