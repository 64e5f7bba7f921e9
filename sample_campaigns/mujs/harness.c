/* MuJS's parser and compiler under AFL++: a program is compiled and thrown away, never run. */
#include "mujs.h"

#include <stdlib.h>

static void silent(js_State *J, const char *message) {
    (void)J;
    (void)message;
}

static int parses(const char *text, size_t n) {
    (void)n; /* it ends at the first NUL */
    js_State *J = js_newstate(NULL, NULL, 0);
    if (!J) return 0;
    js_setreport(J, silent);
    int failed = js_ploadstring(J, "input", text);
    js_freestate(J);
    return !failed;
}

#include "parser.h"
