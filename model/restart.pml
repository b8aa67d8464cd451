/* SPDX-License-Identifier: Apache-2.0
 *
 * In-place restart of a group: one controller, N members, and everything that may go wrong.
 * README.md has the protocol as a table, what is checked, and what the engine must keep.
 *
 * Time does not exist here: any process may pause for ever between two moves, a watch may lag by
 * any amount, a request may take any time. Each atomic block is one move; a move is named in the
 * comment above it (m_ for members, c_ for the controller, x_ for what the world does to them), and
 * the engine's table uses the same names.
 *
 * Every move changes something that never changes back, and faults are counted; so each run ends.
 * A run that ended is judged by `judge`, which makes liveness a question about end states; the
 * claim `live` asks it again as LTL.
 *
 * Bugs to be found are behind BUG_*, see the script next to this file. ONLY=n leaves just property n
 * switched on, so that a bug counts as found only by the property that names it.
 */
#ifndef N
#define N 2 /* members */
#endif
#ifndef MAX_RESTARTS
#define MAX_RESTARTS 1
#endif
#ifndef DEATHS
#define DEATHS 1 /* workers that exit non-zero */
#endif
#ifndef CRASHES
#define CRASHES 1 /* agents that end, and leave their worker behind */
#endif
#ifndef REPLACED
#define REPLACED 1 /* pods that fail and get a successor */
#endif
#ifndef COPIES
#define COPIES 1 /* announcements that arrive late, or once more */
#endif
#ifndef LEADERS
#define LEADERS 1 /* ends of the controller, each with a successor */
#endif
#ifndef SUCCESSES
#define SUCCESSES N /* workers that exit zero */
#endif

#ifndef ONLY
#define ONLY 0
#endif
#if ONLY == 0 || ONLY == 1
#define S1(holds) assert(holds)
#else
#define S1(holds) skip
#endif
#if ONLY == 0 || ONLY == 2
#define S2(holds) assert(holds)
#else
#define S2(holds) skip
#endif
#if ONLY == 0 || ONLY == 3
#define S3(holds) assert(holds)
#else
#define S3(holds) skip
#endif
#if ONLY == 0 || ONLY == 4
#define S4(holds) assert(holds)
#else
#define S4(holds) skip
#endif
#if ONLY == 0 || ONLY == 5
#define S5(holds) assert(holds)
#else
#define S5(holds) skip
#endif
#if ONLY == 0 || ONLY == 6
#define BUDGET(holds) assert(holds)
#else
#define BUDGET(holds) skip
#endif
#if ONLY == 0 || ONLY == 7
#define LIVE(holds) assert(holds)
#else
#define LIVE(holds) skip
#endif
#if ONLY == 0
#define INVARIANT(holds) assert(holds) /* no property of the group, but what the engine relies on */
#else
#define INVARIANT(holds) skip
#endif

mtype:agent = {
    DOWN,     /* no agent runs; a worker may (an orphan) */
    ANNOUNCE, /* has chosen its epoch and asks the store to write it, again and again */
    WAIT,     /* announced, behind the barrier */
    RUN,      /* has started the worker of its epoch */
    DONE,     /* the worker succeeded, and that is recorded */
    OVER      /* has seen the verdict */
};
mtype:worker = { ALIVE, DIED, SUCCEEDED };
mtype:verdict = { UNDECIDED, COMPLETED, FAILED };
mtype:plan = { NOTHING, DEPRECATE, SYNC, COMPLETE, FAIL, DEPRECATE_CHARGED };

/* --- Durable: what the store keeps ------------------------------------------------------------ */

/* The JobSet's status. All four change in one write, under the revision that the writer has read. */
unsigned deprecated : 3;
unsigned synced : 3;
unsigned charged : 3;
mtype:verdict verdict = UNDECIDED;

/* The pod that now holds a member's place. `uid` tells it from its predecessors. */
typedef pod_t {
    unsigned uid : 2;
    unsigned epoch : 3; /* the annotation; 0 is none */
    bool succeeded
};
pod_t pod[N];

/* --- Volatile -------------------------------------------------------------------------------- */

typedef agent_t {
    mtype:agent state;
    unsigned epoch : 3;
    /* What it has seen of the status: lags, never goes back. */
    unsigned deprecated : 3;
    unsigned synced : 3;
    bool over
};
agent_t agent[N];

/* The process. epoch 0 is none; a dead one stays until it is reaped. */
typedef worker_t {
    unsigned epoch : 3;
    mtype:worker state
};
worker_t worker[N];

