/* FIRST: one text is parsed, printed and compared. SECOND: a patch, after a line "---", is applied
 * to a text, and patches are generated of both. Neither: both, one after the other. */
#include "cJSON.h"
#include "cJSON_Utils.h"
#include <stdlib.h>
#include <string.h>

static int parsed(const char *text, size_t n) {
    const char *end = 0;
    cJSON *tree = cJSON_ParseWithLengthOpts(text, n, &end, 0);
    if (!tree) return 0;
    cJSON *copy = cJSON_Duplicate(tree, 1);
    int same = copy && cJSON_Compare(tree, copy, 1);
    char *printed = cJSON_Print(tree);
    if (printed) cJSON_Minify(printed);
    free(printed);
    free(cJSON_PrintUnformatted(tree));
    cJSON_Delete(copy);
    cJSON_Delete(tree);
    return same;
}

static int patched(const char *text, size_t n) {
    const char *cut = strstr(text, "\n---\n");
    if (!cut) return 0;
    cJSON *tree = cJSON_ParseWithLength(text, cut - text), *patch = cJSON_Parse(cut + 5);
    int done = 0;
    if (tree && patch) {
        cJSON *old = cJSON_Duplicate(tree, 1);
        done = cJSONUtils_ApplyPatchesCaseSensitive(tree, patch) == 0;
        cJSON_Delete(cJSONUtils_GeneratePatches(old, tree));
        cJSON_Delete(cJSONUtils_GenerateMergePatch(old, patch));
        tree = cJSONUtils_MergePatch(tree, patch);
        cJSON_Delete(old);
    }
    cJSON_Delete(tree);
    cJSON_Delete(patch);
    return done;
}

int subject(const unsigned char *data, size_t n) {
    int good = 0;
#ifndef SECOND
    good |= parsed((const char *)data, n);
#endif
#ifndef FIRST
    good |= patched((const char *)data, n);
#endif
    return good;
}
