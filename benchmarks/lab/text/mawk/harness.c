/* mawk's parser and code generator under AFL++: a program is compiled and thrown away, never run.
 *
 * So system(), pipes and files of an input are never reached. What the parser leaves behind in
 * globals is the reason for a process each.
 */
#define INPUTS_A_PROCESS 1

#include "mawk.h"
#include "code.h"
#include "init.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;
static jmp_buf end;

void left(int status) { longjmp(end, status + 1); } /* in place of exit */

static int parses(const char *text, size_t n) {
    static char *nothing[] = {NULL};
    char *argv[] = {"mawk", "--", (char *)text, NULL};
    (void)n; /* it ends at the first NUL */
    int status = setjmp(end);
    if (status) return status == 1;
    environ = nothing; /* ENVIRON would be another one on each machine */
    initialize(3, argv);
    parse();
    return 1;
}

#include "parser.h"