/* The controller's copy of the pods, what it is about to write, and whether its key is queued. */
pod_t cache[N];
typedef write_t {
    mtype:plan plan;
    unsigned epoch : 3;
    unsigned deprecated : 3; /* these two stand for the revision it was decided on */
    unsigned synced : 3
};
write_t write[2];
#define OWN 0   /* the controller's */
#define STRAY 1 /* of a controller that is gone: may arrive at any time, or never */
bool queued = true;

/* An announcement whose sender is gone, or the copy of one: may arrive at any time, or never. */
typedef announcement_t {
    unsigned place : 2;
    unsigned uid : 2;
    unsigned epoch : 3 /* 0: no such request is under way */
};
announcement_t stray;

/* --- What only the properties look at ---------------------------------------------------------- */

byte announced[N];         /* the greatest epoch that the holder of this place got written */
byte started[N];           /* epochs with a worker here, as bits */
unsigned newest : 3;       /* the greatest epoch that ever had a worker */
unsigned broken : 3;       /* the greatest epoch that lost a worker which had not succeeded */
unsigned restarts : 3;
bool quiet;                /* faults have stopped */
#ifdef BUG_REPLACED_EARLY
byte zombie[N]; /* a worker whose pod has a successor already */
#endif

/* Scratch, of no meaning between two moves. */
hidden byte j, next, sender, top, equal, all_done;

/* Options of a loop, one for each member. */
#if N > 2
#define EACH(move) :: move(0) :: move(1) :: move(2)
#else
#define EACH(move) :: move(0) :: move(1)
#endif

#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* --- Members --------------------------------------------------------------------------------- */

#define BREAKS(e) broken = MAX(broken, e)

inline reap(i)
{
    worker[i].epoch = 0;
    worker[i].state = ALIVE
}

inline forget(i)
{
    agent[i].epoch = 0;
#ifndef BUG_STALE_READ
    agent[i].deprecated = 0;
    agent[i].synced = 0;
#endif
    agent[i].over = false
}

inline look(i)
{
    agent[i].deprecated = deprecated;
    agent[i].synced = synced;
    agent[i].over = (verdict != UNDECIDED)
}

/* Its place in the group goes on at epoch `next`. */
inline go_on(i)
{
    S5(next >= agent[i].epoch);
    agent[i].epoch = next;
    agent[i].state = ANNOUNCE
}

inline stop(i)
{
    reap(i);
    forget(i);
#ifdef BUG_STALE_READ
    agent[i].deprecated = 0;
    agent[i].synced = 0;
#endif
    agent[i].state = OVER
}

/* A new agent, in the same pod or in a successor. The order counts: first no worker is left here,
 * then the status is read, and that read is not older than this agent. An epoch that was synced by
 * then may have had a worker in this place; so it is not used again. One that was not cannot have
 * had one; so announcing it again is no second chance. */
inline join(i)
{
#ifdef BUG_ORPHAN_KEPT
    skip;
#else
    if
    :: worker[i].epoch ->
        BREAKS(worker[i].epoch);
        reap(i)
    :: else
    fi;
#endif
#ifndef BUG_STALE_READ
    look(i);
#endif
    if
    :: agent[i].over -> stop(i)
    :: else ->
#ifdef BUG_STALE_READ
        next = agent[i].synced + 1;
        go_on(i)
#elif defined(BUG_START_TWICE)
        next = (pod[i].epoch -> pod[i].epoch : synced + 1);
        go_on(i)
#else
        next = MAX(pod[i].epoch, MAX(deprecated, synced) + 1);
        go_on(i)
#endif
    fi
}

/* The store takes an announcement for the pod it was made for, and only upwards. */
inline accept(i)
{
    if
#ifdef BUG_OLD_COUNTED
    :: next > pod[i].epoch ->
#elif defined(BUG_LATE_OVERWRITES)
    :: sender == pod[i].uid ->
#else
    :: sender == pod[i].uid && next > pod[i].epoch ->
#endif
        S5(next >= pod[i].epoch);
        INVARIANT(next <= synced + 1);
        pod[i].epoch = next;
        if
        :: sender == pod[i].uid ->
            S5(next >= announced[i]);
            announced[i] = MAX(announced[i], next)
        :: else
        fi
    :: else
    fi
}

