/* Waits: what is given in the time that the agent sees is translated into the time that passes, and back.
 *
 * An absolute deadline of the shown wall clock lies as far from now in real time as it lies from what is shown, whether
 * the shown clock is ahead or behind. When it has passed, the clock shows at least it: `while time() < t: wait_until(t)`
 * ends. Relative waits are left alone, and are refresh points when they run out.
 */

/* `given` on `clock` as the kernel counts it; `given` itself where nothing is to be done or it is not valid. */
static const struct timespec *in_real_time(clockid_t clock, const struct timespec *given, struct timespec *room) {
    if (!given || given->tv_nsec < 0 || given->tv_nsec >= (long)second || !in_force(CLOCKED)) return given;
    if (given->tv_sec < 0 || given->tv_sec > (time_t)1 << 33) return given; /* for ever, or long ago */
    uint64_t wanted = ns_of(given), now, from;
    int64_t offset = __atomic_load_n(&page->mono_offset_ns, __ATOMIC_RELAXED);
    if (is_wall(clock)) {
        from = shown();
        now = real(CLOCK_REALTIME);
    } else if (is_monotonic(clock) && offset) {
        from = (uint64_t)offset;
        now = 0;
    } else {
        return given;
    }
    uint64_t answer = now + wanted < from ? 0 : now + wanted - from;
    put_ns(answer, room);
    return room;
}

/* When a wait began, where that matters: a replay lets the time of a wait pass that it finds no record of. */
static uint64_t beginning(void) { return in_force(REPLAYED) ? real(CLOCK_MONOTONIC) : 0; }

static uint64_t due(clockid_t clock, const struct timespec *given) {
    return is_wall(clock) && given->tv_sec < (time_t)1 << 33 && given->tv_sec >= 0 ? ns_of(given) : 0;
}

/* How the wait for a deadline ended: `given` is the agent's own, which has passed where `over`. */
static void until(clockid_t clock, const struct timespec *given, uint64_t began, int over) {
    if (!over || !given) return;
    int kept = errno;
    ran_out(due(clock, given), began ? real(CLOCK_MONOTONIC) - began : 0);
    errno = kept;
}

/* A relative wait, in ns. */
static void waited(uint64_t ns, int over) {
    if (!over || !ns) return;
    int kept = errno;
    ran_out(0, ns);
    errno = kept;
}

/* A relative sleep, in ns. */
static void slept(uint64_t ns, int over) {
    if (!over || !ns) return;
    int kept = errno;
    overslept(0, ns);
    errno = kept;
}

#define DEADLINE(clock, given)                                                                                         \
    struct timespec room_;                                                                                             \
    uint64_t began_ __attribute__((unused)) = beginning();                                                             \
    const struct timespec *deadline = in_real_time(clock, given, &room_)

/* --- sleeps */

REPLACE(int, nanosleep, (const struct timespec *wanted, struct timespec *left)) {
    int answer = NEXT(nanosleep)(wanted, left);
    slept(wanted ? ns_of(wanted) : 0, answer == 0);
    return answer;
}
REPLACE(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)) {
    if (!(flags & TIMER_ABSTIME)) {
        int answer = NEXT(clock_nanosleep)(clock, flags, wanted, left);
        slept(wanted ? ns_of(wanted) : 0, answer == 0);
        return answer;
    }
    DEADLINE(clock, wanted);
    int answer = NEXT(clock_nanosleep)(clock, flags, deadline, left);
    if (answer == 0 && wanted) overslept(due(clock, wanted), began_ ? real(CLOCK_MONOTONIC) - began_ : 0);
    return answer;
}
REPLACE(int, usleep, (unsigned us)) {
    int answer = NEXT(usleep)(us);
    slept((uint64_t)us * 1000, answer == 0);
    return answer;
}
REPLACE(unsigned, sleep, (unsigned seconds)) {
    unsigned left = NEXT(sleep)(seconds);
    slept((seconds - left) * second, 1);
    return left;
}

/* --- descriptors */

