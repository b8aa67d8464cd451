// SPDX-License-Identifier: Apache-2.0
/* 1. The status that is joined with was read after this agent began, and by then no worker is here.
 * 2. A worker is reaped, with all it started, before the member hears of its end.
 * 3. Once told to end, nothing is announced any more: whoever ends us speaks for this pod. */
#include "agent/agent.h"
#include "agent/say.h"
#include "os/clock.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ENDED_BY(signo) (128 + (signo))
#define START_AGAIN_MS 200
#define SWEEP_MS 50

static void act(struct agent *agent, enum member_act act);

static void leave(struct agent *agent, int exit_code)
{
    agent->is_over = true;
    agent->exit_code = exit_code;
}

/* ---- the worker ---- */

static void start_worker(struct agent *agent)
{
    if (agent->config->is_sidecar) {
        agent->barrier.is_lifted = true;
        return;
    }
    int64_t epoch = agent->member.epoch > 0 ? agent->member.epoch : 1;
    int r = worker_start(&agent->worker, agent->config->command, epoch);
    agent->start_at = TIME_NEVER;
    if (r >= 0)
        return;
    struct err err = {0};
    (void)err_set(&err, r, "cannot start the worker: %s", strerror(-r));
    (void)err_hint(&err, "it is tried again: is there a limit on processes or memory?");
    say_problem(&err);
    agent->start_at = agent->now + START_AGAIN_MS;
}

static void end_worker(struct agent *agent, int signo, int grace_s)
{
    if (!worker_is_there(&agent->worker))
        return;
    agent->kill_at = agent->now + (time_ms)grace_s * 1000;
    worker_signal(&agent->worker, signo);
}

static void kill_worker(struct agent *agent)
{
    agent->kill_at = TIME_NEVER;
    worker_kill(&agent->worker);
}

/* A start that is still to be tried is called off. */
static bool drop_start(struct agent *agent)
{
    bool was_due = agent->start_at != TIME_NEVER;
    agent->start_at = TIME_NEVER;
    return was_due;
}

static void worker_ended(struct agent *agent)
{
    int code = agent->worker.code;
    agent->kill_at = agent->sweep_at = TIME_NEVER;
    if (agent->told_to_end != 0) {
        leave(agent, code == 0 ? 0 : ENDED_BY(agent->told_to_end));
        return;
    }
    if (agent->member.state == MEMBER_OVER) {
        leave(agent, ENDED_BY(SIGTERM));
        return;
    }
    bool was_running = agent->member.state == MEMBER_RUN;
    if (agent->is_bypassed ||
        (was_running && (code == 0 || config_terminates_on(agent->config, code)))) {
        if (code != 0)
            say("the worker ended with %d", code);
        leave(agent, code);
        return;
    }
    int64_t epoch = agent->member.epoch;
    enum member_act next = member_ended(&agent->member, false);
    if (was_running)
        say("epoch %lld: the worker ended with %d, all members restart at epoch %lld",
            (long long)epoch, code, (long long)agent->member.epoch);
    act(agent, next);
}

static void reap(struct agent *agent)
{
    if (worker_reap(&agent->worker))
        worker_ended(agent);
    else if (worker_is_there(&agent->worker) && agent->worker.has_exited)
        agent->sweep_at = agent->now + SWEEP_MS;
}

/* ---- the member ---- */

static void stop_worker(struct agent *agent)
{
    if (agent->config->is_sidecar) {
        leave(agent, agent->config->exit_code);
        return;
    }
    if (drop_start(agent)) {
        act(agent, member_ended(&agent->member, false));
        return;
    }
    if (agent->config->restart_grace_s > 0)
        end_worker(agent, SIGTERM, agent->config->restart_grace_s);
    else
        kill_worker(agent);
}

static void act(struct agent *agent, enum member_act what)
{
    switch (what) {
    case MEMBER_WRITE:
        pod_want(&agent->pod, agent->member.epoch);
        break;
    case MEMBER_START:
        say("epoch %lld: all members are here, the worker starts", (long long)agent->member.epoch);
        start_worker(agent);
        break;
    case MEMBER_END:
        stop_worker(agent);
        break;
    case MEMBER_NOTHING:
    case MEMBER_ACT_COUNT:
        break;
    }
    /* As a sidecar it stays: its pod is taken down by whoever gave the verdict. */
    if (agent->member.state == MEMBER_OVER && !agent->config->is_sidecar &&
        !worker_is_there(&agent->worker)) {
        say("the JobSet has ended");
        leave(agent, ENDED_BY(SIGTERM));
    }
}

