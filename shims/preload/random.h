/* Randomness from the recorded seed: a draw depends on who draws, how much, and how often it has drawn that much before,
 * and on nothing else. So a library that wants one byte sooner or later (a timer's, a collector's) shifts no key or name.
 * Where a fork goes live its page has another seed, a new epoch, and every later draw comes from that one.
 *
 * draw n of a thread = ChaCha20 under the thread's key, from block 0, with nonce n (64 bits, little-endian) and the
 *                      number of its size (32 bits).
 * The thread's key  = the first half of a block under the seed: nonce the lineage's first 12 bytes, counter its last 4.
 * No number is used twice, also where a signal handler draws in the middle of a draw.
 */

/* The number of a size: 0 to 64 bytes, then the powers of two; below SIZES, since most_at_once is below 2^26. */
static unsigned size_of(size_t length) {
    if (length <= EXACT) return (unsigned)length;
    unsigned size = EXACT;
    while (length > EXACT && size < SIZES - 1) length >>= 1, size++;
    return size;
}

static void generate(const uint32_t key[8], uint64_t number, unsigned size, uint8_t *out, size_t length) {
    uint32_t nonce[3] = {(uint32_t)number, (uint32_t)(number >> 32), size}, block[16];
    for (uint32_t counter = 0; length; counter++) {
        size_t part = length < 64 ? length : 64;
        chacha(key, counter, nonce, block);
        memcpy(out, block, part);
        out += part;
        length -= part;
        if (counter == UINT32_MAX) nonce[2] += SIZES;
    }
}

static inline uint32_t epoch_now(void) { return __atomic_load_n(&page->epoch, __ATOMIC_ACQUIRE); }

static void key_for(const uint8_t lineage[16], uint32_t epoch, uint32_t key[8]) {
    uint32_t seed[8], nonce[3], counter, block[16];
    memcpy(seed, page->seeds[epoch < EPOCHS ? epoch : EPOCHS - 1], 32);
    memcpy(nonce, lineage, 12);
    memcpy(&counter, lineage + 12, 4);
    chacha(seed, counter, nonce, block);
    memcpy(key, block, 32);
}

static void draw(void *out, size_t length) {
    struct thread *t = self();
    uint64_t wanted = (uint64_t)epoch_now() + 1;
    uint32_t key[8]; /* of one's own: a signal handler that draws meanwhile may already draw from the next seed */
    int kept = __atomic_load_n(&t->key_of, __ATOMIC_ACQUIRE) == wanted;
    memcpy(key, t->key, sizeof key);
    if (!kept || __atomic_load_n(&t->key_of, __ATOMIC_ACQUIRE) != wanted) {
        key_for(t->lineage, (uint32_t)(wanted - 1), key);
        __atomic_store_n(&t->key_of, 0, __ATOMIC_RELEASE);
        memcpy(t->key, key, sizeof key);
        __atomic_store_n(&t->key_of, wanted, __ATOMIC_RELEASE);
    }
    unsigned size = size_of(length);
    generate(key, __atomic_fetch_add(&t->draws[size], 1, __ATOMIC_RELAXED), size, out, length);
}

/* For other shims: `length` bytes for the calling thread; 0, or -1 where the run's randomness is not the seed's.
 *
 * Without a label it is the thread's next draw. With one it is a function of seed, lineage and label alone: whoever
 * names its draws (a task, a context) numbers them in the label, and draws the same again for the same label.
 */
PUBLIC int hark_draw(const void *label, size_t bytes, void *out, size_t length) {
    if (!in_force(SEEDED)) return -1;
    if (!bytes) {
        draw(out, length);
        return 0;
    }
    uint8_t state[16];
    uint32_t key[8];
    descend(self()->lineage, bytes, LABELLED, state);
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t part = 0;
        memcpy(&part, (const char *)label + at, bytes - at < 8 ? bytes - at : 8);
        descend(state, part, LABELLED, state);
    }
    key_for(state, epoch_now(), key);
    generate(key, 0, 0, out, length);
    return 0;
}