REPLACE(int, poll, (struct pollfd * fds, nfds_t count, int ms)) {
    int answer = NEXT(poll)(fds, count, ms);
    (count ? waited : slept)(ms > 0 ? (uint64_t)ms * 1000000 : 0, answer == 0);
    return answer;
}
REPLACE(int, __poll_chk, (struct pollfd * fds, nfds_t count, int ms, size_t room)) {
    int answer = NEXT(__poll_chk)(fds, count, ms, room);
    waited(ms > 0 ? (uint64_t)ms * 1000000 : 0, answer == 0);
    return answer;
}
REPLACE(int, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask)) {
    int answer = NEXT(ppoll)(fds, count, wait, mask);
    waited(wait ? ns_of(wait) : 0, answer == 0);
    return answer;
}
REPLACE(int, __ppoll_chk,
        (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask, size_t room)) {
    int answer = NEXT(__ppoll_chk)(fds, count, wait, mask, room);
    waited(wait ? ns_of(wait) : 0, answer == 0);
    return answer;
}
REPLACE(int, select, (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *wait)) {
    uint64_t ns = wait ? (uint64_t)wait->tv_sec * second + (uint64_t)wait->tv_usec * 1000 : 0;
    int answer = NEXT(select)(count, in, out, other, wait);
    (in || out || other ? waited : slept)(ns, answer == 0); /* Python 3.10 sleeps by it */
    return answer;
}
REPLACE(int, pselect,
        (int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *wait, const sigset_t *mask)) {
    int answer = NEXT(pselect)(count, in, out, other, wait, mask);
    waited(wait ? ns_of(wait) : 0, answer == 0);
    return answer;
}
REPLACE(int, epoll_wait, (int fd, struct epoll_event *events, int most, int ms)) {
    int answer = NEXT(epoll_wait)(fd, events, most, ms);
    waited(ms > 0 ? (uint64_t)ms * 1000000 : 0, answer == 0);
    return answer;
}
REPLACE(int, epoll_pwait, (int fd, struct epoll_event *events, int most, int ms, const sigset_t *mask)) {
    int answer = NEXT(epoll_pwait)(fd, events, most, ms, mask);
    waited(ms > 0 ? (uint64_t)ms * 1000000 : 0, answer == 0);
    return answer;
}
REPLACE(int, epoll_pwait2,
        (int fd, struct epoll_event *events, int most, const struct timespec *wait, const sigset_t *mask)) {
    int answer = NEXT(epoll_pwait2)(fd, events, most, wait, mask);
    waited(wait ? ns_of(wait) : 0, answer == 0);
    return answer;
}

/* --- threads: these return the error */

/* One function that waits until a deadline of `clock`; `over` of its `answer` says that it has passed. */
#define WAIT_UNTIL(type, name, parameters, given, clock, over, ...)                                                    \
    REPLACE(type, name, parameters) {                                                                                  \
        DEADLINE(clock, given);                                                                                        \
        type answer = NEXT(name)(__VA_ARGS__);                                                                         \
        until(clock, given, began_, over);                                                                                     \
        return answer;                                                                                                 \
    }
#define LATE (answer == ETIMEDOUT)
#define LATE_BY_ERRNO (answer == -1 && errno == ETIMEDOUT)

/* Which clock a condition variable was made for, where its attribute said so. */
static clockid_t clock_of(const pthread_cond_t *condition) {
#ifdef __GLIBC__
    return condition->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
#else
    return ((const int *)condition)[4]; /* musl: _c_clock */
#endif
}

WAIT_UNTIL(int, pthread_cond_timedwait, (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *given),
           given, clock_of(cond), LATE, cond, mutex, deadline)
WAIT_UNTIL(int, pthread_cond_clockwait,
           (pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *given), given, clock,
           LATE, cond, mutex, clock, deadline)
WAIT_UNTIL(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *given), given, CLOCK_REALTIME,
           LATE, mutex, deadline)
WAIT_UNTIL(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *given),
           given, clock, LATE, mutex, clock, deadline)
WAIT_UNTIL(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *given), given,
           CLOCK_REALTIME, LATE, lock, deadline)
WAIT_UNTIL(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *given), given,
           CLOCK_REALTIME, LATE, lock, deadline)
