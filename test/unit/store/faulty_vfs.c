// SPDX-License-Identifier: Apache-2.0
#include "faulty_vfs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include <assert.h>
#include <sqlite3.h>
#include <string.h>

/* How it differs from a real file system, always to the worse:
 *   - a write that fails has done its first half;
 *   - a sync that fails loses what it should have written, though readers go on seeing it, and a
 *     later sync that succeeds does not bring it back (as Linux does);
 *   - what is not synced may arrive in part, in any order, by sectors of 512 bytes.
 * A removed file comes back after a power cut unless the folder was synced since; SQLite syncs the
 * folder with the first sync of a new log or journal. */

#define SECTOR 512
#define FILES_MAX 6
#define REGIONS_MAX 8

struct bytes {
    char *data;
    size_t len;
};

struct pending {
    bool truncate; /* to `offset` */
    size_t offset;
    size_t len;
    char *data;
};

struct file {
    char *name;
    bool exists;
    bool safe; /* its entry in the folder is on the disk */
    bool is_main;
    struct bytes seen;
    struct bytes durable;
    VEC(struct pending) pending;
};

struct handle {
    sqlite3_file base;
    struct file *file;
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    struct file files[FILES_MAX];
    char *regions[REGIONS_MAX];
    struct fault fault;
    uint64_t count;
    _Atomic bool dark; /* killed while the writer's thread may still be tidying up */
} fs;

/* ---- bytes ---- */

static void bytes_resize(struct bytes *bytes, size_t len)
{
    bytes->data = mem_realloc(bytes->data, len);
    if (len > bytes->len)
        memset(bytes->data + bytes->len, 0, len - bytes->len);
    bytes->len = len;
}

static void bytes_put(struct bytes *bytes, size_t offset, const char *data, size_t len)
{
    if (offset + len > bytes->len)
        bytes_resize(bytes, offset + len);
    memcpy(bytes->data + offset, data, len);
}

static void bytes_done(struct bytes *bytes)
{
    mem_free(bytes->data);
    *bytes = (struct bytes){0};
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    bytes_done(to);
    if (from->len > 0)
        bytes_put(to, 0, from->data, from->len);
}

/* ---- what is on its way ---- */

static void apply(struct bytes *to, const struct pending *pending)
{
    if (pending->truncate)
        bytes_resize(to, pending->offset);
    else
        bytes_put(to, pending->offset, pending->data, pending->len);
}

static void apply_some(struct bytes *to, const struct pending *pending, struct rng *rng,
                       uint32_t eighths)
{
    if (pending->truncate) {
        if (rng_chance(rng, eighths, 8))
            apply(to, pending);
        return;
    }
    size_t done = 0;
    while (done < pending->len) {
        size_t part = SECTOR - (pending->offset + done) % SECTOR;
        if (part > pending->len - done)
            part = pending->len - done;
        if (rng_chance(rng, eighths, 8))
            bytes_put(to, pending->offset + done, pending->data + done, part);
        done += part;
    }
}

static void drop_pending(struct file *file)
{
    for (size_t i = 0; i < file->pending.len; i++)
        mem_free(file->pending.items[i].data);
    vec_clear(&file->pending);
}

static void make_durable(struct file *file)
{
    for (size_t i = 0; i < file->pending.len; i++)
        apply(&file->durable, &file->pending.items[i]);
    drop_pending(file);
}

static void sync_folder(void)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct file *file = &fs.files[i];
        file->safe = file->exists;
        if (!file->exists) {
            bytes_done(&file->durable);
            drop_pending(file);
        }
    }
}

/* ---- files ---- */

static struct file *find(const char *name, bool make)
{
    struct file *unused = NULL;
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (str_eq(fs.files[i].name, name))
            return &fs.files[i];
        if (!fs.files[i].name && !unused)
            unused = &fs.files[i];
    }
    if (make) {
        assert(unused);
        unused->name = mem_strdup(name);
    }
    return make ? unused : NULL;
}