/* As the kernel does: what is asked for at once is bounded. */
static const size_t most_at_once = 33554431;

/* A flag that no kernel has, for the shims of languages: not bytes, but the number of the epoch (4 bytes). */
enum { ASKS_EPOCH = 0x48520000 };

REPLACE(ssize_t, getrandom, (void *out, size_t length, unsigned flags)) {
    if (!in_force(SEEDED)) return NEXT(getrandom)(out, length, flags);
    if (flags == ASKS_EPOCH && out && length == 4) {
        uint32_t epoch = epoch_now();
        memcpy(out, &epoch, 4);
        return 4;
    }
    if (flags & ~7u) {
        errno = EINVAL;
        return -1;
    }
    if (!out && length) { /* other bad addresses are a fault here, and an error in the kernel */
        errno = EFAULT;
        return -1;
    }
    if (length > most_at_once) length = most_at_once;
    draw(out, length);
    return (ssize_t)length;
}

REPLACE(int, getentropy, (void *out, size_t length)) {
    if (!in_force(SEEDED)) return NEXT(getentropy)(out, length);
    if (length > 256) {
        errno = EIO;
        return -1;
    }
    draw(out, length);
    return 0;
}

REPLACE(void, arc4random_buf, (void *out, size_t length)) {
    if (in_force(SEEDED))
        draw(out, length);
    else
        NEXT(arc4random_buf)(out, length);
}

REPLACE(uint32_t, arc4random, (void)) {
    if (!in_force(SEEDED)) return NEXT(arc4random)();
    uint32_t value;
    draw(&value, sizeof value);
    return value;
}

REPLACE(uint32_t, arc4random_uniform, (uint32_t bound)) {
    if (!in_force(SEEDED)) return NEXT(arc4random_uniform)(bound);
    uint32_t value, least = bound ? -bound % bound : 0; /* what is below would favour the small */
    do draw(&value, sizeof value);
    while (value < least);
    return bound ? value % bound : 0;
}

/* The devices. A number that was seen as one is asked again at each read: it may have been closed since. */
enum { NOTED = 1024 };
static uint8_t noted[NOTED];

static int is_device(int fd) {
    struct stat status;
    if (raw(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) != 0 || (status.st_mode & S_IFMT) != S_IFCHR) return 0;
    return status.st_rdev == ((1 << 8) | 8) || status.st_rdev == ((1 << 8) | 9);
}

static int note(int fd) {
    if (fd >= 0 && fd < NOTED && is_device(fd)) __atomic_store_n(&noted[fd], 1, __ATOMIC_RELAXED);
    return fd;
}

