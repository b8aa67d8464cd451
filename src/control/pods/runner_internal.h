// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "control/pods/runner.h"
#include "control/pods/settings.h"
#include "core/recover/member.h"
#include <bsd/sys/queue.h>

/* Shared by the files of the runner. */
struct unit_found { /* what an earlier supervisor left of one container */
    char *uid, *container;
    uint32_t generation;
    bool has_ended;
    int exit_code;
    bool is_oom;
    bool is_ready; /* it has said so since */
    time_ms at;
};

#define KEY_TICK "@tick" /* the engine wants to be called */
#define KEY_MORE "@more" /* the rest of what it asked for */

struct rcontainer {
    yyjson_val *spec; /* in the pod's object */
    bool is_init;
    uint32_t generation;  /* of the unit that was started last; 0: none */
    uint32_t owed_signal; /* the generation that shall hear of changed files; 0: none */
    uint32_t forgotten;   /* the runtime keeps none up to this generation */
    int pid;
    bool is_oom;         /* how that unit ended */
    bool has_ended;      /* and whether */
    char *message;       /* of the last thing that went wrong with it */
    char *status;        /* STATUS= of the notify socket */
    time_ms watchdog_ms; /* 0: none */
    time_ms watchdog_at; /* steady; when it must have been fed */
};

enum rpod_stage {
    RPOD_HELD,     /* something it needs is missing, or it was refused */
    RPOD_LIVE,     /* in the engine */
    RPOD_REMOVING, /* over; the runtime tidies up */
    RPOD_REMOVED,
};

struct rpod {
    struct runner *runner;
    char *key; /* "ns/name" */
    char *uid, *ns, *name;
    struct obj *obj; /* the newest version that was looked at */
    enum rpod_stage stage;
    struct start_pod *engine;
    struct rcontainer *containers;
    size_t n;
    char *held_reason, *held_message; /* while RPOD_HELD */
    bool is_refused;                  /* for good: phase Failed */
    bool is_over;
    bool is_stale;   /* its files may be: a ConfigMap has changed */
    bool is_told;    /* its status was written or seen to be right once */
    bool is_stopped; /* by its deletion, with this grace */
    int64_t stop_grace_s;
    time_ms started_at; /* wall */

    struct hosts *hosts; /* hosts.c: names of its JobSet; or NULL */

    /* gang.c: of a pod whose agent is the node */
    struct gang *gang; /* NULL: it is none */
    struct member member;
    TAILQ_ENTRY(rpod) in_gang, in_announcing;
    bool is_announcing, is_moving;
    char *cause;    /* why it has to announce an epoch, where it is the one that tells; or NULL */
    bool is_untold; /* its status was put off */
};

struct runner {
    struct runner_options options;
    struct controller controller;
    struct control *control; /* NULL while no manager runs */
    struct start *engine;
    struct node_settings settings;
    struct map *pods; /* by key */
    struct map *by_uid;
    struct map *gangs;   /* by the UID of their JobSet */
    struct map *hosts;   /* the same, of those whose names pods are told */
    struct map *leaving; /* UIDs of JobSets whose epoch is to be over before pods end */
    VEC(struct unit_found) found;
    bool has_found_all;
    char registered[32]; /* when this life wrote the Node's status */
    bool has_told_registered;
    bool is_leaving;  /* was told to end; leave.c */
    bool is_shutdown; /* its pods were */
    bool is_cut_off;  /* neither hears nor says anything; its processes go on */
    void (*shutdown_done)(void *arg);
    void *shutdown_arg;
    time_ms wall_offset; /* wall - steady, fixed at the start: status must not follow clock jumps */
    time_ms tick_at;     /* steady; when the engine wants to be called */
    bool was_sampling;
    time_ms portion_at; /* steady: starts and kills of that moment; more wait for the next */
    int portion_cost;
    struct arena arena; /* of the call under way */
    struct {
        uint64_t start_errors, probes, probe_failures;
    } stats;
};

static inline time_ms runner_wall(const struct runner *runner, time_ms steady)
{
    return steady + runner->wall_offset;
}

/* runner.c: all of them, after the grace of each; called again: at once. */
void runner_end_pods(struct runner *runner);

/* podspec.c: from the object to what the engine wants; lives in the arena. */
void podspec_read(struct arena *arena, const struct obj *pod, bool all_notify,
                  struct start_pod_spec *ret_spec);
/* Annotations muster.dev/notify and muster.dev/watchdog. */
void podspec_notify(const struct obj *pod, const char *container, bool *ret_wants,
                    time_ms *ret_watchdog_ms);
yyjson_val *podspec_container(const struct obj *pod, size_t i, bool *ret_is_init);
size_t podspec_count(const struct obj *pod);

/* podstatus.c: the status as JSON, merged with what others wrote into it. */
void podstatus_make(const struct rpod *pod, const struct obj *current, yyjson_mut_doc *doc,
                    yyjson_mut_val *patch);

/* podadopt.c */
void podadopt_add(struct runner *runner, const struct runtime_event *event);
void podadopt_all(struct runner *runner);
/* Puts the pod into the engine as it was, or as new when nothing is known of it. */
void podadopt_pod(struct runner *runner, struct rpod *pod, const struct start_pod_spec *spec);
/* Was it begun in an earlier life? */
bool podadopt_is_begun(const struct runner *runner, const struct rpod *pod);
/* A unit of a pod that is not in the engine yet has said that it is ready; has ended. */
void podadopt_ready(struct runner *runner, const struct runtime_unit *unit);
void podadopt_ended(struct runner *runner, const struct runtime_event *event);
void podadopt_tidy(struct runner *runner, const char *uid); /* nothing of it is wanted any more */
void podadopt_strays(struct runner *runner);                /* the same, of all that nobody knows */
void podadopt_done(struct runner *runner);

/* act.c: does what the engine asks for. */
void act_pump(struct runner *runner);
void act_watchdog(struct runner *runner, const char *key);
void act_on_event(void *arg, const struct runtime_event *event);
/* The pod as its slice sees it. */
struct runtime_pod rpod_slice(const struct rpod *pod);

/* renew.c: files of a running pod follow its annotations, labels and ConfigMaps. `before`: the
 * version that was looked at last; NULL: look anyway. */
#define CUT_OFF_NOTE "muster.dev/cut-off" /* on a Node: rehearse that it is unreachable */
void renew_files(struct runner *runner, struct rpod *pod, const struct obj *before);
bool renew_has_files(const struct obj *pod); /* has it any that may change? */
bool renew_is_cut_off(const struct obj *node);
void renew_contact(struct runner *runner);

/* register.c: the Node object and its Lease. */
void register_node(struct runner *runner);
void register_lease(struct runner *runner);
