/* Where threads and processes come from, and what happens when a program starts. */

static void begin(const struct thread *parent, const uint8_t lineage[16]) {
    uint64_t refreshed = parent->refreshed, beyond = parent->beyond;
    memset(&me, 0, sizeof me);
    memcpy(me.lineage, lineage, 16);
    me.refreshed = refreshed;
    me.beyond = beyond;
    me.known = 1;
}

struct start {
    void *(*run)(void *);
    void *argument;
    struct thread parent;
    uint8_t lineage[16];
};

static void *thread_start(void *given) {
    struct start start = *(struct start *)given;
    free(given);
    begin(&start.parent, start.lineage);
    return start.run(start.argument);
}

REPLACE(int, pthread_create, (pthread_t * out, const pthread_attr_t *how, void *(*run)(void *), void *argument)) {
    struct start *start = in_force(SEEDED | CLOCKED) ? malloc(sizeof *start) : NULL;
    if (!start) return NEXT(pthread_create)(out, how, run, argument);
    start->run = run;
    start->argument = argument;
    next_child(THREAD, start->lineage);
    start->parent = me;
    int answer = NEXT(pthread_create)(out, how, thread_start, start);
    if (answer) free(start);
    return answer;
}

/* Between `expect` and `forked` the child may run handlers that draw: it finds there who it is. */
static void expect(uint8_t kept[16]) {
    next_child(FORKED, kept);
    memcpy(me.child, kept, 16);
    me.expected = 1;
}
static pid_t forked(pid_t pid) {
    if (pid == 0) self();
    me.expected = 0;
    if (pid == 0 && in_force(CLOCKED)) {
        int kept = errno;
        started_at = real(CLOCK_MONOTONIC);
        refresh(STARTED, 0, 0, 0);
        errno = kept;
    }
    return pid;
}

REPLACE(pid_t, fork, (void)) {
    uint8_t child[16];
    if (!in_force(SEEDED | CLOCKED)) return NEXT(fork)();
    expect(child);
    return forked(NEXT(fork)());
}
REPLACE(pid_t, _Fork, (void)) {
    uint8_t child[16];
    if (!in_force(SEEDED | CLOCKED)) return NEXT(_Fork)();
    expect(child);
    return forked(NEXT(_Fork)());
}
/* As fork: a function that calls vfork may not return in the child, and this one is between. */
REPLACE(pid_t, vfork, (void)) { return our_fork(); }

/* The child may run before posix_spawn has told us its number: so who it is goes with its environment. */
enum { MOST_VARIABLES = 4096 };

/* Whether a shim of this process's language has said who the child is. */
static int is_handed_over(const char *text) {
    char own[HANDED_BYTES];
    static const uint8_t nobody[16];
    if (strncmp(text, HANDED_OVER, sizeof HANDED_OVER - 1) != 0) return 0;
    hand_over(own, nobody);
    return strncmp(text, own, sizeof HANDED_OVER - 1 + 9) == 0;
}

#define SPAWN(name)                                                                                                    \
    REPLACE(int, name,                                                                                                 \
            (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *how,   \
             char *const argv[], char *const env[])) {                                                                 \
        size_t count = 0;                                                                                              \
        int said = 0;                                                                                                  \
        for (; env && env[count]; count++) said |= is_handed_over(env[count]);                                         \
        if (!in_force(SEEDED | CLOCKED) || !env || count > MOST_VARIABLES || said)                                     \
            return NEXT(name)(pid, path, actions, how, argv, env);                                                     \
        char text[HANDED_BYTES], *more[count + 2];                                                                     \
        uint8_t lineage[16];                                                                                           \
        next_child(SPAWNED, lineage);                                                                                  \
        hand_over(text, lineage);                                                                                      \
        memcpy(more, env, count * sizeof *more);                                                                       \
        more[count] = text;                                                                                            \
        more[count + 1] = NULL;                                                                                        \
        return NEXT(name)(pid, path, actions, how, argv, more);                                                        \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* Tell the supervisor which program this is, once. */
static void name_program(void) {
    char path[4096];
    if (!book) return;
    long length = raw(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, sizeof path - 1, 0, 0);
    if (length <= 0) return;
    path[length++] = 0;
    names_by_clock = length > 8 && !memcmp(path + length - 8, "/mktemp", 8);
    seeds_by_number = length > 6 && !memcmp(path + length - 6, "/bash", 6);
    uint64_t hash = 1469598103934665603u, none = 0; /* FNV-1a */
    for (long i = 0; i < length; i++) hash = (hash ^ (uint8_t)path[i]) * 1099511628211u;
    hash |= 1;
    for (uint64_t tries = 0; tries < 64; tries++, none = 0) {
        uint64_t *slot = &book->paths_known[(hash + tries) % KNOWN_PATHS];
        if (__atomic_compare_exchange_n(slot, &none, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            uint64_t place = __atomic_fetch_add(&book->path_bytes, (uint64_t)length, __ATOMIC_RELAXED);
            if (place + (uint64_t)length <= PATH_BYTES) memcpy(book->paths + place, path, (size_t)length);
            return;
        }
        if (none == hash) return;
    }
}

/* The kernel's 16 bytes for the program, from which some seed their tables. */
static void settle_auxiliary(void) {
    void *bytes = (void *)getauxval(AT_RANDOM);
    if (bytes && in_force(SEEDED)) draw(bytes, 16);
}

__attribute__((constructor)) static void start(void) {
    if (!in_force(SEEDED | CLOCKED)) return;
    self();
    NEXT(fork); /* looked up now: between fork and exec there is no asking the loader */
    NEXT(clock_gettime);
    NEXT(read);
    NEXT(open);
    NEXT(dup2);
    settle_auxiliary();
    name_program();
    if (page->flags & SEEDED) note_isolated_python();
    for (int fd = 0; fd < 3 && page->flags & SEEDED; fd++) note(fd);
    if (page->flags & CLOCKED) {
        started_at = real(CLOCK_MONOTONIC);
        refresh(STARTED, 0, 0, 0);
    }
}
