/* Prints what a static program finds in each source, one `name TAB value` a line. Run by what is recorded. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void hex(const char *name, const unsigned char *bytes, long count) {
    printf("%s\t%s", name, count < 0 ? "ERROR" : "");
    for (long i = 0; i < count; i++) printf("%02x", bytes[i]);
    puts("");
}

static void file(const char *name, const char *path) {
    unsigned char bytes[36];
    int fd = open(path, O_RDONLY);
    hex(name, bytes, fd < 0 ? -1 : read(fd, bytes, sizeof bytes));
    if (fd >= 0) close(fd);
}

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
    unsigned char bytes[16];
    struct timespec t;
    printf("wall\t%lld\n", now(CLOCK_REALTIME));
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    printf("wall.clock_gettime\t%lld.%09ld\n", (long long)t.tv_sec, t.tv_nsec);
    printf("monotonic\t%lld\n", now(CLOCK_MONOTONIC));
    long long before = now(CLOCK_REALTIME);
    usleep(1100000);
    long long after = now(CLOCK_REALTIME);
    printf("sleep\t%d %lld\n", after - before >= 1000000000, after);
    hex("getrandom.libc", bytes, getrandom(bytes, 16, 0));
    hex("getrandom", bytes, syscall(SYS_getrandom, bytes, 16, 0));
    printf("id\t%p\n", (void *)malloc(64));
    printf("pid\t%d %d\n", getpid(), getppid());
    char here[4096];
    printf("user\t%d %s %s\n", getuid(), getenv("HOME"), getcwd(here, sizeof here));
    struct utsname host;
    uname(&host);
    printf("host\t%s\n", host.nodename);
    mkdir("many", 0755);
    for (int number = 0; number < 60; number++) {
        char path[64];
        getrandom(bytes, 4, 0);
        snprintf(path, sizeof path, "many/%02x%02x%02x%02x-%d", bytes[0], bytes[1], bytes[2], bytes[3], number);
        close(open(path, O_WRONLY | O_CREAT, 0644));
    }
    printf("folder\t");
    DIR *folder = opendir("many");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') printf("%s ", strchr(entry->d_name, '-') + 1);
    puts("");
    struct stat status;
    close(open("made", O_WRONLY | O_CREAT, 0644));
    stat("made", &status);
    printf("file times\t%lld.%09ld\n", (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    char name[] = "XXXXXX";
    close(mkstemp(name));
    printf("names\t%s\n", name);
    tzset();
    printf("zone\t%s %ld\n", tzname[0], timezone);
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("cpus\t%d %ld\n", CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN));
    file("/dev/random", "/dev/random");
    file("/dev/urandom", "/dev/urandom");
    file("proc uuid", "/proc/sys/kernel/random/uuid");
    file("boot_id", "/proc/sys/kernel/random/boot_id");
    file("machine-id", "/etc/machine-id");
    return 0;
}