WAIT_UNTIL(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *given),
           given, clock, LATE, lock, clock, deadline)
WAIT_UNTIL(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *given),
           given, clock, LATE, lock, clock, deadline)
WAIT_UNTIL(int, pthread_timedjoin_np, (pthread_t thread, void **out, const struct timespec *given), given,
           CLOCK_REALTIME, LATE, thread, out, deadline)
WAIT_UNTIL(int, pthread_clockjoin_np, (pthread_t thread, void **out, clockid_t clock, const struct timespec *given),
           given, clock, LATE, thread, out, clock, deadline)
WAIT_UNTIL(int, sem_timedwait, (sem_t * semaphore, const struct timespec *given), given, CLOCK_REALTIME, LATE_BY_ERRNO,
           semaphore, deadline)
WAIT_UNTIL(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *given), given, clock,
           LATE_BY_ERRNO, semaphore, clock, deadline)
WAIT_UNTIL(int, mq_timedsend, (mqd_t queue, const char *text, size_t bytes, unsigned rank, const struct timespec *given),
           given, CLOCK_REALTIME, LATE_BY_ERRNO, queue, text, bytes, rank, deadline)
WAIT_UNTIL(ssize_t, mq_timedreceive,
           (mqd_t queue, char *text, size_t bytes, unsigned *rank, const struct timespec *given), given, CLOCK_REALTIME,
           LATE_BY_ERRNO, queue, text, bytes, rank, deadline)

REPLACE(int, cnd_timedwait, (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *given)) {
    DEADLINE(CLOCK_REALTIME, given);
    int answer = NEXT(cnd_timedwait)(cond, mutex, deadline);
    until(CLOCK_REALTIME, given, began_, answer == 4 /* thrd_timedout */);
    return answer;
}
REPLACE(int, mtx_timedlock, (pthread_mutex_t * mutex, const struct timespec *given)) {
    DEADLINE(CLOCK_REALTIME, given);
    int answer = NEXT(mtx_timedlock)(mutex, deadline);
    until(CLOCK_REALTIME, given, began_, answer == 4 /* thrd_timedout */);
    return answer;
}

REPLACE(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *wait)) {
    int answer = NEXT(sigtimedwait)(set, info, wait);
    waited(wait ? ns_of(wait) : 0, answer == -1 && errno == EAGAIN);
    return answer;
}

/* --- timers */

enum { TIMERS = 256 };
static timer_t wall_timers[TIMERS];
static uint32_t timers_made;

REPLACE(int, timer_create, (clockid_t clock, struct sigevent *event, timer_t *out)) {
    int answer = NEXT(timer_create)(clock, event, out);
    uint32_t place = answer == 0 && is_wall(clock) ? __atomic_fetch_add(&timers_made, 1, __ATOMIC_RELAXED) : TIMERS;
    if (place < TIMERS) wall_timers[place] = *out;
    return answer;
}
REPLACE(int, timer_settime, (timer_t timer, int flags, const struct itimerspec *given, struct itimerspec *old)) {
    struct itimerspec changed;
    uint32_t made = __atomic_load_n(&timers_made, __ATOMIC_RELAXED);
    clockid_t clock = CLOCK_MONOTONIC;
    for (uint32_t i = 0; i < made && i < TIMERS; i++)
        if (wall_timers[i] == timer) clock = CLOCK_REALTIME;
    if (flags & TIMER_ABSTIME && given && ns_of(&given->it_value)) {
        DEADLINE(clock, &given->it_value);
        changed.it_interval = given->it_interval;
        changed.it_value = *deadline;
        return NEXT(timer_settime)(timer, flags, &changed, old);
    }
    return NEXT(timer_settime)(timer, flags, given, old);
}

