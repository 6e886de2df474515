/* The wall clock that the agent sees: the last inbound event of the run, or what the thread itself waited for.
 *
 * shown = max(page, the thread's last refresh). A refresh takes the real time (in a replay: the recorded one), and is
 * logged with lineage and index where it moved the clock by more than 10 ms. Refresh points: the start of a program or a
 * child of fork, a child reaped, a wait that ran out, a sleep, and a read by a thread that has been reading the same for
 * long. The monotonic clocks keep their own rate, moved by the page's offset. No counter is shared by threads.
 *
 * A start and a reaping are always logged, since both come while answers still do: a replay shows the recorded time of
 * them even where the page is ahead of it, until the page moves again. So is each change that one of the first reads of a
 * process sees: short programs, which count their reads alike, run while answers come in.
 *
 * Whether a wait for something else (poll, a condition) runs out depends on how fast the machine is, so a replay does not
 * go by the how-manieth it was: it shows the next such time that was logged before what comes in next came in. Where there
 * is none the wait did not run out then, and no time passes, unless that has been so for 10 s.
 *
 * A replay that goes live (a fork) is none from then on: the page shows the real time, which the supervisor never lets be
 * earlier than what it showed, threads ask the machine again, and none is shown less than before.
 */

enum { STARTED = 1, WAITED, REAPED, READING, SLEPT, SEEN };
static const uint64_t second = 1000000000, least_move = 10000000;
enum { FIRST_READS = 64 };
static const uint64_t most_owed = 10000000000;
static const uint64_t patience = 256000; /* reads x milliseconds without a change: then it is waiting for the clock */

static inline uint64_t ns_of(const struct timespec *t) { return (uint64_t)t->tv_sec * second + (uint64_t)t->tv_nsec; }
static inline void put_ns(uint64_t ns, struct timespec *t) {
    t->tv_sec = (time_t)(ns / second);
    t->tv_nsec = (long)(ns % second);
}

PUBLIC int our_clock_gettime(clockid_t, struct timespec *) __asm__("clock_gettime");
static void *next_clock_gettime;

static uint64_t real(clockid_t clock) {
    struct timespec t;
    NEXT(clock_gettime)(clock, &t);
    return ns_of(&t);
}

static inline uint64_t shown(void) {
    uint64_t wall = __atomic_load_n(&page->wall_ns, __ATOMIC_RELAXED);
    return wall < me.refreshed || wall == me.beyond ? me.refreshed : wall;
}

static int precedes(const struct record *entry, const uint8_t lineage[16], uint64_t index) {
    int order = memcmp(entry->lineage, lineage, 16);
    return order < 0 || (order == 0 && entry->index < index);
}

/* The first recorded refresh of this lineage from `index` on, if it is of the same kind. */
static const struct record *find(const uint8_t lineage[16], uint64_t index) {
    if (!recorded) return NULL;
    uint64_t low = 0, high = recorded->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (precedes(&recorded->entries[middle], lineage, index))
            low = middle + 1;
        else
            high = middle;
    }
    const struct record *entry = &recorded->entries[low];
    if (low == recorded->count || memcmp(entry->lineage, lineage, 16) || entry->index >> 56 != index >> 56) return NULL;
    return entry;
}

/* The first recorded wait of this lineage that ran out when the clock showed more than `before`. */
static const struct record *wait_after(const uint8_t lineage[16], uint64_t before) {
    uint64_t low = 0, high = recorded ? recorded->count : 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct record *entry = &recorded->entries[middle];
        int order = memcmp(entry->lineage, lineage, 16);
        if (order < 0 || (order == 0 && (entry->index >> 56 < WAITED || (entry->index >> 56 == WAITED && entry->value <= before))))
            low = middle + 1;
        else
            high = middle;
    }
    if (!recorded || low == recorded->count) return NULL;
    const struct record *entry = &recorded->entries[low];
    return memcmp(entry->lineage, lineage, 16) || entry->index >> 56 != WAITED ? NULL : entry;
}