inline start_worker(i)
{
    for (j : 0 .. N - 1) {
        S1(pod[j].succeeded || announced[j] >= agent[i].epoch);
        S2(j == i || worker[j].epoch == 0 || worker[j].state != ALIVE ||
           worker[j].epoch == agent[i].epoch);
#ifdef BUG_REPLACED_EARLY
        S2(zombie[j] == 0 || zombie[j] >= agent[i].epoch);
#endif
    }
    S2(agent[i].epoch >= newest);
    S3(!(started[i] & (1 << agent[i].epoch)));
    started[i] = started[i] | (1 << agent[i].epoch);
    newest = MAX(newest, agent[i].epoch);
    worker[i].epoch = agent[i].epoch;
    worker[i].state = ALIVE;
    agent[i].state = RUN
}

#define IN_GROUP(i) (agent[i].state == ANNOUNCE || agent[i].state == WAIT || agent[i].state == RUN)
#define LAGS(i)                                                                                    \
    (agent[i].deprecated != deprecated || agent[i].synced != synced ||                             \
     agent[i].over != (verdict != UNDECIDED))

proctype member(byte i)
{
end:
    do
    /* m_join: an agent starts */
    :: d_step {
        agent[i].state == DOWN -> join(i)
    }
    /* m_write: the store has the announcement; the answer is still under way, or lost */
    :: d_step {
        agent[i].state == ANNOUNCE && pod[i].epoch < agent[i].epoch ->
        next = agent[i].epoch;
        sender = pod[i].uid;
        accept(i)
    }
    /* m_written: the agent knows that it is there */
    :: d_step {
        agent[i].state == ANNOUNCE && pod[i].epoch >= agent[i].epoch -> agent[i].state = WAIT
    }
    /* m_look: the watch brings the newest status; what came between may be skipped */
    :: d_step {
        IN_GROUP(i) && LAGS(i) -> look(i)
    }
    /* m_lift: all have announced this epoch */
    :: d_step {
#ifdef BUG_NO_BARRIER
        agent[i].state == WAIT && agent[i].deprecated < agent[i].epoch && !agent[i].over ->
#else
        agent[i].state == WAIT && agent[i].synced == agent[i].epoch &&
            agent[i].deprecated < agent[i].epoch && !agent[i].over ->
#endif
        start_worker(i)
    }
    /* m_restart: this epoch is over; its worker is gone before the next one is announced */
    :: d_step {
        IN_GROUP(i) && agent[i].deprecated >= agent[i].epoch && !agent[i].over ->
        reap(i);
        next = agent[i].deprecated + 1;
        go_on(i)
    }
#ifndef BUG_DEATH_UNREPORTED
    /* m_death: the worker's end is told by announcing the next epoch, at once */
    :: d_step {
        agent[i].state == RUN && worker[i].epoch && worker[i].state == DIED ->
        reap(i);
        next = MAX(agent[i].epoch, agent[i].deprecated) + 1;
        go_on(i)
    }
#endif
    /* m_success: recorded on the pod; from now on nobody waits for this member */
    :: d_step {
        agent[i].state == RUN && worker[i].epoch && worker[i].state == SUCCEEDED ->
        reap(i);
        forget(i);
#ifdef BUG_STALE_READ
        agent[i].deprecated = 0;
        agent[i].synced = 0;
#endif
        pod[i].succeeded = true;
        agent[i].state = DONE
    }
    /* m_over: the group has ended */
    :: d_step {
        IN_GROUP(i) && agent[i].over -> stop(i)
    }
    od
}

/* --- Controller ------------------------------------------------------------------------------ */

inline no_write(w)
{
    write[w].plan = NOTHING;
    write[w].epoch = 0;
    write[w].deprecated = 0;
    write[w].synced = 0
}

inline intend(what, to)
{
    write[OWN].plan = what;
    write[OWN].epoch = to;
    write[OWN].deprecated = deprecated;
    write[OWN].synced = synced
}

/* From the copy of the pods, as old as it may be, and the status under its revision. */
inline decide()
{
    top = 0;
    all_done = true;
    for (j : 0 .. N - 1) {
        if
#ifdef BUG_DONE_COUNTED
        :: cache[j].succeeded -> top = MAX(top, cache[j].epoch)
#else
        :: cache[j].succeeded
#endif
        :: else ->
            all_done = false;
            top = MAX(top, cache[j].epoch)
        fi
    }
    equal = true;
    for (j : 0 .. N - 1) {
        if
#ifdef BUG_DONE_COUNTED
        :: cache[j].epoch != top -> equal = false
#else
        :: !cache[j].succeeded && cache[j].epoch != top -> equal = false
#endif
        :: else
        fi
    }
#ifdef BUG_SYNC_EARLY
    equal = true;
#endif
    if
    :: all_done -> intend(COMPLETE, 0)
    :: !all_done && top > deprecated + 1 ->
        if
#ifdef BUG_NO_LIMIT
        :: false
#else
        :: charged >= MAX_RESTARTS -> intend(FAIL, 0)
#endif
        :: else -> intend(DEPRECATE, top - 1)
        fi
#ifdef BUG_SYNC_UNGUARDED
    :: !all_done && top <= deprecated + 1 && equal && top != synced && top > 0 -> intend(SYNC, top)
#else
    :: !all_done && top <= deprecated + 1 && equal && top > synced -> intend(SYNC, top)
#endif
    :: else
    fi
}