/* The clock of a timer's descriptor, which may have come by dup or from another process: the kernel knows. */
static clockid_t clock_of_descriptor(int fd) {
    char path[64] = "/proc/self/fdinfo/", text[512];
    size_t at = strlen(path), length = 1;
    for (int rest = fd; rest >= 10; rest /= 10) length++;
    for (size_t i = length; i-- > 0; fd /= 10) path[at + i] = (char)('0' + fd % 10);
    path[at + length] = 0;
    long info = raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (info < 0) return CLOCK_MONOTONIC;
    long got = raw(SYS_read, info, (long)text, sizeof text - 1, 0, 0, 0);
    raw(SYS_close, info, 0, 0, 0, 0, 0);
    text[got > 0 ? got : 0] = 0;
    const char *found = strstr(text, "clockid: ");
    return found ? atoi(found + 9) : CLOCK_MONOTONIC;
}
REPLACE(int, timerfd_settime, (int fd, int flags, const struct itimerspec *given, struct itimerspec *old)) {
    struct itimerspec changed;
    if (!(flags & 1 /* TFD_TIMER_ABSTIME */) || fd < 0 || !given || !ns_of(&given->it_value) || !in_force(CLOCKED))
        return NEXT(timerfd_settime)(fd, flags, given, old);
    DEADLINE(clock_of_descriptor(fd), &given->it_value);
    changed.it_interval = given->it_interval;
    changed.it_value = *deadline;
    return NEXT(timerfd_settime)(fd, flags, &changed, old);
}

/* --- children */

#define REAPS(name, parameters, reaped_one, ...)                                                                       \
    REPLACE(pid_t, name, parameters) {                                                                                 \
        pid_t answer = NEXT(name)(__VA_ARGS__);                                                                        \
        if (reaped_one) reaped();                                                                                      \
        return answer;                                                                                                 \
    }
REAPS(wait, (int *status), answer > 0, status)
REAPS(waitpid, (pid_t pid, int *status, int options), answer > 0, pid, status, options)
REAPS(wait3, (int *status, int options, struct rusage *usage), answer > 0, status, options, usage)
REAPS(wait4, (pid_t pid, int *status, int options, struct rusage *usage), answer > 0, pid, status, options, usage)
REAPS(waitid, (int type, id_t id, siginfo_t *info, int options), answer == 0 && (!info || info->si_pid), type, id, info,
      options)

/* --- system calls made by number, as Rust, libstdc++ and language runtimes make them */

enum { FUTEX_LOCK_PI_ = 6, FUTEX_WAIT_BITSET_ = 9, FUTEX_LOCK_PI2_ = 13, FUTEX_COMMAND_ = 127, FUTEX_REALTIME_ = 256 };

static long futex(long word, long operation, long value, const struct timespec *given, long other, long bits) {
    int command = operation & FUTEX_COMMAND_;
    int absolute = command == FUTEX_WAIT_BITSET_ || command == FUTEX_LOCK_PI_ || command == FUTEX_LOCK_PI2_;
    clockid_t clock =
        operation & FUTEX_REALTIME_ || command == FUTEX_LOCK_PI_ ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (!absolute && command != 0 /* FUTEX_WAIT */)
        return raw(SYS_futex, word, operation, value, (long)given, other, bits);
    if (!absolute) {
        long answer = raw(SYS_futex, word, operation, value, (long)given, other, bits);
        waited(given ? ns_of(given) : 0, answer == -ETIMEDOUT);
        return answer;
    }
    DEADLINE(clock, given);
    long answer = raw(SYS_futex, word, operation, value, (long)deadline, other, bits);
    until(clock, given, began_, answer == -ETIMEDOUT);
    return answer;
}

REPLACE(long, syscall, (long number, ...)) {
    va_list given;
    long a[6], answer;
    va_start(given, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(given, long);
    va_end(given);
    if (number == SYS_getrandom && in_force(SEEDED)) return our_getrandom((void *)a[0], (size_t)a[1], (unsigned)a[2]);
    if (number == SYS_clock_gettime && in_force(CLOCKED)) return clock_read((clockid_t)a[0], (struct timespec *)a[1]);
    if (number == SYS_exit_group) ending();
    if (number == SYS_futex)
        answer = futex(a[0], a[1], a[2], (const struct timespec *)a[3], a[4], a[5]);
    else
        answer = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (answer < 0 && answer > -4096) {
        errno = (int)-answer;
        return -1;
    }
    return answer;
}
