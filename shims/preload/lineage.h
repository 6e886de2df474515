/* Who a thread is: not its number, which depends on what else was started, but the way by which it came to be.
 *
 * lineage(child) = hash(lineage of the thread that made it, how many that thread had made before in that way, and which).
 * It survives exec in the log's table of processes. A child that came by a way that we do not see (a raw clone, system(),
 * what a static program starts) is numbered by its parent's process, in the order in which such children start.
 */

enum { FORKED = 1, THREAD, SPAWNED, EXECUTED, STRAY, UNSEEN_THREAD, LABELLED };

enum { EXACT = 64, SIZES = EXACT + 1 + 26 }; /* up to 64 bytes each its own, then one for each power of two */

struct thread {
    uint8_t lineage[16];
    uint64_t made[SPAWNED + 1]; /* by the way: threads and processes may be made in another order each time */
    uint64_t draws[SIZES]; /* by how much is drawn (random.h) */
    uint64_t key_of; /* once `key` is that of `lineage`: one more than the epoch of its seed */
    uint32_t key[8];
    uint64_t refreshed; /* ns, what the thread's last refresh showed */
    uint64_t beyond;    /* in a replay: what the page said then, where it was further than the recorded one */
    uint64_t shown;     /* ns, what it was shown last */
    uint64_t last;      /* ns, of its first reads: what the one before it, or a refresh since, showed */
    uint64_t same;      /* reads since that changed, */
    uint64_t since;     /* and the monotonic time of the first */
    uint64_t reads, waits, reaps, sleeps;
    uint64_t owed; /* ns, in a replay: what waits took of which the recording knows nothing */
    uint64_t next_read; /* in a replay: the read at which the recorded one was refreshed; 0 where not looked up */
    uint32_t known;
    uint32_t followed; /* what its first reads show is logged, or was */
    uint32_t expected; /* fork is under way, and `child` is what it makes */
    uint8_t child[16];
};
static __thread struct thread me;
static uint32_t unseen_threads;
static int identified; /* this program has a lineage; fork keeps it, exec does not */

#define ROTATE(v, n) (((v) << (n)) | ((v) >> (32 - (n))))
#define QUARTER(a, b, c, d)                                                                                            \
    a += b, d = ROTATE(d ^ a, 16), c += d, b = ROTATE(b ^ c, 12), a += b, d = ROTATE(d ^ a, 8), c += d,                \
        b = ROTATE(b ^ c, 7)

/* One block of ChaCha20 (RFC 8439, 2.3). Both architectures are little-endian. */
static void chacha(const uint32_t key[8], uint32_t counter, const uint32_t nonce[3], uint32_t out[16]) {
    uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(in + 4, key, 32);
    in[12] = counter;
    memcpy(in + 13, nonce, 12);
    memcpy(out, in, 64);
    for (int round = 0; round < 10; round++) {
        QUARTER(out[0], out[4], out[8], out[12]);
        QUARTER(out[1], out[5], out[9], out[13]);
        QUARTER(out[2], out[6], out[10], out[14]);
        QUARTER(out[3], out[7], out[11], out[15]);
        QUARTER(out[0], out[5], out[10], out[15]);
        QUARTER(out[1], out[6], out[11], out[12]);
        QUARTER(out[2], out[7], out[8], out[13]);
        QUARTER(out[3], out[4], out[9], out[14]);
    }
    for (int i = 0; i < 16; i++) out[i] += in[i];
}

/* hash(lineage, number, way): the first 16 bytes of a block whose key they are, since a block is one-way. */
static void descend(const uint8_t from[16], uint64_t number, uint64_t way, uint8_t out[16]) {
    static const uint32_t nothing[3];
    uint32_t key[8], block[16];
    memcpy(key, from, 16);
    memcpy(key + 4, &number, 8);
    memcpy(key + 6, &way, 8);
    chacha(key, 0, nothing, block);
    memcpy(out, block, 16);
}

static inline uint32_t own_pid(void) { return (uint32_t)raw(SYS_getpid, 0, 0, 0, 0, 0, 0); }

static struct process *row(uint32_t pid) { return &book->processes[pid % PROCESSES]; }

/* Note under this process's number who it is, for the program that it may execute. */
static void settle(void) {
    if (book) {
        struct process *mine = row(own_pid());
        memcpy(mine->lineage, me.lineage, 16);
        mine->strays = 0;
        __atomic_store_n(&mine->pid, own_pid(), __ATOMIC_RELEASE);
    }
    me.known = 1;
    identified = 1;
    memset(me.made, 0, sizeof me.made);
    memset(me.draws, 0, sizeof me.draws);
    me.key_of = me.reads = me.waits = me.reaps = me.sleeps = me.owed = me.next_read = 0;
    __atomic_store_n(living, 1, __ATOMIC_RELEASE);
}

