/* SQLite under AFL++: the statements of a text are compiled, and run on an empty database in memory.
 *
 * The only file system it knows opens no file, has a clock that stands still and no randomness. A
 * statement ends after MOST_STEPS operations, which is no error. Accepted is a text of which
 * each statement was compiled: constraints may fail.
 */
#include "sqlite3.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 20000, A_LOOK = 1000, MOST_MEMORY = 64 << 20 };

static int no_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    (void)vfs, (void)name, (void)flags, (void)out;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static int no_deletion(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs, (void)name, (void)sync;
    return SQLITE_IOERR_DELETE;
}

static int no_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    (void)vfs, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int same_name(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

static int no_randomness(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs;
    memset(out, 0, size);
    return size;
}

static int no_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static int noon(sqlite3_vfs *vfs, double *days) {
    (void)vfs;
    *days = 2460000.0;
    return SQLITE_OK;
}

static int no_error(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs, (void)size, (void)out;
    return 0;
}

int sqlite3_os_init(void) {
    static sqlite3_vfs nowhere = {
        .iVersion = 1, .szOsFile = sizeof(sqlite3_file), .mxPathname = 512, .zName = "nowhere",
        .xOpen = no_file, .xDelete = no_deletion, .xAccess = no_access,
        .xFullPathname = same_name, .xRandomness = no_randomness, .xSleep = no_sleep,
        .xCurrentTime = noon, .xGetLastError = no_error,
    };
    return sqlite3_vfs_register(&nowhere, 1);
}

int sqlite3_os_end(void) { return SQLITE_OK; }

static int looks;

static int enough(void *nothing) {
    (void)nothing;
    return ++looks > MOST_STEPS / A_LOOK;
}

static int parses(const char *text, size_t n) {
    (void)n; /* it ends at the first NUL */
    sqlite3 *db = NULL;
    sqlite3_initialize();
    sqlite3_hard_heap_limit64(MOST_MEMORY);
    sqlite3_randomness(0, NULL); /* random() begins anew */
    int good = sqlite3_open(":memory:", &db) == SQLITE_OK;
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_progress_handler(db, A_LOOK, enough, NULL);
    while (good && *text) {
        sqlite3_stmt *statement = NULL;
        good = sqlite3_prepare_v2(db, text, -1, &statement, &text) == SQLITE_OK;
        looks = 0;
        while (statement && sqlite3_step(statement) == SQLITE_ROW) continue;
        sqlite3_finalize(statement);
    }
    sqlite3_close_v2(db);
    sqlite3_shutdown(); /* some pragmas set what is of the process */
    return good;
}

#include "parser.h"
