/* LD_PRELOAD inside the agent: the run's clock and randomness for whatever is linked against a libc.
 *
 * Advisory. A program that makes its own system calls, is linked statically, or takes LD_PRELOAD out of its environment
 * is not reached; the supervisor says in the record what it saw of these. Everything that the agent's processes write is
 * in the log alone, which is a claim of the agent's. Built for glibc, and fit to be loaded by musl: no name that musl
 * lacks is required. x86-64 and arm64.
 */

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/ground.h"
#include "preload/lineage.h"
#include "preload/random.h"
#include "preload/seeds.h"
#include "preload/clock.h"
#include "preload/ends.h"
#include "preload/waits.h"
#include "preload/folders.h"
#include "preload/notes.h"
#include "preload/processes.h"