static int names_device(const char *path) {
    return path && (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random"));
}

static int opens_device(const char *path, int fd) { return names_device(path) && in_force(SEEDED) ? note(fd) : fd; }

/* The kernel's own identifiers: a new one at each reading, and the one of this boot, which is another elsewhere. They
 * come through a pipe, since what a program does with what it has opened is to read it to its end. */
enum { NO_ID, NEW_ID, BOOT_ID };

static int names_id(const char *path) {
    if (!path || strncmp(path, "/proc/sys/kernel/random/", 24) != 0) return NO_ID;
    int kind = !strcmp(path + 24, "uuid") ? NEW_ID : !strcmp(path + 24, "boot_id") ? BOOT_ID : NO_ID;
    return kind && in_force(SEEDED) ? kind : NO_ID;
}

static void make_id(int kind, char text[37]) {
    static const uint8_t nobody[16];
    static const char letters[] = "0123456789abcdef";
    uint8_t bytes[16];
    uint32_t key[8];
    if (kind == NEW_ID) {
        draw(bytes, 16);
    } else {
        key_for(nobody, 0, key); /* a boot stays the same */
        generate(key, 0, 0, bytes, 16);
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x40; /* RFC 9562, 5.4 */
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    for (int i = 0; i < 16; i++) {
        *text++ = letters[bytes[i] >> 4], *text++ = letters[bytes[i] & 15];
        if (i == 3 || i == 5 || i == 7 || i == 9) *text++ = '-';
    }
    *text = '\n';
}

static int open_id(int kind, int flags) {
    char text[37];
    int ends[2];
    long failed = raw(SYS_pipe2, (long)ends, flags & (O_CLOEXEC | O_NONBLOCK), 0, 0, 0, 0);
    if (failed < 0) {
        errno = (int)-failed;
        return -1;
    }
    make_id(kind, text);
    raw(SYS_write, ends[1], (long)text, sizeof text, 0, 0, 0);
    raw(SYS_close, ends[1], 0, 0, 0, 0, 0);
    return ends[0];
}

#define IDENTIFIER(path, flags)                                                                                        \
    int kind = names_id(path);                                                                                         \
    if (kind && ((flags) & O_ACCMODE) == O_RDONLY) return open_id(kind, flags);

static int reads_device(int fd) {
    if (fd < 0 || fd >= NOTED || !__atomic_load_n(&noted[fd], __ATOMIC_RELAXED) || !in_force(SEEDED)) return 0;
    if (is_device(fd)) return 1;
    __atomic_store_n(&noted[fd], 0, __ATOMIC_RELAXED);
    return 0;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }

REPLACE(int, open, (const char *path, int flags, ...)) {
    MODE(flags)
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(open)(path, flags, mode));
}
REPLACE(int, open64, (const char *path, int flags, ...)) {
    MODE(flags)
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(open64)(path, flags, mode));
}
REPLACE(int, openat, (int folder, const char *path, int flags, ...)) {
    MODE(flags)
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(openat)(folder, path, flags, mode));
}
REPLACE(int, openat64, (int folder, const char *path, int flags, ...)) {
    MODE(flags)
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(openat64)(folder, path, flags, mode));
}
REPLACE(int, __open_2, (const char *path, int flags)) {
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(__open_2)(path, flags));
}
REPLACE(int, __open64_2, (const char *path, int flags)) {
    IDENTIFIER(path, flags)
    return opens_device(path, NEXT(__open64_2)(path, flags));
}
REPLACE(int, dup, (int fd)) {
    int made = NEXT(dup)(fd);
    return reads_device(fd) ? note(made) : made;
}
REPLACE(int, dup2, (int fd, int wanted)) {
    int made = NEXT(dup2)(fd, wanted);
    return reads_device(fd) ? note(made) : made;
}
REPLACE(int, dup3, (int fd, int wanted, int flags)) {
    int made = NEXT(dup3)(fd, wanted, flags);
    return reads_device(fd) ? note(made) : made;
}

static ssize_t from_device(void *out, size_t length) {
    if (length > most_at_once) length = most_at_once;
    draw(out, length);
    return (ssize_t)length;
}

REPLACE(ssize_t, read, (int fd, void *out, size_t length)) {
    return reads_device(fd) ? from_device(out, length) : NEXT(read)(fd, out, length);
}
REPLACE(ssize_t, __read_chk, (int fd, void *out, size_t length, size_t room)) {
    return reads_device(fd) && length <= room ? from_device(out, length) : NEXT(__read_chk)(fd, out, length, room);
}
REPLACE(ssize_t, readv, (int fd, const struct iovec *parts, int count)) {
    return reads_device(fd) && count > 0 ? from_device(parts[0].iov_base, parts[0].iov_len)
                                         : NEXT(readv)(fd, parts, count);
}
REPLACE(ssize_t, pread, (int fd, void *out, size_t length, off_t at)) {
    return reads_device(fd) ? from_device(out, length) : NEXT(pread)(fd, out, length, at);
}
REPLACE(ssize_t, pread64, (int fd, void *out, size_t length, off_t at)) {
    return reads_device(fd) ? from_device(out, length) : NEXT(pread64)(fd, out, length, at);
}

