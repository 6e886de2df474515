/* The order in which processes end that one process started, and so the order in which it hears of them.
 *
 * Tools that an agent runs side by side end when they are through, which depends on how busy the machine is; what the agent
 * does next depends on which was first. So each process logs when it was about to end, under its own lineage and its
 * parent's (kind 7, the parent's in the index). One that would end right behind another waits until that has gone, and
 * their parent has nothing more to do: what the parent made of the two is the order of their ends, in a recording too. In
 * a replay each ends in its turn: after the one that ended before it in the recording, and no sooner after it than there
 * while the parent is at work. What comes out of a pipe is at its end then, too.
 *
 * An order of ends has no circle in it: nobody waited in the recording for one that ended later. A replay that went
 * another way may, so nobody is waited for that does nothing, nor for much longer than was lived in the recording. Not
 * reached: who is killed, and who ends by a system call of its own. Nothing here allocates: _exit is for signal handlers
 * and the children of fork, too.
 */

enum { ENDED = SEEN + 1 };
static const uint64_t millisecond = 1000000;
static const uint64_t least_settling = 20000000; /* ns of work: more than an event loop makes of an end, when it does so first */
static const uint64_t most_quiet = 500000000;    /* ns without anybody at work, of one that is waited for */
static const uint64_t most_unheard = 20000000;   /* ns that a parent does nothing about a child that has ended */
static const uint64_t most_starved = 500000000;  /* ns beyond four times what was allowed, on a busy machine */
static const uint64_t right_behind = 100000000;  /* ns: by then a parent has made of an end what it makes of it */
static const uint64_t most_longer = 5000000000;  /* ns beyond eight times what was lived in the recording */

static uint64_t started_at; /* monotonic: when this process or program did */
static uint32_t ending_as;  /* this process's number, once it ends */

static void nap(uint64_t ns) {
    struct timespec wait;
    put_ns(ns, &wait);
    raw(SYS_nanosleep, (long)&wait, 0, 0, 0, 0, 0);
}

static char *put_text(char *at, const char *text) {
    while (*text) *at++ = *text++;
    return at;
}

static char *put_number(char *at, uint32_t number) {
    char text[10];
    int length = 0;
    do text[length++] = (char)('0' + number % 10);
    while (number /= 10);
    while (length) *at++ = text[--length];
    return at;
}

/* What /proc/PROCESS/task[/THREAD/NAME] holds, at most `room` bytes and a NUL; its length, or less than 0. */
static long look_into(uint32_t process, uint32_t thread, const char *name, char *out, long room) {
    char path[64], *at = put_number(put_text(path, "/proc/"), process);
    at = put_text(at, "/task");
    if (thread) at = put_text(put_text(put_number(put_text(at, "/"), thread), "/"), name);
    *at = 0;
    long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0 || !thread) return fd;
    long length = raw(SYS_read, fd, (long)out, room - 1, 0, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
    out[length > 0 ? length : 0] = 0;
    return length;
}

static uint64_t number_at(const char **text) {
    uint64_t value = 0;
    while (**text == ' ') ++*text;
    while (**text >= '0' && **text <= '9') value = 10 * value + (uint64_t)(*(*text)++ - '0');
    return value;
}

/* What processes were seen at: whether one of their threads runs or wants to, and ns that they have run. */
struct look {
    int runs;
    uint64_t ran;
};

enum { MOST_LOOKED_AT = 64, MOST_LOGGED_SINCE = 4096, MOST_EMPTY = 4096 };
struct watched {
    uint32_t processes[MOST_LOOKED_AT];
    size_t count;
};

static void look_at_thread(uint32_t process, uint32_t thread, struct look *seen, struct watched *below) {
    char text[512];
    const char *at;
    if (look_into(process, thread, "stat", text, sizeof text) > 0 && (at = strrchr(text, ')')) && at[1])
        seen->runs |= at[2] == 'R' || at[2] == 'D';
    if (look_into(process, thread, "schedstat", text, sizeof text) > 0) {
        at = text;
        seen->ran += number_at(&at);
    }
    if (!below || look_into(process, thread, "children", text, sizeof text) <= 0) return;
    uint32_t child;
    for (at = text; below->count < MOST_LOOKED_AT && (child = (uint32_t)number_at(&at));)
        below->processes[below->count++] = child;
}

