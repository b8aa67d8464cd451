// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

/* The one table of verbs: dispatch, help, completion and manual are made from it. Paragraphs of
 * `help` are separated by a newline, examples are "what\tcommand". */

const struct verb VERBS[] = {
    {"up", "", "start a server on this machine, in the foreground",
     "Starts the store, the controllers and the API. When it is ready it prints one line, 'ready "
     "api=URL kubeconfig=PATH dashboard=none', and tells the service manager if there is one.\n"
     "SIGTERM and SIGINT stop it: what was asked for is finished, watchers are told goodbye. What "
     "was acknowledged survives any end, kill -9 included.",
     "Start a server\tmuster up\n"
     "Start one with its own data and a first job\tmuster up --data ./state -f job.yaml\n"
     "Is this machine able\tmuster up --check\n",
     0, 0, OPTS_UP, 0, WORDS_NOTHING, verb_up},
    {"run", "FILE... | -n N -- COMMAND",
     "run what files describe, or a command N times, and watch it",
     "Applies the files and stays: shows how everything starts, what it prints, and how it ends. "
     "Uses the server of the data directory, or the one of --server or --kubeconfig; when there is "
     "none, it starts one of its own and takes it down at the end. Containers without a workingDir "
     "run in the current folder.\n"
     "On a terminal each Pod and each Job has a line at the bottom that is drawn again as it "
     "changes; elsewhere changes are lines of their own, at most one a second for each. Pods, "
     "Jobs and JobSets that have ended before are run once more.\n"
     "It ends when everything that can end has ended, or when something has failed. StatefulSets "
     "and VPods cannot: they are stopped when all else has succeeded, which on a server that stays "
     "means that those of the files are deleted. A Pod that runs for ever, and files in which "
     "nothing ends, are stopped with ^C: in reverse order of their dependencies, or, with a second "
     "^C, at once. What was there before is not touched by any of that.\n"
     "With -n a command runs as a group of N processes that start together; when one dies, all "
     "restart in place, at most --max-restarts times. Each has RANK, WORLD_SIZE, LOCAL_RANK, "
     "MASTER_ADDR, MASTER_PORT, MUSTER_EPOCH and JOB_COMPLETION_INDEX in its environment, and what "
     "--env gives.\n"
     "Exits with 0 when everything succeeded, 1 when something failed (the last lines of its logs "
     "are shown), 124 when --timeout passed, 130 when interrupted.",
     "An application of many processes\tmuster run examples/oltp.yaml\n"
     "A job in a script, for at most ten minutes\tmuster run --timeout 10m job.yaml\n"
     "Hand it to the server and go on when it is ready\tmuster run --until ready app.yaml\n"
     "Only the verdict\tmuster run --logs=false -o json job.yaml\n"
     "Eight workers that need each other\tmuster run -n 8 -- python3 train.py --epochs 10\n"
     "With a variable for each\tmuster run -n 8 -e OMP_NUM_THREADS=1 -- python3 train.py\n"
     "The same as a manifest\tmuster run -n 8 --dry-run -- python3 train.py > train.yaml\n",
     0, -1, OPTS_RUN, VERB_SERVER, WORDS_FILES, verb_run},
    {"get", "KIND [NAME...] | KIND/NAME...", "show objects",
     "Shows one object, some, or all of a kind. Kinds may be written in the plural, the singular "
     "or by their short names; several are separated by commas; 'all' stands for the kinds people "
     "usually mean.\n"
     "With --watch it goes on and prints each object that changes.",
     "All pods of the namespace\tmuster get pods\n"
     "Pods and jobs of all namespaces\tmuster get pods,jobs -A\n"
     "One pod as it is stored\tmuster get pod/web-0 -o yaml\n"
     "The names and phases of pods\tmuster get pods -o "
     "'jsonpath={range .items[*]}{.metadata.name} {.status.phase}{\"\\n\"}{end}'\n"
     "What happens to the jobs of one team\tmuster get jobs -l team=a -w\n",
     1, -1, OPTS_GET, VERB_SERVER, WORDS_KIND_NAMES, verb_get},
    {"describe", "KIND [NAME...] | KIND/NAME...", "tell all about objects",
     "Prints objects for people: names and labels, what is wanted, what is, and the events about "
     "them.",
     "One pod\tmuster describe pod web-0\n"
     "All jobs of one team\tmuster describe jobs -l team=a\n",
     1, -1, OPTS_DESCRIBE, VERB_SERVER, WORDS_KIND_NAMES, verb_describe},
    {"why", "KIND/NAME | KIND NAME", "tell where in its life an object is, and why",
     "Says in words why a pod is not running or not ready, or why a job or jobset is not done, and "
     "what "
     "would help: what it waits for down to the first cause, which limit of the node holds it "
     "back and who is ahead of it, when it starts again after a failure. The first line is the "
     "short answer, the last one since when it is so and what comes next. Every kind has an "
     "answer: queues, flavors, nodes and pools too.",
     "A pod\tmuster why pod/web-0\n"
     "A gang that waits in a queue\tmuster why workload/job-train\n"
     "A job and its first pods that are not ready\tmuster why job train\n"
     "A node that was drained\tmuster why node/b\n",
     1, 2, OPTS_WHY, VERB_SERVER, WORDS_KIND_NAMES, verb_why},
    {"timeline", "KIND/NAME | KIND NAME", "draw how a pod or a job started",
     "Draws a line for each container: how long it was blocked by others, pending for the node's "
     "throttle, starting, and since when it is ready. The chain of containers that decided when "
     "all were ready is marked, with the share that each of them had.\n"
     "Times are those of the last start of each container. With more than 60 lines a job has one "
     "for each pod.",
     "The start of a pod\tmuster timeline pod/web-0\n"
     "A picture for a report\tmuster timeline job/train -o svg > train.svg\n",
     1, 2, OPTS_TIMELINE, VERB_SERVER, WORDS_KIND_NAMES, verb_timeline},
    {"simulate", "FILE...", "rehearse a scenario in virtual time",
     "Plays a Scenario, and the objects of all other documents in the files, with the controllers "
     "of the server on virtual nodes: hours take milliseconds, nothing is really started, and the "
     "same seed gives the same result.\n"
     "How containers behave is written on their pods: sim.muster.dev/start: 5s (until they are "
     "ready; never), sim.muster.dev/run: 10m (until they exit), sim.muster.dev/exit: 3@90s, "
     "sim.muster.dev/start-cpu: 200ms.\n"
     "It ends when nothing can happen any more, or at spec.until.",
     "A scenario as a chart\tmuster simulate examples/scenarios/node-lost.yaml\n"
     "Every change of it, as JSON\tmuster simulate story.yaml -o jsonl\n"
     "A page for a report\tmuster simulate story.yaml -o html > story.html\n"
     "The same jobs on other machines\tmuster simulate jobs.yaml machines.yaml\n",
     1, -1, OPTS_SIMULATE, 0, WORDS_FILES, verb_simulate},
    {"apply", "-f FILE", "make objects be as files say",
     "Creates the objects of the files, or changes them: what the file says is set, what an "
     "earlier version of the file said and this one does not is removed, everything else stays. "
     "All files are checked before anything is sent.\n"
     "What was applied is kept in the annotation that kubectl uses, so both may be mixed.",
     "A file\tmuster apply -f job.yaml\n"
     "All files of a folder, as a rehearsal\tmuster apply -f jobs/ --dry-run=server\n"
     "What another program writes\tgenerate | muster apply -f -\n",
     0, 0, OPTS_APPLY, VERB_SERVER, WORDS_NOTHING, verb_apply},
    {"delete", "KIND NAME... | KIND/NAME... | -f FILE | KIND -l SELECTOR | KIND --all",
     "delete objects",
     "Deletes objects and waits until they are gone. What belongs to them is deleted as well, "
     "unless --cascade says otherwise.",
     "A pod\tmuster delete pod web-0\n"
     "Everything in a file\tmuster delete -f job.yaml\n"
     "All jobs of one team, without waiting\tmuster delete jobs -l team=a --wait=false\n",
     0, -1, OPTS_DELETE, VERB_SERVER, WORDS_KIND_NAMES, verb_delete},
    {"restart", "jobset/NAME...", "restart all members of a group",
     "Asks for a restart of all members of a JobSet, whether or not one of them has died: in place "
     "where its restartStrategy is InPlaceRestart, else all Jobs are made anew. It does not count "
     "towards maxRestarts. Programs that notice a fault that no exit code tells of (a link, a hung "
     "step) POST to the same address: "
     "/apis/jobset.x-k8s.io/v1alpha2/namespaces/NAMESPACE/jobsets/NAME/restart.",
     "A group that hangs\tmuster restart jobset/train\n", 1, -1, OPTS_RESTART, VERB_SERVER,
     WORDS_KIND_NAMES, verb_restart},
    {"logs", "POD... | KIND/NAME... | -l SELECTOR", "show what containers print",
     "Prints what containers wrote to standard output and standard error. A job or another owner "
     "of "
     "pods stands for all of its pods. With several containers each line begins with the pod and "
     "the container it comes from, unless --prefix=false.\n"
     "With --follow it goes on until the containers have ended; one that is started again is not "
     "followed into its next life.",
     "A pod\tmuster logs web-0\n"
     "What a job's pods print from now on\tmuster logs -f --tail 0 job/train\n"
     "Why a container was started again\tmuster logs web-0 -c app --previous\n"
     "The last five minutes of a team, with times\tmuster logs -l team=a --since 5m --timestamps\n",
     0, -1, OPTS_LOGS, VERB_SERVER, WORDS_PODS, verb_logs},
    {"events", "", "show what happened", "Shows events, the latest last.",
     "Warnings of all namespaces\tmuster events -A --types=Warning\n"
     "What happens to a job from now on\tmuster events --for job/train -w\n",
     0, 0, OPTS_EVENTS, VERB_SERVER, WORDS_NOTHING, verb_events},
    {"cordon", "NODE...", "let no new pods onto nodes",
     "Marks nodes: they get no new pods. What runs there goes on, and vpods keep their vreplicas "
     "there.",
     "Before work on a machine\tmuster cordon n1\n", 1, -1, OPTS_CORDON, VERB_SERVER, WORDS_NODES,
     verb_cordon},
    {"uncordon", "NODE...", "let new pods onto nodes again", "Takes the mark of cordon away.",
     "After it\tmuster uncordon n1\n", 1, -1, OPTS_CORDON, VERB_SERVER, WORDS_NODES, verb_uncordon},
    {"drain", "NODE...", "take all pods off nodes",
     "Cordons nodes, evicts their pods with the grace that each has, and waits until they are "
     "gone. Controllers make them anew elsewhere; pods without one are only taken with --force.",
     "Empty a machine, in five minutes at most\tmuster drain n1 --timeout 5m\n", 1, -1, OPTS_DRAIN,
     VERB_SERVER, WORDS_NODES, verb_drain},
    {"top", "[pods|nodes] [NAME]", "show what pods or nodes use",
     "Shows the CPU time and the memory that pods or nodes use. CPU is an average over the time "
     "since somebody last asked, at least a second, in thousandths of a core.\n"
     "kubectl top shows the same.",
     "Pods of the namespace\tmuster top\n"
     "The greediest containers of all namespaces, live\tmuster top -A --containers --sort-by cpu "
     "-w\n"
     "How full nodes are\tmuster top nodes\n",
     0, 2, OPTS_TOP, VERB_SERVER, WORDS_MEASURED, verb_top},
    {"queue", "[NAME]", "show queues: how full they are and who waits",
     "Shows each ClusterQueue: how many workloads wait, how many may run, how often one was "
     "evicted, and for each flavor and resource how much of the nominal quota is taken. A bar that "
     "is full may be more than full: a queue borrows from its cohort then.",
     "All queues\tmuster queue\n"
     "One, for a program\tmuster queue team-a -o json\n",
     0, 1, OPTS_QUEUE, VERB_SERVER, WORDS_QUEUES, verb_queue},
    {"wait", "KIND/NAME... --for=WHAT", "wait until objects are as wanted",
     "Waits until each of the objects meets the condition. Exits with 1 when the time is over.",
     "Until a job is complete\tmuster wait job/train --for=condition=Complete --timeout=1h\n"
     "Until a pod runs\tmuster wait pod/web-0 --for=jsonpath='{.status.phase}'=Running\n"
     "Until all pods of a team are gone\tmuster wait pods -l team=a --for=delete\n",
     1, -1, OPTS_WAIT, VERB_SERVER, WORDS_KIND_NAMES, verb_wait},
    {"place", "FILE", "try out where vreplicas would be placed",
     "Reads one object that describes a pool of pods and the vpods on it, and tells where the "
     "vreplicas of each vpod would be placed, one vpod after the other; or how many pods there "
     "should be (--autoscale); or what would be taken off the last pods so that they can go "
     "(--compact). Nothing is changed anywhere. - stands for standard input.\n"
     "The object has: capacity (vreplicas a pod), replicas, nodes [[name, zone or null, ok or "
     "cordoned or unreachable]], pods [[ordinal, node]] (left out: pod i is on node i), policyType "
     "MAXFILLUP or scheduler and descheduler with their predicates and priorities, vpods [{name, "
     "vreplicas, placements [[ordinal, vreplicas]], maxPods, rebalance}], reserved {vpod: "
     "[[ordinal, vreplicas]]}; for --autoscale also pending and attemptScaleDown.",
     "Bars, and why pods take no more\tmuster place pool.yaml\n"
     "For a program\tmuster place pool.json -o json\n"
     "How many pods it takes\tmuster place pool.yaml --autoscale\n",
     1, 1, OPTS_PLACE, 0, WORDS_FILES, verb_place},
    {"validate", "FILE...", "check files without a server",
     "Checks manifests: syntax, kinds, fields, values. Every error is printed with its file, line "
     "and column, the field and the reason. Exits with 1 when there is one. A folder stands for "
     "the .yaml, .yml and .json files in it, - for standard input.\n"
     "Pods none of whose containers says when it is ready get a warning: they are valid, but a "
     "node cannot count how many of them are starting. With --plan the order is printed in which "
     "the containers of each pod, or of each template, start: those of one step can start "
     "together.",
     "A file\tmuster validate job.yaml\n"
     "The order of a pod's containers\tmuster validate --plan pod.yaml\n"
     "A folder, for a script\tmuster validate -o json jobs/\n",
     1, -1, OPTS_VALIDATE, 0, WORDS_FILES, verb_validate},
    {"token", "create", "make a token for a client",
     "Prints a bearer token for the API of this data directory's server. Roles: admin may do "
     "everything, view may read, node is for the node of that name, agent for the companion of one "
     "pod of one JobSet. Tokens are not stored: removing token.key from the data directory and "
     "starting again makes all of them void.",
     "For a dashboard that only looks\tmuster token create --role view --name grafana --ttl 720h\n"
     "For the agent of one pod\tmuster token create --role agent --jobset train --pod "
     "train-workers-0-0\n",
     1, 1, OPTS_TOKEN, 0, WORDS_NOTHING, verb_token},
    {"backup", "FILE", "save all objects in a file, also while the server runs",
     "Copies the store of this data directory into a file. The copy is one moment of the store: "
     "everything that was acknowledged before it began is in it. It is checked, synced and only "
     "then put in its place, so an earlier backup of that name is good until the new one is.\n"
     "Tokens, certificates and logs are not in it; they are files of the data directory.",
     "Every night\tmuster backup /backups/muster-$(date +%F).db\n"
     "Of a server with its own data\tmuster backup --data ./state state.db\n",
     1, 1, OPTS_BACKUP, 0, WORDS_FILES, verb_backup},
    {"restore", "FILE", "put a backup in the place of the store",
     "Checks the backup and puts it in the place of this data directory's store, while no server "
     "runs there. What was there before is kept beside it. Revisions go on behind those of both, "
     "so clients notice and read everything anew.\n"
     "Processes of pods that the backup does not know are ended at the next start.",
     "After a mistake\tmuster restore /backups/muster-2026-11-17.db\n"
     "On another machine\tmuster restore --data /srv/muster muster.db\n",
     1, 1, OPTS_BACKUP, 0, WORDS_FILES, verb_restore},
    {"version", "", "print the version", "Prints the version of this program.",
     "For a script\tmuster version -o json\n", 0, 0, OPTS_VERSION, 0, WORDS_NOTHING, verb_version},
    {"help", "[VERB]", "explain a verb", "Lists the verbs, or explains one of them.",
     "How to wait\tmuster help wait\n", 0, 1, NULL, 0, WORDS_VERBS, verb_help},
    {"completion", "bash|zsh|fish", "print a completion script",
     "Prints a script that makes the shell complete verbs, options, kinds and the names of "
     "objects, which it asks the server for.",
     "For this bash\tsource <(muster completion bash)\n"
     "For zsh\tmuster completion zsh > \"${fpath[1]}/_muster\"\n"
     "For fish\tmuster completion fish > ~/.config/fish/completions/muster.fish\n",
     1, 1, NULL, 0, WORDS_SHELLS, verb_completion},
    {"__complete", "WORDS...", "what the last word may become", "For the completion scripts.", "",
     1, -1, NULL, VERB_HIDDEN | VERB_RAW, WORDS_NOTHING, verb_complete},
    {"__man", "[VERB]", "a page of the manual", "For the build.", "", 0, 1, NULL, VERB_HIDDEN,
     WORDS_NOTHING, verb_man},
    {0},
};