static void become_stray(void) {
    static const uint8_t nobody[16];
    uint32_t parent = (uint32_t)raw(SYS_getppid, 0, 0, 0, 0, 0, 0);
    if (!book)
        descend(nobody, own_pid(), STRAY, me.lineage);
    else if (row(parent)->pid == parent)
        descend(row(parent)->lineage, __atomic_fetch_add(&row(parent)->strays, 1, __ATOMIC_RELAXED), STRAY, me.lineage);
    else
        descend(nobody, __atomic_fetch_add(&book->strays, 1, __ATOMIC_RELAXED), STRAY, me.lineage);
    settle();
}

#define HANDED_OVER "HARK_LINEAGE="
enum { HANDED_BYTES = sizeof HANDED_OVER + 8 + 1 + 32 };

static const char digits[] = "0123456789abcdef";

/* `HARK_LINEAGE=` parent's number, `.`, lineage: what posix_spawn gives its child, which may run before we do. */
static void hand_over(char text[HANDED_BYTES], const uint8_t lineage[16]) {
    size_t at = sizeof HANDED_OVER - 1;
    uint32_t pid = own_pid();
    memcpy(text, HANDED_OVER, at);
    for (int shift = 28; shift >= 0; shift -= 4) text[at++] = digits[pid >> shift & 15];
    text[at++] = '.';
    for (int i = 0; i < 16; i++) text[at++] = digits[lineage[i] >> 4], text[at++] = digits[lineage[i] & 15];
    text[at] = 0;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Take it out of the environment; 1 if it was meant for this process and not for one that handed it on. */
static int take_over(char **environment, uint8_t lineage[16]) {
    int taken = 0;
    char **kept = environment;
    for (char **entry = environment; entry && *entry; entry++) {
        const char *text = *entry;
        if (strncmp(text, HANDED_OVER, sizeof HANDED_OVER - 1) != 0) {
            *kept++ = *entry;
            continue;
        }
        text += sizeof HANDED_OVER - 1;
        if (strlen(text) != 41) continue;
        uint32_t parent = 0;
        for (int i = 0; i < 8; i++) parent = parent << 4 | (uint32_t)(digit(text[i]) & 15);
        for (int i = 0; i < 16; i++) lineage[i] = (uint8_t)(digit(text[9 + 2 * i]) << 4 | (digit(text[10 + 2 * i]) & 15));
        taken = parent == (uint32_t)raw(SYS_getppid, 0, 0, 0, 0, 0, 0);
    }
    if (environment) *kept = NULL;
    return taken;
}

extern char **environ;

/* A program has started: it is who it was before exec, or who its parent said, or the next stray of its parent's. */
static void identify(void) {
    uint8_t given[16];
    uint32_t pid = own_pid();
    if (take_over(environ, given)) {
        memcpy(me.lineage, given, 16);
        settle();
    } else if (book && row(pid)->pid == pid) {
        descend(row(pid)->lineage, 0, EXECUTED, me.lineage);
        settle();
    } else {
        become_stray();
    }
}

/* The calling thread, with its lineage. Only where in_force. */
static struct thread *self(void) {
    if (!__atomic_load_n(living, __ATOMIC_ACQUIRE)) {
        if (!identified) {
            identify();
        } else if (me.expected) { /* a child of fork, before fork has returned in it */
            memcpy(me.lineage, me.child, 16);
            me.expected = 0;
            settle();
        } else {
            become_stray();
        }
    } else if (!me.known) {
        if (book && row(own_pid())->pid == own_pid())
            memcpy(me.lineage, row(own_pid())->lineage, 16);
        descend(me.lineage, __atomic_fetch_add(&unseen_threads, 1, __ATOMIC_RELAXED), UNSEEN_THREAD, me.lineage);
        me.known = 1;
    }
    return &me;
}

/* The lineage of what the calling thread is about to make. */
static void next_child(uint64_t way, uint8_t out[16]) {
    struct thread *t = self();
    descend(t->lineage, __atomic_fetch_add(&t->made[way], 1, __ATOMIC_RELAXED), way, out);
}

PUBLIC void hark_lineage(unsigned char out[16]) {
    if (in_force(SEEDED | CLOCKED))
        memcpy(out, self()->lineage, 16);
    else
        memset(out, 0, 16);
}