struct listed { /* as getdents64 has it */
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* Look at a process, and with `all` at what descends from it. One that has ended is not at work. */
static struct look look_at(uint32_t process, int all) {
    struct look seen = {0};
    struct watched watched = {{process}, 1};
    for (size_t next = 0; next < watched.count; next++) {
        char entries[1024] __attribute__((aligned(8)));
        long folder = look_into(watched.processes[next], 0, NULL, NULL, 0), got;
        if (folder < 0) continue;
        while ((got = raw(SYS_getdents64, folder, (long)entries, sizeof entries, 0, 0, 0)) > 0)
            for (long at = 0; at < got;) {
                const struct listed *entry = (const struct listed *)(entries + at);
                const char *name = entry->name;
                uint32_t thread = (uint32_t)number_at(&name);
                if (thread) look_at_thread(watched.processes[next], thread, &seen, all ? &watched : NULL);
                at += entry->bytes;
            }
        raw(SYS_close, folder, 0, 0, 0, 0, 0);
    }
    return seen;
}

static uint32_t parent_now(void) { return (uint32_t)raw(SYS_getppid, 0, 0, 0, 0, 0, 0); }

/* The index of an end below this process; 0 where nobody of the agent's hears of it. Those of a parent that has no
   lineage, a static program, count as one family. */
static uint64_t index_below(uint32_t parent) {
    uint64_t family = 1;
    if (parent <= 1) return 0;
    if (row(parent)->pid == parent) memcpy(&family, row(parent)->lineage, 7);
    return (uint64_t)ENDED << 56 | family;
}

/* The recorded end of this index that was the last before `value`. */
static const struct record *end_before(uint64_t index, uint64_t value) {
    const struct record *found = NULL;
    for (uint64_t at = 0; at < recorded->count; at++) {
        const struct record *entry = &recorded->entries[at];
        if (entry->index == index && entry->value < value && (!found || entry->value > found->value)) found = entry;
    }
    return found;
}

/* Whether that one has taken its turn here. What is before `*from` need not be looked at again. */
static int has_ended(const struct record *one, uint64_t *from) {
    uint64_t count = __atomic_load_n(&book->records, __ATOMIC_ACQUIRE);
    int whole = 1;
    if (count > RECORDS) count = RECORDS;
    for (uint64_t at = *from; at < count; at++) {
        const struct record *entry = &book->entries[at];
        int written = __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE) != 0;
        if (written && entry->index == one->index && !memcmp(entry->lineage, one->lineage, 16)) return 1;
        whole &= written;
        if (whole) *from = at + 1;
    }
    return 0;
}

/* In a recording: the end of this index that was logged last, if `value` is right behind it. */
static const struct record *end_right_before(uint64_t index, uint64_t value) {
    uint64_t count = __atomic_load_n(&book->records, __ATOMIC_ACQUIRE);
    const struct record *found = NULL;
    if (count > RECORDS) count = RECORDS;
    for (uint64_t at = count > MOST_LOGGED_SINCE ? count - MOST_LOGGED_SINCE : 0; at < count; at++) {
        const struct record *entry = &book->entries[at];
        uint64_t then = __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
        if (entry->index == index && then && then < value && (!found || then > found->value)) found = entry;
    }
    return found && value - found->value < right_behind ? found : NULL;
}

/* The number of the process that is of this lineage, or was when last seen; 0 if there is none. Numbers are given in
   their order: behind many that nobody has nobody is looked for. */
static uint32_t number_of(const uint8_t lineage[16]) {
    for (size_t at = 0, empty = 0; at < PROCESSES && empty < MOST_EMPTY; at++) {
        const struct process *one = &book->processes[at];
        empty = one->pid ? 0 : empty + 1;
        if (one->pid && !memcmp(one->lineage, lineage, 16)) return one->pid;
    }
    return 0;
}

/* The letter of a process's state, as proc(5) has it; 0 where there is none such any more. */
static char state_of(uint32_t process) {
    char text[512];
    const char *at;
    if (!process || look_into(process, process, "stat", text, sizeof text) <= 0) return 0;
    return (at = strrchr(text, ')')) && at[1] ? at[2] : 0;
}

