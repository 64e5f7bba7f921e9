/* Lua's compiler under AFL++: a text is compiled and thrown away, never run.
 *
 * No library is opened, and none of those that reach files or processes is linked. Bytecode is
 * refused: Lua does not claim that it is safe to load.
 */
#include "lauxlib.h"
#include "lua.h"

#include <stdlib.h>

enum { MOST_MEMORY = 64 << 20 };

static size_t used;

static void *bounded(void *nothing, void *old, size_t size, size_t wanted) {
    (void)nothing;
    if (!old) size = 0; /* it is the kind of an object then */
    if (!wanted) {
        free(old);
        used -= size;
        return NULL;
    }
    if (used - size + wanted > MOST_MEMORY) return NULL;
    void *block = realloc(old, wanted);
    if (block) used += wanted - size;
    return block;
}

static int parses(const char *text, size_t n) {
    used = 0;
    lua_State *L = lua_newstate(bounded, NULL);
    if (!L) return 0;
    int status = luaL_loadbufferx(L, text, n, "=input", "t");
    lua_close(L);
    return status == LUA_OK;
}

#include "parser.h"