static void join(struct agent *agent)
{
    if (agent->member.state != MEMBER_DOWN || !agent->has_status || !agent->pod.is_told ||
        agent->is_bypassed)
        return;
    enum member_act next = member_join(&agent->member, agent->pod.epoch, &agent->status);
    if (agent->member.state != MEMBER_OVER)
        say("epoch %lld: waits for the other members", (long long)agent->member.epoch);
    act(agent, next);
}

static void on_known(void *arg)
{
    join(arg);
}

static void on_written(void *arg, int64_t epoch)
{
    struct agent *agent = arg;
    if (agent->told_to_end == 0)
        act(agent, member_written(&agent->member, epoch));
}

static void on_replaced(void *arg)
{
    struct agent *agent = arg;
    struct err err = {0};
    (void)err_set(&err, -ESTALE, "pod %s/%s is another one now: this agent has no pod any more",
                  agent->config->ns, agent->config->pod);
    say_problem(&err);
    worker_kill(&agent->worker);
    leave(agent, ENDED_BY(SIGTERM));
}

static bool is_bypass(const struct reading *jobset)
{
    return jobset->is_disabled || strcmp(jobset->strategy, "InPlaceRestart") != 0;
}

static void bypass(struct agent *agent)
{
    bool is_running = agent->member.state == MEMBER_RUN || agent->member.state == MEMBER_ENDING;
    if (agent->is_bypassed || is_running)
        return;
    say("this JobSet does not restart in place: the worker starts");
    agent->is_bypassed = true;
    pod_want(&agent->pod, 0);
    start_worker(agent);
}

/* A sidecar does not go on to the next epoch by itself: its whole pod does. */
static bool sidecar_restarts(struct agent *agent)
{
    bool is_member = agent->member.state != MEMBER_DOWN && agent->member.state != MEMBER_OVER;
    if (!agent->config->is_sidecar || !is_member || agent->status.has_verdict ||
        agent->status.deprecated < agent->member.epoch)
        return false;
    say("epoch %lld is over: asks for the restart of the pod with exit code %d",
        (long long)agent->member.epoch, agent->config->exit_code);
    leave(agent, agent->config->exit_code);
    return true;
}

static void on_jobset(void *arg, const struct reading *jobset)
{
    struct agent *agent = arg;
    if (agent->told_to_end != 0 || agent->is_over)
        return;
    if (agent->jobset_uid[0] == '\0')
        memcpy(agent->jobset_uid, jobset->uid, sizeof(agent->jobset_uid));
    else if (strcmp(agent->jobset_uid, jobset->uid) != 0)
        return;
    agent->status = jobset->status;
    agent->has_status = true;
    if (is_bypass(jobset)) {
        bypass(agent);
        return;
    }
    if (agent->is_bypassed || sidecar_restarts(agent))
        return;
    if (agent->member.state == MEMBER_DOWN)
        join(agent);
    else
        act(agent, member_see(&agent->member, &jobset->status));
}

/* ---- signals ---- */

static void told_to_end(struct agent *agent, int signo)
{
    agent->told_to_end = signo;
    (void)drop_start(agent);
    if (!worker_is_there(&agent->worker)) {
        leave(agent, ENDED_BY(signo));
        return;
    }
    end_worker(agent, signo, agent->config->grace_s);
}

static void on_signal(struct agent *agent, int signo)
{
    if (signo == SIGCHLD)
        reap(agent);
    else if (signo == SIGTERM || signo == SIGINT)
        told_to_end(agent, signo);
    else
        worker_signal(&agent->worker, signo);
}

static void read_signals(struct agent *agent)
{
    struct signalfd_siginfo info;
    while (!agent->is_over && read(agent->signal_fd, &info, sizeof(info)) == sizeof(info))
        on_signal(agent, (int)info.ssi_signo);
}