/* Wait until that one has ended; 0: it has not, and does nothing that could bring it there. */
static int await_end(const struct record *one, uint32_t parent, uint64_t lived) {
    uint64_t from = 0, quiet = 0, ran = 0, pause = millisecond / 5, began = real(CLOCK_MONOTONIC);
    uint32_t process = 0;
    while (!has_ended(one, &from)) {
        uint64_t passed = real(CLOCK_MONOTONIC) - began;
        if (!in_force(REPLAYED) || parent_now() != parent || passed > 8 * lived + most_longer) return 0;
        if (!process) process = number_of(one->lineage);
        struct look seen = look_at(process ? process : parent, process != 0);
        quiet = seen.runs || seen.ran != ran ? 0 : quiet + pause;
        if (quiet > most_quiet) return 0;
        ran = seen.ran;
        nap(pause);
        if (pause < 5 * millisecond) pause *= 2;
    }
    return 1;
}

/* Wait until one that has taken its turn has gone, and its parent has heard of it: not for long where that does nothing,
   since some wait for their children in an order of their own. A parent that starts another just then sleeps, too. */
static void await_gone(const struct record *one, uint32_t parent) {
    uint32_t process = number_of(one->lineage);
    uint64_t spent = 0, quiet = 0, ran = 0;
    for (char state; (state = state_of(process)) != 0 && spent < most_quiet; spent += millisecond / 5) {
        struct look seen = look_at(parent, 0);
        quiet = state != 'Z' || seen.runs || seen.ran != ran ? 0 : quiet + millisecond / 5;
        if (quiet > most_unheard) return;
        ran = seen.ran;
        nap(millisecond / 5);
    }
}

/* Wait until a process has nothing more to do, or has run for `allowed` ns, in which it does something else. On a busy
   machine it may have to wait for a processor first. */
static void let_settle(uint32_t process, uint64_t allowed) {
    uint64_t began = real(CLOCK_MONOTONIC), before = look_at(process, 0).ran;
    for (;;) {
        struct look first = look_at(process, 0), second_look = look_at(process, 0);
        if (!first.runs && !second_look.runs && first.ran == second_look.ran) return;
        if (second_look.ran - before >= allowed) return;
        if (real(CLOCK_MONOTONIC) - began > 4 * allowed + most_starved) return;
        nap(millisecond / 5);
    }
}

static void await_turn(const struct record *own, uint32_t parent) {
    const struct record *before = end_before(own->index, own->value), *began = find(own->lineage, (uint64_t)STARTED << 56);
    uint64_t lived = began && began->index >> 56 == STARTED && began->value < own->value ? own->value - began->value : 0;
    uint64_t gap = before && own->value - before->value < lived ? own->value - before->value : lived;
    uint64_t now = real(CLOCK_MONOTONIC), from = 0, since = now - started_at;
    if (before && !has_ended(before, &from)) since = 0;
    if (before && !await_end(before, parent, lived)) return;
    if (before) await_gone(before, parent);
    let_settle(parent, gap > since + least_settling ? gap - since : least_settling);
}

/* This process is about to end. */
static void take_turn(void) {
    uint32_t pid = own_pid(), parent = parent_now();
    if (!in_force(CLOCKED) || !book || __atomic_exchange_n(&ending_as, pid, __ATOMIC_RELAXED) == pid) return;
    const struct process *mine = row(pid);
    uint64_t index = index_below(parent);
    if (!index || mine->pid != pid) return;
    if (in_force(REPLAYED)) {
        const struct record *own = find(mine->lineage, index);
        if (!own || own->index != index) return;
        await_turn(own, parent);
        write_down(mine->lineage, index, own->value);
    } else {
        uint64_t now = real(CLOCK_REALTIME) + (uint64_t)__atomic_load_n(&page->wall_offset_ns, __ATOMIC_RELAXED);
        write_down(mine->lineage, index, now);
        const struct record *before = end_right_before(index, now);
        if (!before) return;
        await_gone(before, parent);
        let_settle(parent, least_settling);
    }
}

static void ending(void) {
    int kept = errno;
    take_turn();
    errno = kept;
}

REPLACE(void, _exit, (int status)) {
    ending();
    for (;;) raw(SYS_exit_group, status, 0, 0, 0, 0, 0);
}
REPLACE(void, _Exit, (int status)) {
    ending();
    for (;;) raw(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/* By exit, or by coming back from main: this library was the first to be set up, and is the last to hear of it. */
__attribute__((destructor)) static void stop(void) { ending(); }
