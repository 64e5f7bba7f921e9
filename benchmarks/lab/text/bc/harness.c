/* GNU bc's parser, and the loader of its code, under AFL++: a program is compiled and never run.
 *
 * bc runs each statement when it has been read: skip_execute takes the place of that. Functions,
 * names and labels stay in globals, so each input gets a process.
 */
#define INPUTS_A_PROCESS 1

#include "bcdefs.h"
#include "global.h"
#include "proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

static jmp_buf end;
static int errors;
static const char *rest;
static size_t unread;

void left(int status) { longjmp(end, status + 1); } /* in place of exit; "quit" is one */

void skip_execute(void) {}

int count_error(FILE *file, const char *format, va_list values) { /* in place of vfprintf */
    (void)file, (void)format, (void)values;
    return ++errors;
}

void use_quit(int signal) { (void)signal; }

ssize_t take(int file, void *buffer, size_t most) { /* in place of read */
    (void)file;
    size_t n = most < unread ? most : unread;
    memcpy(buffer, rest, n);
    rest += n;
    unread -= n;
    return (ssize_t)n;
}

int open_new_file(void) { return FALSE; } /* there is no second one */

static int parses(const char *text, size_t n) {
    rest = text;
    unread = n;
    int status = setjmp(end);
    if (status) return status == 1 && !errors;
    line_no = 1;
    init_storage();
    init_load();
    init_tree();
    init_gen();
    return yyparse() == 0 && !errors;
}

#include "parser.h"
