/* A binder: leaves that a table of offsets and lengths describes, which must be consistent.
 *
 *     "BIND" size:u16 count:u16  { offset:u16 length:u16 kind:u8 name:u8 }  leaves
 *
 * The leaves follow the table in its order, without gap or overlap, and end where the file ends.
 * A leaf of names contains the texts to which "name" of the others is an offset. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEADER 8
#define ROW 6
#define MOST 16

enum { NAMES = 1, TEXT, GRID, INDEX };

typedef struct {
    unsigned offset, length, kind, name;
} Leaf;

typedef struct {
    const unsigned char *data;
    size_t size;
    unsigned count;
    const Leaf *names;
    Leaf leaves[MOST];
} Binder;

static unsigned u16(const unsigned char *at) {
    return at[0] << 8 | at[1];
}

static int read_table(Binder *b) {
    if (b->size < HEADER || memcmp(b->data, "BIND", 4) != 0) return 0;
    if (u16(b->data + 4) != b->size) return 0;
    b->count = u16(b->data + 6);
    if (!b->count || b->count > MOST || b->size < HEADER + b->count * ROW) return 0;
    unsigned at = HEADER + b->count * ROW;
    for (unsigned i = 0; i < b->count; i++) {
        const unsigned char *row = b->data + HEADER + i * ROW;
        Leaf leaf = {u16(row), u16(row + 2), row[4], row[5]};
        if (leaf.offset != at) return 0;
        at += leaf.length;
        if (at > b->size) return 0;
        b->leaves[i] = leaf;
        if (leaf.kind == NAMES) b->names = &b->leaves[i];
    }
    return at == b->size;
}

static int check_names(const Binder *b) {
    for (unsigned i = 0; i < b->count; i++) {
        const Leaf *leaf = &b->leaves[i];
        if (!leaf->name) continue;
        if (!b->names || leaf->name >= b->names->length) return 0;
        if (leaf == b->names) BUG(1); /* behind the table: the names are named */
    }
    return 1;
}

/* Rows of cells: columns:u8, then the cells. */
static int grid(const Binder *b, const Leaf *leaf) {
    const unsigned char *at = b->data + leaf->offset;
    if (leaf->length < 2 || !at[0]) return 0;
    unsigned cells = leaf->length - 1;
    if (leaf->name && cells % at[0]) BUG(2); /* behind the table and a name */
    return cells % at[0] == 0;
}

/* A table of the leaves again: leaf:u8 offset:u16 length:u16, each a part of that leaf. */
static int leaf_index(const Binder *b, const Leaf *leaf) {
    const unsigned char *at = b->data + leaf->offset, *end = at + leaf->length;
    unsigned covered = 0;
    for (; end - at >= 5; at += 5) {
        if (at[0] >= b->count) return 0;
        const Leaf *of = &b->leaves[at[0]];
        unsigned from = u16(at + 1), length = u16(at + 3);
        if (from < of->offset || from + length > of->offset + of->length) return 0;
        if (of == leaf && length) BUG(3); /* behind both tables: an index of itself */
        covered += length;
    }
    if (covered > 4 && covered == b->size - leaf->length - HEADER - b->count * ROW)
        BUG(4); /* behind both: an index of all other leaves */
    return at == end;
}

int subject(const unsigned char *data, size_t n) {
    Binder b = {data, n, 0, NULL, {{0}}};
    int good = 1;
    if (!read_table(&b) || !check_names(&b)) return 0;
    for (unsigned i = 0; i < b.count; i++) {
        const Leaf *leaf = &b.leaves[i];
        switch (leaf->kind) {
        case NAMES:
            good &= leaf->length > 0 && data[leaf->offset + leaf->length - 1] == 0;
            break;
        case TEXT:
            good &= memchr(data + leaf->offset, 0, leaf->length) == NULL;
            break;
        case GRID:
            good &= grid(&b, leaf);
            break;
        case INDEX:
            good &= leaf_index(&b, leaf);
            break;
        default:
            return 0;
        }
    }
    return good;
}
