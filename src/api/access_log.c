// SPDX-License-Identifier: Apache-2.0
/* One line a request, written out once a turn of the loop and turned over at 16 MiB: access.log.1
 * is the one before. Queries are logged: they hold selectors, never secrets (tokens come in a
 * header, which is not). */
#include "api/call.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_BYTES_MAX ((size_t)16 << 20)

struct access_log {
    char *path;
    FILE *file;
    size_t bytes;
    struct str line; /* the latest; its memory is used again */
};

static int log_reopen(struct access_log *log, struct err *err)
{
    int fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return err_set(err, -errno, "open access log '%s': %s", log->path, strerror(errno));
    log->file = fdopen(fd, "a");
    log->bytes = (size_t)info.st_size;
    return 0;
}

int access_log_open(const char *path, struct access_log **ret_log, struct err *err)
{
    struct access_log *log = mem_zalloc(sizeof(*log));
    log->path = mem_strdup(path);
    int r = log_reopen(log, err);
    if (r < 0) {
        access_log_close(log);
        return r;
    }
    *ret_log = log;
    return 0;
}

static void log_turn_over(struct access_log *log)
{
    scoped_free char *old = mem_printf("%s.1", log->path);
    (void)fclose(log->file);
    log->file = NULL;
    (void)rename(log->path, old); /* without it the file only grows on */
    (void)log_reopen(log, NULL);  /* without a log the server goes on */
}

void access_log_line(struct access_log *log, time_ms at, const struct http_done *done)
{
    if (log->file == NULL)
        return;
    const struct http_request *req = done->req;
    struct str *line = &log->line;
    str_clear(line);
    rfc3339_format_ms(at, line);
    str_add(line, " method=");
    str_add(line, req->method);
    str_add(line, " path=");
    json_quote(req->path, strlen(req->path), line);
    if (*req->query != '\0') {
        str_add(line, " query=");
        json_quote(req->query, strlen(req->query), line);
    }
    str_add(line, " status=");
    str_addu(line, (uint64_t)done->status);
    str_add(line, " bytes=");
    str_addu(line, done->body_bytes);
    str_add(line, " ms=");
    str_addu(line, done->took_ms > 0 ? (uint64_t)done->took_ms : 0);
    str_add(line, " user=");
    json_quote(done->who, strlen(done->who), line);
    str_add(line, " peer=");
    str_add(line, req->peer.address);
    str_addc(line, '\n');
    (void)fwrite(line->data, 1, line->len, log->file); /* a full disk must not stop the server */
    log->bytes += line->len;
    if (log->bytes > LOG_BYTES_MAX)
        log_turn_over(log);
}

void access_log_flush(struct access_log *log)
{
    if (log->file != NULL)
        (void)fflush(log->file); /* as above */
}

void access_log_close(struct access_log *log)
{
    if (log == NULL)
        return;
    if (log->file != NULL)
        (void)fclose(log->file);
    str_done(&log->line);
    mem_free(log->path);
    mem_free(log);
}
