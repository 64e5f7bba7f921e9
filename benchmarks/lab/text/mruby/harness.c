/* mruby's parser and code generator under AFL++: a program is compiled and thrown away, never run.
 *
 * The state has the classes that are written in C; no library in Ruby, and none of the extensions.
 */
#include "mruby.h"
#include "mruby/compile.h"

#include <stdlib.h>

enum { MOST_MEMORY = 64 << 20 };

static size_t used;

/* Blocks have their size in front: mruby does not say it when it frees one. */
static void *bounded(mrb_state *mrb, void *old, size_t wanted, void *nothing) {
    enum { HEAD = 16 };
    (void)mrb;
    (void)nothing;
    char *head = old ? (char *)old - HEAD : NULL;
    size_t size = head ? *(size_t *)head : 0;
    if (!wanted) {
        free(head);
        used -= size;
        return NULL;
    }
    if (wanted > MOST_MEMORY || used - size + wanted > MOST_MEMORY) return NULL;
    char *block = realloc(head, wanted + HEAD);
    if (!block) return NULL;
    used += wanted - size;
    *(size_t *)block = wanted;
    return block + HEAD;
}

void mrb_init_mrblib(mrb_state *mrb) { (void)mrb; }

static int parses(const char *text, size_t n) {
    used = 0;
    mrb_state *mrb = mrb_open_core(bounded, NULL);
    if (!mrb) return 0;
    mrbc_context *context = mrbc_context_new(mrb);
    context->capture_errors = TRUE;
    struct mrb_parser_state *parser = mrb_parse_nstring(mrb, text, n, context);
    int good = parser && parser->tree && !parser->nerr && mrb_generate_code(mrb, parser);
    if (parser) mrb_parser_free(parser);
    mrbc_context_free(mrb, context);
    mrb_close(mrb);
    return good;
}

#include "parser.h"
