/* tcc's preprocessor, parser and code generator under AFL++: a text is compiled to an object in
 * memory, which is thrown away. Nothing is linked, written or run.
 *
 * A program being compiled can read files (#include, .incbin, and #pragma comment(option, "@FILE")):
 * all that tcc finds here are the headers beside it in include/. Ours declare a little of the C
 * library each, so that what is covered does not depend on the system's.
 */
#define ONE_SOURCE 1
#include "tcc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int open_header(const char *name, int flags, ...) {
    static const char where[] = INCLUDE "/";
    if (strncmp(name, where, sizeof where - 1) != 0 || strstr(name, "..")) {
        errno = ENOENT;
        return -1;
    }
    return open(name, flags & ~O_CREAT & ~O_TRUNC);
}

#define open open_header
#include "libtcc.c"
#undef open

static void silent(void *nothing, const char *message) {
    (void)nothing;
    (void)message;
}

/* What an error leaves as it was then: counts, and pointers into what is freed. Without this the
 * next input is compiled otherwise than it would be alone, or crashes. */
static void forget(void) {
    all_cleanups = pending_gotos = NULL;
    cur_switch = NULL;
    cur_scope = loop_scope = root_scope = NULL;
    global_label_stack = local_label_stack = define_stack = NULL;
    debug_info = debug_info_root = NULL;
    debug_hash = NULL;
    n_debug_hash = debug_next_type = 0;
    in_sizeof = in_generic = global_expr = 0;
    rsym = ind = loc = func_var = func_vc = 0;
    func_bound_add_epilog = 0;
    nb_temp_local_vars = 0;
    parse_flags = tok_flags = tok = ch = 0;
}

static int parses(const char *text, size_t n) {
    (void)n; /* it ends at the first NUL */
    forget();
    TCCState *s = tcc_new();
    if (!s) return 0;
    tcc_set_error_func(s, NULL, silent);
    tcc_set_options(s, "-nostdinc");
    tcc_add_sysinclude_path(s, INCLUDE);
    tcc_set_output_type(s, TCC_OUTPUT_OBJ);
    int failed = tcc_compile_string(s, text);
    tcc_delete(s);
    return !failed;
}

#undef free
#undef malloc
#undef realloc
#include "parser.h"
