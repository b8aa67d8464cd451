// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "base/vec.h"
#include "node/cgroup.h"
#include <limits.h>

/* What the files of the module share. A hierarchy is one mounted tree of groups; `controllers` are
 * bits of what we set or read in it. */
enum cgroup_controller {
    CTL_CPU = 1 << 0,
    CTL_MEMORY = 1 << 1,
    CTL_PIDS = 1 << 2,
    CTL_CPUACCT = 1 << 3,
    CTL_FREEZER = 1 << 4,
};
#define CTL_COUNT 5
#define CTL_LIMITS (CTL_CPU | CTL_MEMORY | CTL_PIDS)
#define CGROUP_PLACES_MAX (CTL_COUNT + 1) /* each alone, and v2 */
extern const char *const CTL_NAMES[CTL_COUNT];

/* A hierarchy and where we are in it: mount is a directory, own a path below it ("" at its top). */
struct cgroup_place {
    char *mount;
    char *mount_root; /* which path of the hierarchy is mounted there */
    char *own;
    unsigned controllers;
    bool is_v2;
    bool is_aside; /* we are in a group that a node has made for its supervisor */
};
struct cgroup_places {
    struct cgroup_place items[CGROUP_PLACES_MAX];
    size_t len;
};
/* From the texts of mountinfo and cgroup of /proc/self; only mounts at or below `root` count. v2
 * comes first. A group that a supervisor made for itself is not our place, but the one that it made
 * its tree in. */
void cgroup_places_parse(const char *mountinfo, const char *self, const char *root,
                         struct cgroup_places *ret_places);
void cgroup_place_done(struct cgroup_place *place);
void cgroup_places_done(struct cgroup_places *places);

/* Where a process is, as a path below the mount; from the text of its cgroup file. The caller
 * frees; NULL: not in this hierarchy, or not below the mount. */
char *cgroup_place_of(const char *text, const struct cgroup_place *place);

struct cgroup_hierarchy {
    struct cgroup_place place;
    char *own; /* directory that muster.slice is made in */
    char *dir; /* own/muster.slice/NODE */
    /* Other directories of this node, where leaves of a former self were found: it may have been
     * started in another group than we. Nothing new is made in them. */
    VEC(char *) former;
    unsigned controllers;
    bool is_v2;
    bool is_aside;  /* v2: we left own, so that it can hand controllers down */
    bool is_always; /* each pod has a group here, wanted limits or not */
    bool is_used;   /* there may be groups of pods; while not, nobody has to look */
};
struct cgroup_tree {
    struct cgroup_hierarchy items[CGROUP_PLACES_MAX];
    size_t len; /* items[0] is the base: every leaf is in it, its files tell who is inside */
    struct cgroup_can can;
};
/* As cgroup_tree_open, with another /proc. */
struct cgroup_tree *cgroup_tree_open_in(const char *proc, const char *root, const char *name,
                                        struct str *why);

/* Small files. Write returns 0 or a negative errno; read leaves the text empty on failure. */
int cgroup_file_write(const char *dir, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void cgroup_file_read(const char *dir, const char *file, struct str *ret_text);
bool cgroup_file_is_there(const char *dir, const char *file);
int64_t cgroup_file_number(const char *dir, const char *file);                  /* -1: none */
int64_t cgroup_file_field(const char *dir, const char *file, const char *name); /* -1: none */

/* Text that is a single path component and back. */
void cgroup_name_escape(const char *name, struct str *ret_text);
void cgroup_name_plain(struct sv text, struct str *ret_name);
/* The directory of a leaf, of a pod (leaf NULL), of an own group (pod NULL): where it is made. */
void cgroup_path(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                 struct str *ret_path);
/* The directory where it is, or would be made; false: it is not there. */
bool cgroup_seek(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                 struct str *ret_path);
/* The same for who finds out by himself that it is not there: where there is one place only, it is
 * taken for that. */
bool cgroup_guess(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                  struct str *ret_path);
/* h->dir, then the former ones, then NULL. */
const char *cgroup_home(const struct cgroup_hierarchy *h, size_t index);
void cgroup_path_in(const char *home, const char *pod, const char *leaf, struct str *ret_path);
int cgroup_dir_make(const char *path); /* with what is missing of muster.slice/NODE/pod above it */
bool cgroup_dir_remove(const char *path); /* with groups inside that are empty; gone? */
void cgroup_dir_each(const char *path, void (*each)(void *arg, const char *name), void *arg);

typedef int cgroup_pid;
struct cgroup_pids {
    VEC(cgroup_pid) list;
};
void cgroup_pids_of(const char *dir, struct cgroup_pids *pids); /* of groups below it as well */

/* Sets those limits that are given and that the hierarchy has a controller for. */
int cgroup_apply(const struct cgroup_hierarchy *h, const char *dir,
                 const struct cgroup_limits *limits, struct err *err);
int cgroup_v1_cpu(const char *dir, const struct cgroup_limits *limits, struct err *err);
int cgroup_v1_memory(const char *dir, int64_t bytes, struct err *err);
int cgroup_v2_cpu(const char *dir, const struct cgroup_limits *limits, struct err *err);
int cgroup_v2_memory(const char *dir, int64_t bytes, struct err *err);
int cgroup_fail(struct err *err, int r, const char *what, const char *dir); /* to set it; r */
/* Hands controllers down from own to the pods of h; returns those that are there, and adds to
 * `why` what keeps others back. */
unsigned cgroup_v2_enable(struct cgroup_hierarchy *h, struct str *why);
void cgroup_v2_hand_down(const char *dir, unsigned controllers); /* to the groups in dir */