/* One write to the status. It counts only if nobody else wrote since it was decided. */
inline commit(w)
{
    if
#ifdef BUG_BLIND_WRITE
    :: verdict == UNDECIDED ->
#else
    :: verdict == UNDECIDED && write[w].deprecated == deprecated && write[w].synced == synced ->
#endif
        if
        :: write[w].plan == DEPRECATE || write[w].plan == DEPRECATE_CHARGED ->
            S5(write[w].epoch > deprecated);
            deprecated = write[w].epoch;
            restarts++;
            if
            :: write[w].plan == DEPRECATE -> charged++
            :: else
            fi;
            BUDGET(charged == restarts);
            BUDGET(charged <= MAX_RESTARTS)
        :: write[w].plan == SYNC ->
            S5(write[w].epoch > synced);
            synced = write[w].epoch
        :: write[w].plan == COMPLETE -> verdict = COMPLETED
        :: write[w].plan == FAIL ->
            BUDGET(charged == MAX_RESTARTS);
            verdict = FAILED
        fi;
        INVARIANT(deprecated <= synced && synced <= deprecated + 1)
    :: else
    fi
}

#define UNSEEN(i)                                                                                  \
    (cache[i].uid != pod[i].uid || cache[i].epoch != pod[i].epoch ||                               \
     cache[i].succeeded != pod[i].succeeded)

/* c_see: the watch brings one pod. Not while a write is out: a copy that lags any longer is the
 * same as one that is read now and used after the write. */
inline c_see(i)
{
    d_step {
        verdict == UNDECIDED && write[OWN].plan == NOTHING && UNSEEN(i) ->
        cache[i].uid = pod[i].uid;
        cache[i].epoch = pod[i].epoch;
        cache[i].succeeded = pod[i].succeeded;
        queued = true
    }
}

