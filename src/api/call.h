// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/accept.h"
#include "api/api.h"
#include "base/arena.h"
#include "model/status.h"
#include <bsd/sys/queue.h>

/* One request being answered. Made by api_on_request, freed with its answer. Answers that wait for
 * a commit keep the call; when the client leaves meanwhile, `x` becomes NULL. */
enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETE_MANY,
};

struct param {
    const char *name;
    const char *value;
};

struct call {
    struct api *api;
    struct http_exchange *x;
    const struct http_request *req;
    struct arena arena;
    struct identity who;
    const char *parts[10]; /* decoded segments of the path */
    size_t part_count;
    struct param params[32];
    size_t param_count;
    enum verb verb;
    enum shape shape;        /* of the answer */
    const struct kind *kind; /* as it is stored */
    const struct kind *as;   /* the version that was asked for */
    const char *ns;          /* "" for cluster-scoped and for all namespaces */
    const char *name;        /* "" for collections */
    const char *sub;         /* "" for the object itself */
};

struct api_metrics {
    uint64_t requests[6][6]; /* [method][hundreds of the status] */
    uint64_t took_ms_sum;
    uint64_t watch_events;
    uint64_t watches_dropped;
};

struct stream;     /* one watch being served */
struct log_stream; /* one log being served */

struct api {
    struct api_options options;
    struct loop *loop;
    struct store *store;
    LIST_HEAD(, stream) streams;
    LIST_HEAD(, log_stream) log_streams;
    struct api_metrics metrics;
    struct access_log *log;
    struct loop_task log_flush;
    uint64_t streams_begun;
    struct map *openapi; /* group version to struct buf, made on first use */
    bool is_ending;      /* api_end_begins() */
};

/* What this server serves, one after the other, NULL at the end: readings only if somebody
 * measures. */
const struct kind *api_kind(const struct api *api, size_t index);

const char *call_param(const struct call *call, const char *name); /* NULL when absent */
bool call_flag(const struct call *call, const char *name);    /* there, and not "false" or "0" */
bool call_accepts(const struct call *call, const char *what); /* substring of Accept */
bool call_wants_table(const struct call *call);

/* Each of these ends the call. */
void call_reply(struct call *call, int code, const char *content_type, const char *headers,
                struct buf *body);
void call_reply_json(struct call *call, int code, struct str *json); /* takes the text */
void call_refuse(struct call *call, struct status *status);          /* takes the status */
void call_not_found(struct call *call);                              /* no such address */
void call_free(struct call *call);

/* Handlers, by file. */
void discovery_answer(struct call *call); /* /api, /apis and their versions */
void openapi_answer(struct call *call);   /* /openapi/v3... */
void misc_answer(struct call *call);      /* health, version, metrics */
void read_get(struct call *call);
void read_list(struct call *call);
void watch_start(struct call *call);
void podlog_start(struct call *call); /* /log of a pod */
void podlog_end_all(struct api *api);
bool selfreview_answer(struct call *call); /* what one asks about oneself; false: not that */
void change_answer(struct call *call);     /* create, update, patch, delete */
void usage_answer(struct call *call);      /* metrics.k8s.io, if somebody measures */

/* May this identity do this? False: *status says why not. Rights that depend on what a write
 * changes are asked for again by change_admit(). */
bool auth_identify(const struct api *api, const struct http_exchange *x, struct identity *who);
bool auth_allows(const struct call *call, struct status *status);
/* An address that is no resource; `path` begins with a slash. */
bool auth_allows_path(const struct identity *who, const char *path);
/* The same of a request that is only talked about; its kind may be NULL: any. Sets its verb. */
bool auth_would_allow(struct call *asked, const char *verb);
write_admit_fn auth_admit; /* arg: struct identity * */

/* Do the options of a list, a watch or a deletion of many go together? */
bool listoptions_check(const struct call *call, struct status *status);
/* How a write is asked for, into the write. False: *status says what cannot be meant. */
bool writeoptions_dry_run(const struct call *call, struct write *write, struct status *status);
bool writeoptions_validation(const struct call *call, struct write *write, struct status *status);
/* `body`: DeleteOptions, or NULL. */
bool writeoptions_delete(const struct call *call, yyjson_mut_val *body, struct write *write,
                         struct status *status);

/* Selectors of a list or watch. */
struct filter {
    struct label_selector *labels;
    struct field_selector *fields;
};
bool filter_parse(const struct call *call, struct filter *ret_filter, struct status *status);
bool filter_matches(const struct filter *filter, const struct obj *obj);
void filter_done(struct filter *filter);

/* An object in the words of a version of its kind. */
struct buf *version_bytes(const struct kind *as, const struct obj *obj);
void version_add(const struct kind *as, const struct obj *obj, struct str *out);
/* Does the body say that it is what its address takes? It is then made what is stored. */
bool version_take(const struct call *call, yyjson_mut_doc *doc, struct status *status);

/* Only who it is: a PartialObjectMetadata. */
void version_add_meta(const struct obj *obj, struct str *out);

/* Tables (meta.k8s.io/v1): a beginning, rows, an end. `meta_json` is the list's metadata. */
void tables_begin(struct str *out, const struct kind *kind, const char *meta_json);
/* `include`: the includeObject parameter, NULL for "Metadata". */
void tables_row(struct str *out, const struct obj *obj, time_ms now, const char *include);
/* The same for a reader of another version. */
void tables_row_as(struct str *out, const struct kind *as, const struct obj *obj, time_ms now,
                   const char *include);
/* The same for what is not stored, whole. */
void tables_row_view(struct str *out, const struct kind *kind, yyjson_val *view, time_ms now,
                     const char *include);
void tables_end(struct str *out);
/* The Scale of an object, as a table if that is wanted. */
void tables_scale(const struct call *call, const struct obj *obj, struct str *out);

struct access_log;
int access_log_open(const char *path, struct access_log **ret_log, struct err *err);
void access_log_line(struct access_log *log, time_ms at, const struct http_done *done);
void access_log_flush(struct access_log *log);
void access_log_close(struct access_log *log);
