/* The order of a directory: by name, and not as the file system has it, which a replay's copy lies on another of.
 *
 * The first read of a stream takes all of its entries at once, MOST at most (what is beyond comes after, in the order of
 * the file system), and gives them by name. A position is the number of entries given. /proc and other file systems of
 * the kernel's own are left as they are: their order is that of numbers. No lock: a stream is one thread's at a time,
 * as libc demands of readdir, and a slot is taken by exchange. Where there is no slot or no memory, the order is the
 * file system's.
 */

#include <dirent.h>
#include <sys/vfs.h>

enum { STREAMS = 256, MOST = 1 << 16 };
struct listing {
    size_t count, next, room;
    struct dirent **entries;
    int whole; /* whether the stream has nothing beyond */
};
struct stream {
    DIR *of;
    struct listing *has; /* NULL where it was not read yet, or is not to be sorted */
    int plain;
};
static struct stream streams[STREAMS];

PUBLIC struct dirent *our_readdir(DIR *) __asm__("readdir");
static void *next_readdir;

static struct stream *stream_of(DIR *stream, int make) {
    size_t first = ((uintptr_t)stream >> 4) % STREAMS;
    for (size_t i = 0; i < STREAMS; i++) {
        struct stream *slot = &streams[(first + i) % STREAMS];
        if (__atomic_load_n(&slot->of, __ATOMIC_ACQUIRE) == stream) return slot;
    }
    for (size_t i = 0; make && i < STREAMS; i++) {
        struct stream *slot = &streams[(first + i) % STREAMS];
        DIR *none = NULL;
        if (__atomic_compare_exchange_n(&slot->of, &none, stream, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return slot;
    }
    return NULL;
}

static void drop(struct stream *slot) {
    struct listing *has = slot->has;
    slot->has = NULL;
    if (!has) return;
    for (size_t i = 0; i < has->count; i++) free(has->entries[i]);
    free(has->entries);
    free(has);
}

static int by_name(const void *one, const void *other) {
    return strcmp((*(struct dirent *const *)one)->d_name, (*(struct dirent *const *)other)->d_name);
}

/* Whether the kernel makes up what stands there. */
static int is_the_kernels(DIR *stream) {
    struct statfs status;
    if (raw(SYS_fstatfs, dirfd(stream), (long)&status, 0, 0, 0, 0) != 0) return 1;
    return status.f_type == 0x9fa0 /* proc */ || status.f_type == 0x62656572 /* sysfs */ ||
           status.f_type == 0x27e0eb /* cgroup */ || status.f_type == 0x63677270 /* cgroup2 */ ||
           status.f_type == 0x1cd1 /* devpts */;
}

static int keep(struct listing *has, const struct dirent *entry) {
    if (has->count == has->room) {
        size_t room = has->room ? has->room * 2 : 64;
        struct dirent **more = realloc(has->entries, room * sizeof *more);
        if (!more) return 0;
        has->entries = more;
        has->room = room;
    }
    struct dirent *copy = malloc(sizeof *copy);
    if (!copy) return 0;
    memcpy(copy, entry, entry->d_reclen < sizeof *copy ? entry->d_reclen : sizeof *copy);
    has->entries[has->count++] = copy;
    return 1;
}

static struct listing *list(DIR *stream) {
    struct listing *has = calloc(1, sizeof *has);
    if (!has) return NULL;
    int kept = errno;
    errno = 0;
    struct dirent *entry = NULL;
    while (has->count < MOST && (entry = NEXT(readdir)(stream)))
        if (!keep(has, entry)) break; /* no memory: this one entry is lost with much else */
    has->whole = !entry && !errno;
    errno = kept;
    if (has->count > 1) qsort(has->entries, has->count, sizeof *has->entries, by_name);
    for (size_t i = 0; i < has->count; i++) has->entries[i]->d_off = (off_t)i + 1;
    return has;
}

/* The listing of a stream, read where it was not; NULL where it is not sorted. */
static struct listing *listing(DIR *stream) {
    struct stream *slot = stream && in_force(SEEDED) ? stream_of(stream, 1) : NULL;
    if (!slot || slot->plain) return NULL;
    if (!slot->has) {
        slot->plain = is_the_kernels(stream);
        if (!slot->plain) slot->has = list(stream);
    }
    return slot->has;
}

PUBLIC struct dirent *our_readdir(DIR *stream) {
    struct listing *has = listing(stream);
    if (!has) return NEXT(readdir)(stream);
    if (has->next < has->count) return has->entries[has->next++];
    return has->whole ? NULL : NEXT(readdir)(stream);
}

/* On 64 bits the names with a 64 are for the same structures, and not every libc has them. */
REPLACE(struct dirent *, readdir64, (DIR * stream)) { return our_readdir(stream); }

static int read_into(DIR *stream, struct dirent *out, struct dirent **answer) {
    int kept = errno;
    errno = 0;
    struct dirent *entry = our_readdir(stream);
    int failed = entry ? 0 : errno;
    errno = kept;
    if (entry) memcpy(out, entry, entry->d_reclen < sizeof *out ? entry->d_reclen : sizeof *out);
    *answer = entry ? out : NULL;
    return failed;
}
REPLACE(int, readdir64_r, (DIR * stream, struct dirent *out, struct dirent **answer)) {
    return read_into(stream, out, answer);
}
REPLACE(int, readdir_r, (DIR * stream, struct dirent *out, struct dirent **answer)) {
    return read_into(stream, out, answer);
}

REPLACE(long, telldir, (DIR * stream)) {
    struct listing *has = listing(stream);
    return has ? (long)has->next : NEXT(telldir)(stream);
}
REPLACE(void, seekdir, (DIR * stream, long place)) {
    struct listing *has = listing(stream);
    if (!has)
        NEXT(seekdir)(stream, place);
    else if (place >= 0 && (size_t)place <= has->count)
        has->next = (size_t)place;
}
REPLACE(void, rewinddir, (DIR * stream)) {
    struct stream *slot = stream_of(stream, 0);
    if (slot) drop(slot);
    NEXT(rewinddir)(stream);
}
REPLACE(int, closedir, (DIR * stream)) {
    struct stream *slot = stream ? stream_of(stream, 0) : NULL;
    if (slot) {
        drop(slot);
        slot->plain = 0;
        __atomic_store_n(&slot->of, NULL, __ATOMIC_RELEASE);
    }
    return NEXT(closedir)(stream);
}