/* libc's own streams read without the function above. */
static ssize_t stream_read(void *cookie, char *out, size_t length) {
    (void)cookie;
    return from_device(out, length);
}
static int stream_close(void *cookie) { return (int)raw(SYS_close, (long)cookie, 0, 0, 0, 0, 0); }
static FILE *device_stream(const char *path, const char *mode) {
    long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0) {
        errno = (int)-fd;
        return NULL;
    }
    FILE *stream = fopencookie((void *)fd, mode, (cookie_io_functions_t){.read = stream_read, .close = stream_close});
#ifdef __GLIBC__
    if (stream) stream->_fileno = (int)fd; /* NSS asks what it has opened */
#endif
    if (!stream) raw(SYS_close, fd, 0, 0, 0, 0, 0);
    return stream;
}
static FILE *id_stream(int kind, const char *mode) {
    int fd = open_id(kind, strchr(mode, 'e') ? O_CLOEXEC : 0);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !stream) raw(SYS_close, fd, 0, 0, 0, 0, 0);
    return stream;
}
REPLACE(FILE *, fopen, (const char *path, const char *mode)) {
    int kind = names_id(path);
    if (kind && mode[0] == 'r' && !strchr(mode, '+')) return id_stream(kind, mode);
    return names_device(path) && mode[0] == 'r' && in_force(SEEDED) ? device_stream(path, mode) : NEXT(fopen)(path, mode);
}
REPLACE(FILE *, fopen64, (const char *path, const char *mode)) {
    int kind = names_id(path);
    if (kind && mode[0] == 'r' && !strchr(mode, '+')) return id_stream(kind, mode);
    return names_device(path) && mode[0] == 'r' && in_force(SEEDED) ? device_stream(path, mode) : NEXT(fopen64)(path, mode);
}

/* libc asks the kernel for the names of temporary files, not the function above. */
static int made_name(char *pattern, int suffix, int (*make)(char *, int), int flags) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t length = strlen(pattern);
    if (suffix < 0 || length < (size_t)suffix + 6 || memcmp(pattern + length - suffix - 6, "XXXXXX", 6) != 0) {
        errno = EINVAL;
        return -1;
    }
    for (int tries = 0; tries < 238328; tries++) { /* as libc: 62 to the third */
        uint8_t bytes[6];
        draw(bytes, 6);
        for (int i = 0; i < 6; i++) pattern[length - suffix - 6 + i] = letters[bytes[i] % 62];
        int made = make(pattern, flags);
        if (made >= 0 || errno != EEXIST) return made;
    }
    errno = EEXIST;
    return -1;
}
static int make_file(char *path, int flags) {
    return NEXT(open)(path, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
}
static int make_folder(char *path, int flags) {
    (void)flags;
    return mkdir(path, 0700);
}
#define TEMPORARY(name, parameters, given, suffix, flags)                                                              \
    REPLACE(int, name, parameters) {                                                                                   \
        return in_force(SEEDED) ? made_name(pattern, suffix, make_file, flags) : NEXT(name) given;                     \
    }
TEMPORARY(mkstemp, (char *pattern), (pattern), 0, 0)
TEMPORARY(mkstemp64, (char *pattern), (pattern), 0, 0)
TEMPORARY(mkostemp, (char *pattern, int flags), (pattern, flags), 0, flags)
TEMPORARY(mkostemp64, (char *pattern, int flags), (pattern, flags), 0, flags)
TEMPORARY(mkstemps, (char *pattern, int suffix), (pattern, suffix), suffix, 0)
TEMPORARY(mkstemps64, (char *pattern, int suffix), (pattern, suffix), suffix, 0)
TEMPORARY(mkostemps, (char *pattern, int suffix, int flags), (pattern, suffix, flags), suffix, flags)
TEMPORARY(mkostemps64, (char *pattern, int suffix, int flags), (pattern, suffix, flags), suffix, flags)
REPLACE(char *, mkdtemp, (char *pattern)) {
    if (!in_force(SEEDED)) return NEXT(mkdtemp)(pattern);
    return made_name(pattern, 0, make_folder, 0) < 0 ? NULL : pattern;
}
