/* What everything else stands on: system calls without libc, the page and the log, and the next definition of a name.
 *
 * Always holds: nothing here allocates, takes a lock, or calls a function that this library replaces, so that it can
 * run before any constructor, in a signal handler, and between fork and exec.
 */

#define PUBLIC __attribute__((visibility("default")))

#if defined(__x86_64__)
static long raw(long number, long a, long b, long c, long d, long e, long f) {
    long answer;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
}
#elif defined(__aarch64__)
static long raw(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
#error "hark knows x86-64 and arm64"
#endif

/* A definition of `name` for every program, under a name of ours here: libc's headers may declare it otherwise. */
#define REPLACE(type, name, parameters)                                                                                \
    static void *next_##name __attribute__((unused));                                                                  \
    PUBLIC type our_##name parameters __asm__(#name);                                                                  \
    PUBLIC type our_##name parameters

/* The definition of `name` that the program would have had without us. */
#define NEXT(name) ((__typeof__(&our_##name))next_definition(&next_##name, #name))

static int absent(void) {
    errno = ENOSYS;
    return -1;
}

extern void *dlvsym(void *, const char *, const char *) __attribute__((weak)); /* musl has none */

static void *next_definition(void **slot, const char *name) {
    void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (found) return found;
    /* Its older version on x86-64 is for another layout of pthread_cond_t. */
    if (dlvsym && memcmp(name, "pthread_cond_", 13) == 0) found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (!found) found = dlsym(RTLD_NEXT, name);
    if (!found) found = (void *)absent;
    __atomic_store_n(slot, found, __ATOMIC_RELEASE);
    return found;
}

/* The page, which the supervisor writes and the agent reads; native byte order (launcher/pages.py). */
enum { EPOCHS = 126 };
struct page {
    char magic[8];
    uint64_t wall_ns;
    int64_t mono_offset_ns;
    uint32_t flags;
    uint32_t epoch; /* which of the seeds draws come from: written after it, and never less than before */
    uint8_t seeds[EPOCHS][32];
    int64_t wall_offset_ns; /* what the wall clock is beyond the machine's where a thread asks that */
    uint64_t next_ns;       /* in a replay: when what comes in next came in, or later than all; 0 where not known */
};
enum { SEEDED = 1, CLOCKED = 2, REPLAYED = 4 };

/* The log, which every process of the agent's writes: the supervisor believes nothing in it. */
enum { PROCESSES = 1 << 15, RECORDS = 1 << 18, PATH_BYTES = 1 << 18, KNOWN_PATHS = 1 << 12 };
enum { NOTES = 64, NOTE_BYTES = 256 };
struct process {
    uint32_t pid;
    uint32_t strays; /* children that came by a way that we do not see */
    uint8_t lineage[16];
};
struct record {
    uint8_t lineage[16];
    uint64_t index; /* which kind of refresh, in the high byte, and the how-manieth of the thread */
    uint64_t value;
};
struct log {
    char magic[8];
    uint64_t records; /* taken so far, beyond RECORDS too: what is over was dropped */
    uint64_t path_bytes;
    uint32_t strays;
    uint32_t zero;
    char reserved[4096 - 32];
    uint64_t paths_known[KNOWN_PATHS];
    struct process processes[PROCESSES];
    char paths[PATH_BYTES]; /* each ends with a NUL */
    struct record entries[RECORDS];
    char notes[NOTES][NOTE_BYTES]; /* the file's end: other shims count from there */
};

/* In a replay: the recorded refreshes, sorted by lineage and index. */
struct recorded {
    char magic[8];
    uint64_t count;
    struct record entries[];
};

static const struct page *page;
static struct log *book;
static const struct recorded *recorded;
static unsigned char *living; /* zero in a process that fork has just made */
static int opened;            /* 1 where there is a page, -1 where there is none */

#define PLACE "/run/hark/shim/"

/* Where what only a replay has is put: away from where the kernel puts mappings one below the other, so that
   everything that the program maps later lies where it lay in the recording (`id()` is an address). */
#define APART 0x2f0000000000

static void *map(const char *path, size_t bytes, int writable, long hint) {
    long fd = raw(SYS_openat, AT_FDCWD, (long)path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return NULL;
    struct stat status;
    long place = -1;
    if (raw(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) == 0 && (uint64_t)status.st_size >= (bytes ? bytes : 16))
        place = raw(SYS_mmap, hint, bytes ? (long)bytes : (long)status.st_size,
                    writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
    return place < 0 && place > -4096 ? NULL : (void *)place;
}

static int open_page(void) {
    const struct page *found = map(PLACE "page", 4096, 0, 0);
    int answer = -1;
    if (found && memcmp(found->magic, "HARKPG1", 8) == 0) {
        struct log *written = map(PLACE "log", sizeof(struct log), 1, 0);
        long mark = raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mark > 0 && raw(SYS_madvise, mark, 4096, 18 /* MADV_WIPEONFORK */, 0, 0, 0) == 0) {
            const struct recorded *old = found->flags & REPLAYED ? map(PLACE "clock", 0, 0, APART) : NULL;
            if (old && memcmp(old->magic, "HARKCK1", 8) == 0) recorded = old;
            book = written;
            page = found;
            __atomic_store_n(&living, (unsigned char *)mark, __ATOMIC_RELEASE);
            answer = 1;
        }
    }
    __atomic_store_n(&opened, answer, __ATOMIC_RELEASE);
    return answer;
}

/* Whether this process has a page with one of `flags`. Two threads may open it at once: one mapping is lost. */
static inline int in_force(uint32_t flags) {
    int known = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
    if (known == 0) known = open_page();
    return known > 0 && (__atomic_load_n(&page->flags, __ATOMIC_RELAXED) & flags) != 0;
}
