/* Seeds that a program makes of its process number, which follows from what else was started at the same time.
 *
 * bash seeds $RANDOM with the time, its number and its parent's, asked for right after each other in one function. There,
 * and nowhere else, both numbers are draws: `$$`, $BASHPID and $PPID stay what the kernel says. No other program that was
 * looked at does so; what makes names or seeds of its number in another way has another one in a replay where processes
 * start side by side.
 */

static int seeds_by_number; /* this program is bash */
static uintptr_t asked_time_at;
enum { NEAR = 48 }; /* bytes of code between asking for the time and for the numbers */

static pid_t number_or_draw(long number, uintptr_t at) {
    uint32_t value;
    if (!seeds_by_number || at - asked_time_at >= NEAR || !in_force(SEEDED)) return (pid_t)raw(number, 0, 0, 0, 0, 0, 0);
    draw(&value, sizeof value);
    return (pid_t)(value >> 2);
}

REPLACE(pid_t, getpid, (void)) { return number_or_draw(SYS_getpid, (uintptr_t)__builtin_return_address(0)); }
REPLACE(pid_t, getppid, (void)) { return number_or_draw(SYS_getppid, (uintptr_t)__builtin_return_address(0)); }
