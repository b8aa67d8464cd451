/* SPDX-License-Identifier: Apache-2.0
 *
 * In-place restart of a group: one controller, N members, and everything that may go wrong.
 * README.md has the protocol as a table, what is checked, and what the engine must keep.
 *
 * Time does not exist here: any process may pause for as long as it likes between two moves, a watch
 * may lag by any amount, a request may take any time. Each d_step is one move, named in the comment
 * above it (m_ for members, c_ for the controller, x_ for what the world does to them).
 *
 * Every move changes something that never changes back, and faults are counted; so each run ends.
 * A run that ended is judged by `judge`, which makes liveness a question about end states; the
 * claim `live` asks the same as LTL.
 *
 * Two things are left out because they add states but no behaviour:
 * - What an agent has seen of the status. A watch that lags brings some older status, but never one
 *   older than the last it brought; statuses follow each other as (deprecated, synced) = (0,0) (0,1)
 *   (1,1) (1,2) ...; so "its watch has brought synced == e by now" is "synced >= e" in the store, at
 *   a moment the agent's slowness picks. To have seen a status and not yet acted on it is the same as
 *   not having seen it.
 * - The time between the controller's decision and its write. The write counts only if the status
 *   is the one it was decided on; so it is as if decided when written, from an older copy of the
 *   pods, and copies are as old as they like anyway. Only a controller that ends in between
 *   (x_depose) leaves such a write behind.
 *
 * Bugs to be found are behind BUG_*. ONLY=n leaves just property n switched on, so that a bug counts
 * as found only if the property that names it finds it.
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
#define CHECK(property, holds) assert((ONLY != 0 && ONLY != property) || (holds))
#define S1(holds) CHECK(1, holds)
#define S2(holds) CHECK(2, holds)
#define S3(holds) CHECK(3, holds)
#define S4(holds) CHECK(4, holds)
#define S5(holds) CHECK(5, holds)
#define BUDGET(holds) CHECK(6, holds)
#define LIVE(holds) CHECK(7, holds)
#define INVARIANT(holds) CHECK(8, holds) /* not a promise to users, but what the engine relies on */

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
mtype:plan = { NOTHING, DEPRECATE, SYNC, COMPLETE, FAIL, CHARGED };

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
    unsigned epoch : 3
};
agent_t agent[N];

/* The process. Epoch 0 is none; a dead one stays until it is reaped. */
typedef worker_t {
    unsigned epoch : 3;
    mtype:worker state
};
worker_t worker[N];

/* The controller's copy of the pods, and whether its key is queued. */
typedef copy_t {
    unsigned epoch : 3;
    bool succeeded
};
copy_t cache[N];
bool queued = true;

/* A write to the status, with what stands for the revision it was decided on. */
typedef write_t {
    mtype:plan plan;
    unsigned epoch : 3;
    unsigned deprecated : 3;
    unsigned synced : 3
};
write_t write[2];
#define OWN 0   /* the controller's */
#define STRAY 1 /* of a controller that is gone: may arrive at any time, or never */

/* An announcement whose sender is gone, or the copy of one: may arrive at any time, or never. */
typedef announcement_t {
    unsigned place : 2;
    unsigned uid : 2;
    unsigned epoch : 3 /* 0: none is under way */
};
announcement_t stray;

/* --- What only the properties look at ---------------------------------------------------------- */

byte announced[N];   /* the greatest epoch that the holder of this place got written */
byte started[N];     /* the greatest epoch that had a worker in this place */
unsigned broken : 3; /* the greatest epoch that lost a worker which had not succeeded */
unsigned restarts : 3;
#ifdef BUG_REPLACED_EARLY
byte zombie[N]; /* the epoch of a worker whose pod has a successor already */
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
#define BREAKS(e) broken = MAX(broken, e)

/* --- Members --------------------------------------------------------------------------------- */

inline reap(i)
{
    worker[i].epoch = 0;
    worker[i].state = ALIVE
}

inline leave(i, state_)
{
    reap(i);
    agent[i].epoch = 0;
    agent[i].state = state_
}

