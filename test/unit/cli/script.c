// SPDX-License-Identifier: Apache-2.0
#include "script.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct server {
    const struct scene *scene;
    size_t next;
};

static const struct step *expect(struct server *server, const char *method, const char *target,
                                 struct sv body)
{
    const struct scene *scene = server->scene;
    const struct step *step = &scene->steps[server->next];
    if (server->next == STEPS_MAX || step->method == NULL)
        fail_msg("%s: unexpected %s %s", scene->name, method, target);
    if (!str_eq(step->method, method) || !str_eq(step->target, target))
        fail_msg("%s: step %zu: got %s %s, want %s %s", scene->name, server->next, method, target,
                 step->method, step->target);
    scoped_str copy = {0};
    str_addn(&copy, body.ptr, body.len);
    if (step->body != NULL && strstr(str_text(&copy), step->body) == NULL)
        fail_msg("%s: step %zu: no '%s' in '%s'", scene->name, server->next, step->body,
                 str_text(&copy));
    server->next++;
    return step;
}

static void answer(const struct step *step, struct client_response *res)
{
    res->status = step->result;
    str_add(&res->body, step->answer);
}

static int server_call(void *self, const struct request *req, struct client_response *res,
                       struct err *err)
{
    const struct step *step =
        expect(self, req->method ? req->method : "GET", req->target, req->body);
    if (step->result < 0)
        return err_set(err, step->result, "%s", strerror(-step->result));
    answer(step, res);
    if (str_eq(step->answer, "{\"warn\":1}"))
        str_add(&res->warnings, "first\nsecond\n");
    return 0;
}

static int server_stream(void *self, const struct stream *stream, struct client_response *res,
                         struct err *err)
{
    const struct step *step = expect(self, "WATCH", stream->target, (struct sv){0});
    if (step->result != 200 && step->result > 0) {
        answer(step, res);
        return 0;
    }
    struct sv rest = sv_of(step->answer);
    if (stream->on_text != NULL) { /* in two parts, cut anywhere */
        struct sv head = {rest.ptr, rest.len / 2};
        struct sv tail = {rest.ptr + head.len, rest.len - head.len};
        if (stream->on_text(stream->arg, head) != 0 || stream->on_text(stream->arg, tail) != 0)
            return 1;
        rest.len = 0;
    }
    while (rest.len > 0) {
        int r = stream->on_line(stream->arg, sv_cut(&rest, '\n'));
        if (r != 0)
            return r;
    }
    return step->result < 0 ? err_set(err, step->result, "%s", strerror(-step->result)) : 0;
}

static void server_close(void *self)
{
    (void)self;
}

static void check(const struct scene *scene, const char *what, const char *got, const char *want)
{
    if (want != NULL && !str_eq(got, want))
        fail_msg("%s: %s is\n%s\nand should be\n%s", scene->name, what, got, want);
}

static int play(const struct scene *scene, struct server *server, FILE *streams[3])
{
    char *argv[ARGS_MAX + 1] = {(char *)"muster"};
    int argc = 1;
    for (; argc <= ARGS_MAX && scene->args[argc - 1] != NULL; argc++)
        argv[argc] = (char *)scene->args[argc - 1];
    struct cli cli = {.in = streams[0],
                      .out = streams[1],
                      .err = streams[2],
                      .fixed_now = SCENE_NOW,
                      .terminal = scene->terminal,
                      .remote = {server_call, server_stream, server_close, server, "unix:/x"}};
    int exit_code = cli_main(&cli, argc, argv);
    cli_done(&cli);
    return exit_code;
}

void scene_play(const struct scene *scene)
{
    struct server server = {scene, 0};
    char *texts[2] = {NULL, NULL};
    size_t lens[2];
    const char *in = scene->in ? scene->in : "\n"; /* fmemopen refuses nothing */
    FILE *streams[3] = {fmemopen((char *)in, strlen(in), "r"), open_memstream(&texts[0], &lens[0]),
                        open_memstream(&texts[1], &lens[1])};
    int exit_code = play(scene, &server, streams);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        (void)fclose(streams[i]); /* memory only */
    check(scene, "stdout", texts[0], scene->out);
    check(scene, "stderr", texts[1], scene->err);
    if (exit_code != scene->exit_code)
        fail_msg("%s: exit code %d, want %d; stderr:\n%s", scene->name, exit_code, scene->exit_code,
                 texts[1]);
    if (server.next < STEPS_MAX && scene->steps[server.next].method != NULL)
        fail_msg("%s: %s %s did not come", scene->name, scene->steps[server.next].method,
                 scene->steps[server.next].target);
    free(texts[0]);
    free(texts[1]);
}
