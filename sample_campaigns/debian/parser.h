/* What the harnesses of parsers share: AFL++'s persistent mode around one function, which the
 * program that includes this has defined:
 *
 *     static int parses(const char *text, size_t n);     text[n] is 0; not 0: it is accepted
 *
 * Without afl-fuzz the program parses one text from stdin, or the files that are named, and its
 * exit status is 1 if one is rejected: how a crash is looked at, and how valid inputs are counted.
 * Named files are told apart by a line "+ FILE" or "- FILE" each.
 *
 * If FUZZTUI_PARSED names a file it is mapped, and two 64-bit numbers in it count the inputs
 * and those that were accepted.
 *
 * A program whose function leaves changed globals behind defines INPUTS_A_PROCESS as 1: each input,
 * and each named file, gets a process then.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef INPUTS_A_PROCESS
#define INPUTS_A_PROCESS 10000
#endif

__AFL_FUZZ_INIT();

static uint64_t nowhere[2], *parsed_counts = nowhere;

static void map_counts(void) {
    const char *path = getenv("FUZZTUI_PARSED");
    int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0) return;
    if (ftruncate(fd, sizeof nowhere) == 0) {
        void *at = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) parsed_counts = at;
    }
    close(fd);
}

/* A copy of its own, so that AddressSanitizer sees who reads beyond its end. */
static int parses_copy(const void *input, size_t n) {
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, input, n);
    text[n] = 0;
    int good = parses(text, n) != 0;
    free(text);
    return good;
}

static int parses_file(const char *name) {
    static char text[1 << 20];
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(2);
    }
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    if (INPUTS_A_PROCESS > 1) return parses_copy(text, n);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /* What the program itself prints is no verdict. */
        _exit(!freopen("/dev/null", "w", stdout) || !parses_copy(text, n));
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror(name);
        exit(2);
    }
    if (WIFSIGNALED(status)) kill(getpid(), WTERMSIG(status)); /* a crash is one here, too */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
    int rejected = 0;
    for (int i = 1; i < argc; i++) {
        int good = parses_file(argv[i]);
        printf("%c %s\n", good ? '+' : '-', argv[i]);
        fflush(stdout);
        rejected |= !good;
    }
    if (argc > 1) return rejected;
    map_counts();
    __AFL_INIT();
    unsigned char *input = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(INPUTS_A_PROCESS)) {
        int good = parses_copy(input, __AFL_FUZZ_TESTCASE_LEN);
        __atomic_fetch_add(&parsed_counts[0], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&parsed_counts[1], good, __ATOMIC_RELAXED);
        rejected = !good;
    }
    return rejected;
}