/* Its place in the group goes on at epoch `next`. */
inline go_on(i)
{
    S5(next >= agent[i].epoch);
    agent[i].epoch = next;
    agent[i].state = ANNOUNCE
}

/* A new agent, in the same pod or in a successor. The order counts: first no worker is left here,
 * then the status is read, and that read is not older than this agent. An epoch that was synced by
 * then may have had a worker in this place; so it is not used again. One that was not cannot have
 * had one; so announcing it again gives no worker a second start. */
inline join(i)
{
#ifndef BUG_ORPHAN_KEPT
    if
    :: worker[i].epoch ->
        BREAKS(worker[i].epoch);
        reap(i)
    :: else
    fi;
#endif
#ifdef BUG_START_TWICE
    next = (pod[i].epoch -> pod[i].epoch : synced + 1);
#else
    next = MAX(pod[i].epoch, MAX(deprecated, synced) + 1);
#endif
    go_on(i)
}

/* The store takes `next` of the pod `sender`: for the pod it was made for, and only upwards. */
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
        S2(worker[j].epoch == 0 || worker[j].state != ALIVE || worker[j].epoch == agent[i].epoch);
        S2(started[j] <= agent[i].epoch);
#ifdef BUG_REPLACED_EARLY
        S2(zombie[j] == 0 || zombie[j] == agent[i].epoch);
#endif
    }
    S3(started[i] < agent[i].epoch);
    started[i] = MAX(started[i], agent[i].epoch);
    worker[i].epoch = agent[i].epoch;
    worker[i].state = ALIVE;
    agent[i].state = RUN
}

#define IN_GROUP(i) (agent[i].state == ANNOUNCE || agent[i].state == WAIT || agent[i].state == RUN)

