/* What the planted bugs share. */
#include "bug.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

volatile int bug_zero, bug_most = INT_MAX;
int *volatile bug_null;

void bug_reached(const char *text) {
    if (write(2, text, strlen(text)) < 0) _exit(99);
}

static int bug_pong(volatile char *caller) {
    volatile char room[512];
    room[0] = caller ? *caller : 0;
    return bug_ping(room) + room[0];
}

/* Never returns: it and bug_pong call each other until the stack is exhausted. */
int bug_ping(volatile char *caller) {
    volatile char room[64];
    room[0] = caller ? *caller : 1;
    return bug_pong(room) + room[0];
}
