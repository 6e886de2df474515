/* What a shim has to say to the supervisor in words: `shim NUL what NUL why`, each sentence once.
 *
 * Here: a Python that was told to load no sitecustomize, so that its draws go by thread and not by task. Said by this
 * library, because nothing else of ours runs in it.
 */

static void say(const char *text, size_t length) {
    if (!book || length >= NOTE_BYTES) return;
    for (int i = 0; i < NOTES; i++) {
        char *note = book->notes[i];
        if (!memcmp(note, text, length) && !note[length]) return;
        if (*note) continue;
        memcpy(note, text, length);
        return;
    }
}

/* The options of a Python before its script: each letter by itself, and -c, -m, -X, -W with what follows. A script of
 * hark's own (the stub of a tool server) draws nothing. */
static int is_isolated(const char *options, const char *end) {
    int found = 0;
    const char *word = options;
    for (; word < end && *word == '-' && word[1]; word += strlen(word) + 1) {
        for (const char *letter = word + 1; *letter; letter++) {
            if (*letter == 'I' || *letter == 'E' || *letter == 'S') found = 1;
            if (*letter == 'c' || *letter == 'm' || *letter == '-') return found;
            if (*letter == 'X' || *letter == 'W') {
                if (!letter[1]) word += strlen(word) + 1;
                break;
            }
        }
    }
    return found && !(word < end && strncmp(word, "/run/hark/", 10) == 0);
}

static void note_isolated_python(void) {
    char path[256], arguments[4097];
    long length = raw(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, sizeof path - 1, 0, 0);
    if (length <= 0) return;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name + 1, "python", 6) != 0) return;
    long fd = raw(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return;
    long count = raw(SYS_read, fd, (long)arguments, sizeof arguments - 1, 0, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
    if (count <= 0) return;
    arguments[count] = 0;
    static const char text[] = "python\0randomness by task\0a Python was started with -I, -E or -S, which leave the shim out";
    if (is_isolated(arguments + strlen(arguments) + 1, arguments + count)) say(text, sizeof text - 1);
}