proctype member(byte i)
{
end:
    do
    /* m_join: an agent starts */
    :: d_step {
        agent[i].state == DOWN && verdict == UNDECIDED -> join(i)
    }
#ifdef BUG_STALE_READ
    /* ... and believes a status from before its start, as JobSet's proposal allows */
    :: d_step {
        agent[i].state == DOWN && verdict == UNDECIDED && synced > 0 ->
        if
        :: worker[i].epoch ->
            BREAKS(worker[i].epoch);
            reap(i)
        :: else
        fi;
        next = synced;
        go_on(i)
    }
#endif
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
    /* m_lift: the watch has brought synced == epoch, and nothing newer yet */
    :: d_step {
#ifdef BUG_NO_BARRIER
        agent[i].state == WAIT ->
#else
        agent[i].state == WAIT && synced >= agent[i].epoch ->
#endif
        start_worker(i)
    }
    /* m_restart: the watch has brought deprecated >= epoch. The worker is gone before the next epoch
     * is announced. */
    :: d_step {
        IN_GROUP(i) && deprecated >= agent[i].epoch ->
        reap(i);
        next = deprecated + 1;
        go_on(i)
    }
#ifndef BUG_DEATH_UNREPORTED
    /* m_death: the worker's end is told by announcing the next epoch, at once */
    :: d_step {
        agent[i].state == RUN && worker[i].state == DIED ->
        reap(i);
        next = agent[i].epoch + 1;
        go_on(i)
    }
#endif
    /* m_success: recorded on the pod; from now on nobody waits for this member */
    :: d_step {
        agent[i].state == RUN && worker[i].state == SUCCEEDED ->
        pod[i].succeeded = true;
        leave(i, DONE)
    }
    /* m_over: the watch, or the first read, has brought a verdict */
    :: d_step {
        (IN_GROUP(i) || agent[i].state == DOWN) && verdict != UNDECIDED -> leave(i, OVER)
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

inline intend(w, what, to)
{
    write[w].plan = what;
    write[w].epoch = to;
    write[w].deprecated = deprecated;
    write[w].synced = synced
}

#ifdef BUG_DONE_COUNTED
#define EXPECTED(i) true
#else
#define EXPECTED(i) (!cache[i].succeeded)
#endif
#ifdef BUG_NO_LIMIT
#define SPENT false
#else
#define SPENT (charged >= MAX_RESTARTS)
#endif
#ifdef BUG_SYNC_UNGUARDED
#define LIFTS (equal && top != synced && top > 0)
#elif defined(BUG_SYNC_EARLY)
#define LIFTS (top > synced)
#else
#define LIFTS (equal && top > synced)
#endif

/* From the copy of the pods, as old as it may be, and the status under its revision. */
inline decide(w)
{
    top = 0;
    all_done = true;
    for (j : 0 .. N - 1) {
        top = (EXPECTED(j) && cache[j].epoch > top -> cache[j].epoch : top);
        all_done = all_done && cache[j].succeeded
    }
    equal = true;
    for (j : 0 .. N - 1) {
        equal = equal && (!EXPECTED(j) || cache[j].epoch == top)
    }
    if
    :: all_done -> intend(w, COMPLETE, 0)
    :: !all_done && top > deprecated + 1 && SPENT -> intend(w, FAIL, 0)
    :: !all_done && top > deprecated + 1 && !SPENT -> intend(w, DEPRECATE, top - 1)
    :: !all_done && top <= deprecated + 1 && LIFTS -> intend(w, SYNC, top)
    :: else
    fi
}

/* One write to the status. It counts only if nobody else wrote since it was decided. */
#ifdef BUG_BLIND_WRITE
#define CURRENT(w) true
#else
#define CURRENT(w) (write[w].deprecated == deprecated && write[w].synced == synced)
#endif
inline commit(w)
{
    if
    :: verdict == UNDECIDED && write[w].plan != NOTHING && CURRENT(w) ->
        if
        :: write[w].plan == DEPRECATE || write[w].plan == CHARGED ->
            S5(write[w].epoch >= deprecated);
            deprecated = write[w].epoch;
            restarts++;
            charged = (write[w].plan == CHARGED -> charged : charged + 1);
            BUDGET(charged == restarts && charged <= MAX_RESTARTS)
        :: write[w].plan == SYNC ->
            S5(write[w].epoch >= synced);
            synced = write[w].epoch
        :: write[w].plan == COMPLETE -> verdict = COMPLETED
        :: write[w].plan == FAIL ->
            BUDGET(restarts == MAX_RESTARTS);
            verdict = FAILED
        fi;
        queued = true;
        INVARIANT(deprecated <= synced && synced <= deprecated + 1)
    :: else
    fi;
    no_write(w)
}

#define UNSEEN(i) (cache[i].epoch != pod[i].epoch || cache[i].succeeded != pod[i].succeeded)

/* c_see: the watch brings one pod, and queues the key */
inline c_see(i)
{
    d_step {
        verdict == UNDECIDED && UNSEEN(i) ->
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
    /* c_decide, c_write: the key is taken from the queue; what follows from it is written at once */
    :: d_step {
        verdict == UNDECIDED && queued && write[OWN].plan == NOTHING ->
        queued = false;
        decide(OWN);
#ifdef BUG_CHARGED_APART
        if
        :: write[OWN].plan == DEPRECATE ->
            charged++;
            write[OWN].plan = CHARGED
        :: else -> commit(OWN)
        fi
    }
    :: d_step {
        verdict == UNDECIDED && write[OWN].plan == CHARGED -> commit(OWN)
    }
#else
        commit(OWN)
    }
#endif
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
        agent[i].epoch = 0;
        agent[i].state = DOWN;
        crashes--
    }
}

/* x_replace: a pod is gone with all that ran in it, and has a successor. That the processes of the
 * old one are gone first is the promise of podReplacementPolicy: Failed. */
inline x_replace(i)
{
    d_step {
        replaced > 0 && verdict == UNDECIDED && !pod[i].succeeded ->
        if
        :: worker[i].epoch -> BREAKS(worker[i].epoch)
        :: else
        fi;
#ifdef BUG_REPLACED_EARLY
        zombie[i] = worker[i].epoch;
#endif
        leave(i, DOWN);
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

inline no_stray()
{
    stray.place = 0;
    stray.uid = 0;
    stray.epoch = 0
}

/* x_depose: the controller ends at any point, perhaps with a write out that arrives later. Its
 * successor's copy of the pods may be older than the one before had: the same, or one announcement
 * behind, or empty. */
#define SAME 0
#define OLDER 1
#define EMPTY 2
inline x_depose(write_is_out, copy_is)
{
    d_step {
        leaders > 0 && verdict == UNDECIDED ->
        leaders--;
        no_write(OWN);
        if
        :: write_is_out -> decide(STRAY)
        :: else
        fi;
        for (j : 0 .. N - 1) {
            cache[j].epoch = (copy_is == OLDER && cache[j].epoch -> cache[j].epoch - 1 :
                (copy_is == EMPTY -> 0 : cache[j].epoch));
            cache[j].succeeded = cache[j].succeeded && copy_is == SAME
        }
        queued = true
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
    :: x_depose(false, SAME)
    :: x_depose(false, OLDER)
    :: x_depose(false, EMPTY)
    :: x_depose(true, SAME)
    :: x_depose(true, OLDER)
    :: x_depose(true, EMPTY)
    /* x_arrive: a stray announcement arrives */
    :: d_step {
        stray.epoch && verdict == UNDECIDED ->
        next = stray.epoch;
        sender = stray.uid;
        j = stray.place;
        accept(j);
        no_stray()
    }
    /* x_arrive_write: a stray write arrives */
    :: d_step {
        write[STRAY].plan != NOTHING && verdict == UNDECIDED -> commit(STRAY)
    }
    /* x_stop: no more faults; what was still under way is lost */
    :: d_step {
        true ->
        no_write(STRAY);
        no_stray();
        deaths = 0;
        crashes = 0;
        replaced = 0;
        copies = 0;
        leaders = 0;
        successes = 0
    } -> break
    od
}

/* --- Judgement ------------------------------------------------------------------------------- */

#define RUNS(i)                                                                                    \
    (agent[i].state == RUN && agent[i].epoch == synced && worker[i].epoch == synced &&             \
     worker[i].state == ALIVE)
#define SETTLED(i) (pod[i].succeeded || RUNS(i))
#define GONE(i) (worker[i].epoch == 0)
#define DONE_(i) (pod[i].succeeded)
#if N > 2
#define ALL(what) (what(0) && what(1) && what(2))
#else
#define ALL(what) (what(0) && what(1))
#endif
#define NOT_LOST (verdict != UNDECIDED || broken <= deprecated)
#define GOOD                                                                                       \
    ((verdict == UNDECIDED && ALL(SETTLED) && !ALL(DONE_)) || (verdict == FAILED && ALL(GONE)) ||  \
     (verdict == COMPLETED && ALL(DONE_) && ALL(GONE)))

/* Ends that must be among those searched, or the properties would hold for nothing. */
#ifndef REACHED
#define REACHED 0
#endif
#if REACHED == 1
#define END (verdict == COMPLETED && restarts == MAX_RESTARTS)
#elif REACHED == 2
#define END (verdict == FAILED)
#elif REACHED == 3
#define END (verdict == UNDECIDED && ALL(RUNS) && synced == 2)
#elif REACHED == 4
#define END (verdict == UNDECIDED && pod[0].succeeded && RUNS(1) && synced == 2)
#else
#define END false
#endif

#ifdef LTL
ltl live { <>[] (GOOD && NOT_LOST) }

/* Fairness is about processes that can move; with one that always can, an end is a run as well. */
active proctype clock()
{
    bit tick;
    do
    :: tick = 1 - tick
    od
}
#else
/* Nothing moves any more, anywhere, and nothing will. */
active proctype judge()
{
    timeout -> d_step {
        S4(NOT_LOST);
        LIVE(GOOD);
        assert(!END)
    }
}
#endif

init
{
    d_step {
        no_write(OWN);
        no_write(STRAY);
        for (j : 0 .. N - 1) {
            agent[j].state = DOWN;
            worker[j].state = ALIVE;
            pod[j].uid = 1
        }
    }
    atomic {
        run member(0);
        run member(1);
#if N > 2
        run member(2);
#endif
        run controller();
        run world()
    }
}