proctype controller()
{
end:
    do
    EACH(c_see)
    /* c_decide: the key is taken from the queue */
    :: d_step {
        verdict == UNDECIDED && write[OWN].plan == NOTHING && queued ->
        queued = false;
        decide()
    }
#ifdef BUG_CHARGED_APART
    :: d_step {
        write[OWN].plan == DEPRECATE ->
        charged++;
        write[OWN].plan = DEPRECATE_CHARGED
    }
    :: d_step {
        write[OWN].plan != NOTHING && write[OWN].plan != DEPRECATE ->
#else
    /* c_write: the store answers; nothing is decided before it has */
    :: d_step {
        write[OWN].plan != NOTHING ->
#endif
        commit(OWN);
        no_write(OWN);
        queued = (verdict == UNDECIDED)
    }
    od
}

/* --- The world ------------------------------------------------------------------------------- */

/* x_die: a worker exits non-zero */
inline x_die(i)
{
    d_step {
        deaths > 0 && verdict == UNDECIDED && worker[i].epoch && worker[i].state == ALIVE ->
        worker[i].state = DIED;
        BREAKS(worker[i].epoch);
        deaths--
    }
}

/* x_succeed: a worker exits zero */
inline x_succeed(i)
{
    d_step {
        successes > 0 && verdict == UNDECIDED && worker[i].epoch && worker[i].state == ALIVE ->
        worker[i].state = SUCCEEDED;
        successes--
    }
}

/* x_crash: an agent ends at any point; its worker runs on */
inline x_crash(i)
{
    d_step {
        crashes > 0 && verdict == UNDECIDED && IN_GROUP(i) ->
        forget(i);
        agent[i].state = DOWN;
        crashes--
    }
}

/* x_replace: a pod is gone with all that ran in it, and has a successor. That the processes of the
 * old one are gone first is the promise of podReplacementPolicy: Failed. */
inline x_replace(i)
{
    d_step {
        replaced > 0 && verdict == UNDECIDED && agent[i].state != OVER && !pod[i].succeeded ->
        if
        :: worker[i].epoch -> BREAKS(worker[i].epoch)
        :: else
        fi;
#ifdef BUG_REPLACED_EARLY
        zombie[i] = worker[i].epoch;
#endif
        reap(i);
        forget(i);
        agent[i].state = DOWN;
        pod[i].uid++;
        pod[i].epoch = 0;
        replaced--
    }
}

/* x_copy: an announcement is under way twice, or will outlive its sender */
inline x_copy(i)
{
    d_step {
        copies > 0 && stray.epoch == 0 && verdict == UNDECIDED && agent[i].state == ANNOUNCE ->
        stray.place = i;
        stray.uid = pod[i].uid;
        stray.epoch = agent[i].epoch;
        copies--
    }
}

proctype world()
{
    unsigned deaths : 3 = DEATHS, crashes : 3 = CRASHES, replaced : 3 = REPLACED;
    unsigned copies : 3 = COPIES, leaders : 3 = LEADERS, successes : 3 = SUCCESSES;

    do
    EACH(x_die)
    EACH(x_succeed)
    EACH(x_crash)
    EACH(x_replace)
    EACH(x_copy)
    /* x_arrive: it arrives */
    :: d_step {
        stray.epoch && verdict == UNDECIDED ->
        next = stray.epoch;
        sender = stray.uid;
        j = stray.place;
        accept(j);
        stray.place = 0;
        stray.uid = 0;
        stray.epoch = 0
    }
    /* x_depose: the controller ends at any point. A write that was out is lost, or arrives later.
     * Its successor starts with a copy of the pods that may be older than that of the one before:
     * as it was, one announcement behind, or empty. */
    :: atomic {
        leaders > 0 && verdict == UNDECIDED ->
        leaders--;
        if
        :: write[OWN].plan != NOTHING ->
            write[STRAY].plan = write[OWN].plan;
            write[STRAY].epoch = write[OWN].epoch;
            write[STRAY].deprecated = write[OWN].deprecated;
            write[STRAY].synced = write[OWN].synced
        :: true
        fi;
        no_write(OWN);
        queued = true;
        if
        :: true
        :: d_step {
            for (j : 0 .. N - 1) {
                if
                :: cache[j].epoch -> cache[j].epoch = cache[j].epoch - 1
                :: else
                fi
            }
        }
        :: d_step {
            for (j : 0 .. N - 1) {
                cache[j].uid = 0;
                cache[j].epoch = 0;
                cache[j].succeeded = false
            }
        }
        fi
    }
    /* x_arrive_write: the write of the one before arrives */
    :: d_step {
        write[STRAY].plan != NOTHING && verdict == UNDECIDED ->
        commit(STRAY);
        no_write(STRAY)
    }
    /* x_stop: no more faults; what was still under way is lost */
    :: d_step {
        no_write(STRAY);
        stray.place = 0;
        stray.uid = 0;
        stray.epoch = 0;
        deaths = 0;
        crashes = 0;
        replaced = 0;
        copies = 0;
        leaders = 0;
        successes = 0;
        quiet = true
    } ->
        break
    od
}

/* --- Judgement ------------------------------------------------------------------------------- */

#define RUNS(i)                                                                                    \
    (agent[i].state == RUN && agent[i].epoch == synced && worker[i].epoch == synced &&             \
     worker[i].state == ALIVE)
#define SETTLED(i) (pod[i].succeeded || RUNS(i))
#define EMPTY(i) (worker[i].epoch == 0)
#if N > 2
#define ALL(what) (what(0) && what(1) && what(2))
#define ALL_DONE (pod[0].succeeded && pod[1].succeeded && pod[2].succeeded)
#else
#define ALL(what) (what(0) && what(1))
#define ALL_DONE (pod[0].succeeded && pod[1].succeeded)
#endif
#define NOT_LOST (verdict != UNDECIDED || broken <= deprecated)
#define GOOD                                                                                       \
    ((verdict == UNDECIDED && !ALL_DONE && ALL(SETTLED)) || (verdict == FAILED && ALL(EMPTY)) ||   \
     (verdict == COMPLETED && ALL_DONE && ALL(EMPTY)))

#ifdef LTL
ltl live { <>[] (GOOD && NOT_LOST) }
#else
/* Nothing moves any more, anywhere, and will not. */
active proctype judge()
{
    timeout -> d_step {
        S4(NOT_LOST);
        LIVE(GOOD);
        quiet = true
    }
}
#endif

init
{
    atomic {
        no_write(OWN);
        no_write(STRAY);
        for (j : 0 .. N - 1) {
            agent[j].state = DOWN;
            worker[j].state = ALIVE;
            pod[j].uid = 1;
            run member(j)
        }
        run controller();
        run world()
    }
}