/* What a wait that ran out in a replay shows; `before` where it did not run out in the recording. */
static uint64_t after_wait(struct thread *t, uint64_t index, uint64_t before, uint64_t waited) {
    uint64_t next = __atomic_load_n(&page->next_ns, __ATOMIC_RELAXED);
    int logged = waited > least_move; /* one as short may have left no trace: only its own counts */
    const struct record *entry = logged ? wait_after(t->lineage, before) : find(t->lineage, index);
    if (entry && (logged || entry->index == index) && (!next || entry->value < next)) {
        t->owed = 0;
        return entry->value;
    }
    t->owed += waited;
    if (next && t->owed < most_owed) return before;
    waited = t->owed;
    t->owed = 0;
    return before + (waited > least_move ? waited : 0);
}

static void write_down(const uint8_t lineage[16], uint64_t index, uint64_t value) {
    if (!book) return;
    uint64_t place = __atomic_fetch_add(&book->records, 1, __ATOMIC_RELAXED);
    if (place >= RECORDS) return; /* the supervisor sees that there were more */
    struct record *entry = &book->entries[place];
    memcpy(entry->lineage, lineage, 16);
    entry->index = index;
    __atomic_store_n(&entry->value, value, __ATOMIC_RELEASE);
}

/* Have the thread see `now` until the page moves, also where that is ahead of it. */
static void show(struct thread *t, uint64_t now) {
    t->refreshed = t->last = now;
    t->beyond = __atomic_load_n(&page->wall_ns, __ATOMIC_RELAXED);
}

/* `least`: a deadline that has passed. `waited`: where a replay finds nothing recorded, that long has passed. */
static void refresh(uint64_t kind, uint64_t number, uint64_t least, uint64_t waited) {
    struct thread *t = self();
    uint64_t before = shown(), now, index = kind << 56 | number;
    int always = kind == STARTED || kind == REAPED;
    if (in_force(REPLAYED)) {
        const struct record *entry = kind == WAITED ? NULL : find(t->lineage, index);
        int found = entry && entry->index == index;
        if (kind == WAITED)
            now = after_wait(t, index, before, waited);
        else
            now = found ? entry->value : before + (waited > least_move ? waited : 0);
        if (kind == STARTED) t->followed = (uint32_t)found;
        if (always && found) {
            show(t, now);
            write_down(t->lineage, index, now);
            return;
        }
    } else {
        now = real(CLOCK_REALTIME) + (uint64_t)__atomic_load_n(&page->wall_offset_ns, __ATOMIC_RELAXED);
        if (kind == STARTED) t->followed = 1;
    }
    if (now < least) now = least;
    if (always && now <= before + least_move) now = before;
    if (now <= before && !always) return;
    if (always || now > before + least_move)
        write_down(t->lineage, index, now);
    else if (now != least)
        return;
    t->refreshed = t->last = now;
}

/* What one of the first reads of a process shows: in a replay, what it showed then. */
static uint64_t first_read(struct thread *t, uint64_t number, uint64_t value) {
    uint64_t index = (uint64_t)SEEN << 56 | number;
    if (in_force(REPLAYED)) {
        const struct record *entry = find(t->lineage, index);
        uint64_t then = entry && entry->index == index ? entry->value : t->last;
        if (then != value) show(t, value = then);
    }
    if (value != t->last) write_down(t->lineage, index, value);
    return t->last = value;
}

/* A wait of `waited` ns, or until the shown time `least`, has run out. */
static void ran_out(uint64_t least, uint64_t waited) {
    if (in_force(CLOCKED)) refresh(WAITED, ++self()->waits, least, waited);
}

/* A sleep, which nothing ends but time, has: the how-manieth it was is as in the recording. */
static void overslept(uint64_t least, uint64_t waited) {
    if (in_force(CLOCKED)) refresh(SLEPT, ++self()->sleeps, least, waited);
}

static void reaped(void) {
    if (in_force(CLOCKED)) refresh(REAPED, ++self()->reaps, 0, 0);
}

static void look_up_next_read(struct thread *t) {
    const struct record *entry = find(t->lineage, (uint64_t)READING << 56 | (t->reads + 1));
    t->next_read = entry ? entry->index & ~(0xffull << 56) : UINT64_MAX;
}