static int open_signals(struct agent *agent, struct err *err)
{
    static const int SIGNALS[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++)
        sigaddset(&set, SIGNALS[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return agent->signal_fd < 0 ? err_set(err, -errno, "no signals: %s", strerror(errno)) : 0;
}

/* ---- the loop ---- */

static void keep_times(struct agent *agent)
{
    if (agent->now >= agent->kill_at)
        kill_worker(agent);
    if (agent->now >= agent->sweep_at) {
        agent->sweep_at = TIME_NEVER;
        reap(agent);
    }
    if (agent->now >= agent->start_at)
        start_worker(agent);
}

static time_ms sooner(time_ms a, time_ms b)
{
    return a < b ? a : b;
}

static int wait_ms(const struct agent *agent)
{
    time_ms due = sooner(sooner(agent->kill_at, agent->start_at), agent->sweep_at);
    due = sooner(due, watch_due(&agent->watch));
    due = sooner(due, pod_due(&agent->pod));
    if (due == TIME_NEVER)
        return -1;
    time_ms left = due - clock_monotonic();
    return left < 0 ? 0 : left < 3600000 ? (int)left : 3600000;
}

static void add_link(const struct exchange *x, struct pollfd *polls, nfds_t *n)
{
    if (link_is_open(&x->link))
        polls[(*n)++] =
            (struct pollfd){.fd = x->link.fd, .events = x->is_busy ? x->link.wants : POLLIN};
}

static void wait_for_something(struct agent *agent)
{
    struct pollfd polls[4 + BARRIER_CLIENTS];
    nfds_t n = 0;
    polls[n++] = (struct pollfd){.fd = agent->signal_fd, .events = POLLIN};
    nfds_t at_pod = n;
    bool is_idle = link_is_open(&agent->pod.x.link) && !agent->pod.x.is_busy;
    add_link(&agent->pod.x, polls, &n);
    add_link(&agent->watch.x, polls, &n);
    n += barrier_polls(&agent->barrier, polls + n);
    if (poll(polls, n, wait_ms(agent)) <= 0)
        polls[at_pod].revents = 0;
    agent->now = clock_monotonic();
    if (is_idle && polls[at_pod].revents != 0)
        exchange_idle(&agent->pod.x); /* nothing was asked: it was closed */
}

static void turn(struct agent *agent)
{
    wait_for_something(agent);
    read_signals(agent);
    barrier_step(&agent->barrier);
    if (!agent->is_over)
        keep_times(agent);
    if (!agent->is_over)
        watch_step(&agent->watch, agent->now);
    if (!agent->is_over && agent->told_to_end == 0 && !agent->is_bypassed)
        pod_step(&agent->pod, agent->now);
}

static void begin(struct agent *agent, const struct config *config)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), 0) < 0)
        seed = (uint64_t)getpid() * 2654435761u + (uint64_t)clock_monotonic();
    agent->config = config;
    agent->kill_at = agent->start_at = agent->sweep_at = TIME_NEVER;
    agent->barrier.fd = -1;
    rng_seed(&agent->rng, seed);
    struct watch_options watch = {.where = &config->where,
                                  .ns = config->ns,
                                  .jobset = config->jobset,
                                  .rng = &agent->rng,
                                  .on_jobset = on_jobset,
                                  .arg = agent};
    watch_init(&agent->watch, &watch);
    struct pod_options pod = {.where = &config->where,
                              .ns = config->ns,
                              .name = config->pod,
                              .uid = config->pod_uid,
                              .rng = &agent->rng,
                              .on_known = on_known,
                              .on_written = on_written,
                              .on_replaced = on_replaced,
                              .arg = agent};
    pod_init(&agent->pod, &pod);
}

int agent_run(struct agent *agent, const struct config *config, struct err *err)
{
    begin(agent, config);
    int r = open_signals(agent, err);
    if (r == 0 && config->is_sidecar)
        r = barrier_open(&agent->barrier, config->probe_address, config->probe_port,
                         config->probe_path, err);
    if (r < 0)
        return r;
    worker_adopt_orphans();
    agent->now = clock_monotonic();
    while (!agent->is_over)
        turn(agent);
    worker_kill(&agent->worker);
    return agent->exit_code;
}