static bool strikes(unsigned op)
{
    if (fs.dark)
        return true;
    if (!(fs.fault.ops & op))
        return false;
    fs.count++;
    if (fs.fault.at == 0 || fs.count < fs.fault.at)
        return false;
    if (fs.fault.span == FAULT_CUT)
        fs.dark = true;
    return fs.fault.span != FAULT_ONCE || fs.count == fs.fault.at;
}

static int code_of_fault(int otherwise)
{
    return fs.fault.code ? fs.fault.code : otherwise;
}

static struct file *file_of(sqlite3_file *handle)
{
    return ((struct handle *)handle)->file;
}

static int io_close(sqlite3_file *handle)
{
    (void)handle;
    return SQLITE_OK;
}

static int io_read(sqlite3_file *handle, void *to, int amount, sqlite3_int64 offset)
{
    struct file *file = file_of(handle);
    if (strikes(OP_READ))
        return code_of_fault(SQLITE_IOERR_READ);
    size_t from = (size_t)offset, want = (size_t)amount;
    size_t have = from < file->seen.len ? file->seen.len - from : 0;
    size_t n = have < want ? have : want;
    if (n > 0)
        memcpy(to, file->seen.data + from, n);
    memset((char *)to + n, 0, want - n);
    return n == want ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static void put(struct file *file, struct pending pending)
{
    apply(&file->seen, &pending);
    vec_push(&file->pending, pending);
}

static int io_write(sqlite3_file *handle, const void *data, int amount, sqlite3_int64 offset)
{
    bool was_dark = fs.dark;
    bool struck = strikes(OP_WRITE);
    size_t len = struck ? (size_t)amount / 2 : (size_t)amount;
    if (!was_dark)
        put(file_of(handle),
            (struct pending){.offset = (size_t)offset, .len = len, .data = mem_dup(data, len)});
    return struck ? code_of_fault(SQLITE_IOERR_WRITE) : SQLITE_OK;
}

static int io_truncate(sqlite3_file *handle, sqlite3_int64 size)
{
    if (strikes(OP_TRUNCATE))
        return code_of_fault(SQLITE_IOERR_TRUNCATE);
    put(file_of(handle), (struct pending){.truncate = true, .offset = (size_t)size});
    return SQLITE_OK;
}

static int io_sync(sqlite3_file *handle, int flags)
{
    struct file *file = file_of(handle);
    (void)flags;
    if (strikes(OP_SYNC)) {
        if (!fs.dark)
            drop_pending(file);
        return code_of_fault(SQLITE_IOERR_FSYNC);
    }
    make_durable(file);
    if (!file->safe && !file->is_main)
        sync_folder();
    file->safe = true;
    return SQLITE_OK;
}

static int io_size(sqlite3_file *handle, sqlite3_int64 *ret_size)
{
    *ret_size = (sqlite3_int64)file_of(handle)->seen.len;
    return SQLITE_OK;
}

static int io_lock(sqlite3_file *handle, int level)
{
    (void)handle;
    (void)level;
    return SQLITE_OK;
}

static int io_reserved(sqlite3_file *handle, int *ret_locked)
{
    (void)handle;
    *ret_locked = 0;
    return SQLITE_OK;
}

static int io_control(sqlite3_file *handle, int op, void *arg)
{
    (void)handle;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int io_sector(sqlite3_file *handle)
{
    (void)handle;
    return SECTOR;
}

/* What SQLite assumes of every disk under Linux: a write does not harm the bytes beside it. */
static int io_traits(sqlite3_file *handle)
{
    (void)handle;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- shared memory: one connection, no locks needed ---- */

static int shm_map(sqlite3_file *handle, int region, int size, int extend, void volatile **ret)
{
    (void)handle;
    assert(region < REGIONS_MAX);
    if (!fs.regions[region] && extend)
        fs.regions[region] = mem_zalloc((size_t)size);
    *ret = fs.regions[region];
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *handle, int offset, int n, int flags)
{
    (void)handle;
    (void)offset;
    (void)n;
    (void)flags;
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *handle)
{
    (void)handle;
    __sync_synchronize();
}

static int shm_unmap(sqlite3_file *handle, int remove)
{
    (void)handle;
    (void)remove;
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        mem_free(fs.regions[i]);
        fs.regions[i] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods METHODS = {
    .iVersion = 2,
    .xClose = io_close,
    .xRead = io_read,
    .xWrite = io_write,
    .xTruncate = io_truncate,
    .xSync = io_sync,
    .xFileSize = io_size,
    .xLock = io_lock,
    .xUnlock = io_lock,
    .xCheckReservedLock = io_reserved,
    .xFileControl = io_control,
    .xSectorSize = io_sector,
    .xDeviceCharacteristics = io_traits,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* ---- the folder ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *handle, int flags,
                    int *ret_flags)
{
    (void)vfs;
    struct file *file = find(name, true);
    handle->pMethods = NULL;
    if (fs.dark || (!file->exists && !(flags & SQLITE_OPEN_CREATE)))
        return SQLITE_CANTOPEN;
    file->exists = true;
    file->is_main = flags & SQLITE_OPEN_MAIN_DB;
    ((struct handle *)handle)->file = file;
    handle->pMethods = &METHODS;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    struct file *file = find(name, false);
    if (fs.dark)
        return SQLITE_IOERR_DELETE;
    if (!file || !file->exists)
        return SQLITE_IOERR_DELETE_NOENT;
    put(file, (struct pending){.truncate = true});
    file->exists = false;
    if (sync)
        sync_folder();
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_yes)
{
    (void)vfs;
    (void)flags;
    struct file *file = find(name, false);
    *ret_yes = file && file->exists;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    (void)sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    return fs.real->xRandomness(fs.real, size, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int micros)
{
    (void)vfs;
    return micros;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret_days)
{
    (void)vfs;
    return fs.real->xCurrentTime(fs.real, ret_days);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    (void)size;
    (void)out;
    return 0;
}

void faulty_vfs_register(void)
{
    if (fs.real)
        return;
    fs.real = sqlite3_vfs_find(NULL);
    fs.vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 512,
        .zName = FAULTY_VFS,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_last_error,
    };
    int rc = sqlite3_vfs_register(&fs.vfs, 0);
    assert(rc == SQLITE_OK);
}

/* ---- the experimenter's side ---- */

void faulty_vfs_arm(struct fault fault)
{
    fs.fault = fault;
    fs.count = 0;
}

uint64_t faulty_vfs_count(void)
{
    return fs.count;
}

void faulty_vfs_reset(void)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct file *file = &fs.files[i];
        drop_pending(file);
        vec_done(&file->pending);
        bytes_done(&file->seen);
        bytes_done(&file->durable);
        mem_free(file->name);
        *file = (struct file){0};
    }
    faulty_vfs_restart();
}

void faulty_vfs_kill(void)
{
    fs.dark = true;
}

void faulty_vfs_restart(void)
{
    fs.dark = false;
    faulty_vfs_arm((struct fault){0});
}

void faulty_vfs_power_on(struct rng *rng)
{
    uint32_t eighths = rng ? (uint32_t)rng_between(rng, 1, 7) : 0;
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct file *file = &fs.files[i];
        for (size_t k = 0; rng && k < file->pending.len; k++)
            apply_some(&file->durable, &file->pending.items[k], rng, eighths);
        drop_pending(file);
        file->exists = file->safe || (rng && file->exists && rng_chance(rng, eighths, 8));
        file->safe = file->exists;
        if (!file->exists)
            bytes_done(&file->durable);
        bytes_copy(&file->seen, &file->durable);
    }
    faulty_vfs_restart();
}