/* One read of the wall clock by the agent. */
static uint64_t read_wall(void) {
    struct thread *t = &me;
    if (!t->known) self();
    int replayed = in_force(REPLAYED);
    if (replayed && !t->next_read) look_up_next_read(t);
    uint64_t value = shown(), number = ++t->reads, now;
    if (t->followed && number <= FIRST_READS) value = first_read(t, number, value);
    if (replayed && number >= t->next_read) {
        refresh(READING, t->next_read, 0, 0);
        look_up_next_read(t);
        value = shown();
    }
    if (value != t->shown) {
        t->shown = value;
        t->same = 0;
        t->since = real(CLOCK_MONOTONIC_COARSE);
        return value;
    }
    t->same++;
    now = real(CLOCK_MONOTONIC_COARSE);
    uint64_t elapsed = now - t->since;
    if (elapsed < least_move || t->same * (elapsed / 1000000) < patience) return value;
    if (replayed) {
        /* It should have ended by now, and reads on: that time passes is better than a hang. */
        if (t->next_read != UINT64_MAX || elapsed < second || t->same * (elapsed / 1000000) < 8 * patience) return value;
        refresh(READING, number, 0, elapsed);
    } else {
        refresh(READING, number, 0, 0);
    }
    return shown();
}

static int is_wall(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM ||
           clock == CLOCK_TAI;
}
static int is_monotonic(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE ||
           clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM;
}

/* Whether this program makes names of files from the monotonic clock: coreutils' mktemp, by gnulib's gen_tempname. */
static int names_by_clock;

static int clock_read(clockid_t clock, struct timespec *out) {
    if (is_wall(clock)) {
        uint64_t value = read_wall();
        if (clock == CLOCK_TAI) value += (real(CLOCK_TAI) - real(CLOCK_REALTIME) + second / 2) / second * second;
        put_ns(value, out);
        return 0;
    }
    int answer = NEXT(clock_gettime)(clock, out);
    if (answer == 0 && names_by_clock && clock == CLOCK_MONOTONIC && in_force(SEEDED)) {
        uint64_t value;
        draw(&value, sizeof value);
        out->tv_nsec = (long)(value % second);
    }
    int64_t offset = __atomic_load_n(&page->mono_offset_ns, __ATOMIC_RELAXED);
    if (answer == 0 && offset && is_monotonic(clock)) put_ns(ns_of(out) + (uint64_t)offset, out);
    return answer;
}

PUBLIC int our_clock_gettime(clockid_t clock, struct timespec *out) {
    return in_force(CLOCKED) ? clock_read(clock, out) : NEXT(clock_gettime)(clock, out);
}

REPLACE(int, gettimeofday, (struct timeval *out, void *zone)) {
    asked_time_at = (uintptr_t)__builtin_return_address(0);
    if (!out || !in_force(CLOCKED)) return NEXT(gettimeofday)(out, zone);
    if (zone) memset(zone, 0, 8); /* as the kernel where nobody has set one */
    uint64_t value = read_wall();
    out->tv_sec = (time_t)(value / second);
    out->tv_usec = (suseconds_t)(value % second / 1000);
    return 0;
}

REPLACE(time_t, time, (time_t *out)) {
    if (!in_force(CLOCKED)) return NEXT(time)(out);
    time_t value = (time_t)(read_wall() / second);
    if (out) *out = value;
    return value;
}

REPLACE(int, timespec_get, (struct timespec *out, int base)) {
    if (base != 1 /* TIME_UTC */ || !in_force(CLOCKED)) return NEXT(timespec_get)(out, base);
    put_ns(read_wall(), out);
    return base;
}

struct old_timeb {
    time_t time;
    unsigned short millitm;
    short timezone, dstflag;
};
REPLACE(int, ftime, (struct old_timeb *out)) {
    if (!in_force(CLOCKED)) return NEXT(ftime)(out);
    uint64_t value = read_wall();
    *out = (struct old_timeb){(time_t)(value / second), (unsigned short)(value % second / 1000000), 0, 0};
    return 0;
}
