/* The reader of a pool file, and splicing: see pool.h.

   The file is copied into memory instead of being mapped: checked data must not change afterwards,
   and truncating a mapped file would kill the fuzzer. All indexes are checked once, when the file
   is read, so that mutations need not check them again. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "fuzztui pool 1\n"
#define MAX_BYTES (64u << 20) /* of a pool file */
#define MAX_INPUT (256u << 10)
#define MAX_SPAN 4096 /* also the longest fragment, and the longest text of an edit */
#define MAX_NAME 64
#define MAX_NAMES 64 /* in one fragment */
#define TRIES 16
#ifndef LOOK_NS
#define LOOK_NS 1000000000LL
#endif

/* The records as in the file (little-endian). Each table is used in order: the first kind has the
   first fragments, and so on. So no record is checked twice. */
typedef struct {
  char magic[16];
  uint64_t size;
  uint32_t kinds, fragments, names, entries, groups, spans, edits, zero;
  uint64_t text;
} header;
typedef struct {
  uint32_t fragment, fragments, text;
  uint16_t length, zero;
} kind;
typedef struct {
  uint32_t text;
  uint16_t length, names;
  uint32_t name, zero;
} fragment;
typedef struct { /* an identifier in a fragment; equal identifiers have the same group */
  uint16_t at, length, group, kind;
} name;
typedef struct { /* first its groups of spans, then its groups of words (identifiers) */
  uint64_t key;
  uint32_t group;
  uint16_t groups, words;
  uint32_t edit, edits;
} entry;
typedef struct {
  uint16_t kind, spans;
  uint32_t span;
} group;
typedef struct {
  uint32_t start;
  uint16_t length, zero;
} span;
typedef struct {
  uint32_t start, end, text, length;
} edit;

_Static_assert(sizeof(header) == 64 && sizeof(kind) == 16 && sizeof(fragment) == 16 &&
                   sizeof(name) == 8 && sizeof(entry) == 24 && sizeof(group) == 8 &&
                   sizeof(span) == 8 && sizeof(edit) == 16,
               "the records of a pool file");

struct ft_pool {
  char *path;
  int64_t looked;
  struct stat status; /* of the file that was read last */
  const char *trouble;
  uint8_t *bytes; /* NULL: there is no pool yet */
  header has;
  const kind *kinds;
  const fragment *fragments;
  const name *names;
  const entry *entries;
  const group *groups;
  const span *spans;
  const edit *edits;
  const uint8_t *text;
  uint32_t crc[256];
};

/* ---------------------------------------------------------------- the file */

static int inside(uint64_t from, uint64_t n, uint64_t room) { return from <= room && n <= room - from; }

static const char *check_fragments(const ft_pool *p) {
  uint32_t next = 0, next_name = 0;
  for (uint32_t i = 0; i < p->has.kinds; i++) {
    const kind *k = p->kinds + i;
    if (k->fragment != next || !inside(next, k->fragments, p->has.fragments) ||
        !inside(k->text, k->length, p->has.text) || k->zero)
      return "a kind is wrong";
    next += k->fragments;
  }
  if (next != p->has.fragments) return "there are fragments of no kind";
  for (uint32_t i = 0; i < p->has.fragments; i++) {
    const fragment *f = p->fragments + i;
    if (!f->length || f->length > MAX_SPAN || !inside(f->text, f->length, p->has.text) ||
        f->names > MAX_NAMES || f->name != next_name ||
        !inside(next_name, f->names, p->has.names) || f->zero)
      return "a fragment is wrong";
    uint32_t from = 0, seen = 0;
    for (const name *n = p->names + next_name, *end = n + f->names; n < end; n++) {
      if (!n->length || n->length > MAX_NAME || n->at < from || n->at + n->length > f->length ||
          n->group > seen || n->kind >= p->has.kinds)
        return "a name in a fragment is wrong";
      from = (uint32_t)n->at + n->length;
      seen += n->group == seen;
    }
    next_name += f->names;
  }
  return next_name == p->has.names ? NULL : "there are names in no fragment";
}

static const char *check_entries(const ft_pool *p) {
  uint32_t next_group = 0, next_span = 0, next_edit = 0;
  for (uint32_t i = 0; i < p->has.entries; i++) {
    const entry *e = p->entries + i;
    uint64_t length = e->key >> 32;
    if ((i && e->key <= e[-1].key) || length > MAX_INPUT || e->group != next_group ||
        !inside(next_group, (uint64_t)e->groups + e->words, p->has.groups) ||
        e->edit != next_edit || !inside(next_edit, e->edits, p->has.edits))
      return "an entry is wrong";
    for (uint32_t j = 0; j < (uint32_t)e->groups + e->words; j++) {
      const group *g = p->groups + next_group + j;
      uint32_t most = j < e->groups ? MAX_SPAN : MAX_NAME;
      if (g->kind >= p->has.kinds || !g->spans || g->span != next_span ||
          !inside(next_span, g->spans, p->has.spans))
        return "a group of spans is wrong";
      for (const span *s = p->spans + next_span, *end = s + g->spans; s < end; s++)
        if (!s->length || s->length > most || !inside(s->start, s->length, length) || s->zero)
          return "a span is wrong";
      next_span += g->spans;
    }
    for (const edit *d = p->edits + next_edit, *end = d + e->edits; d < end; d++)
      if (d->start > d->end || d->end > length || d->length > MAX_SPAN ||
          !inside(d->text, d->length, p->has.text))
        return "an edit is wrong";
    next_group += (uint32_t)e->groups + e->words;
    next_edit += e->edits;
  }
  return next_group == p->has.groups && next_span == p->has.spans && next_edit == p->has.edits
             ? NULL
             : "there are spans in no entry";
}

/* Use `n` bytes as the pool. Returns NULL, or the reason why they are not a pool. */
static const char *take(ft_pool *p, const uint8_t *bytes, size_t n) {
  const uint16_t order = 1;
  if (!*(const uint8_t *)&order) return "this machine is not little-endian";
  if (n < sizeof p->has) return "the file is too short";
  memcpy(&p->has, bytes, sizeof p->has);
  if (memcmp(p->has.magic, MAGIC, sizeof p->has.magic)) return "not a pool file of this version";
  const uint8_t *at = bytes + sizeof p->has;
  /* At most 2^32 records in each table: this sum cannot overflow, adding has.text to it could. */
  uint64_t sum = sizeof p->has;
#define TABLE(member, type) \
  p->member = (const type *)(const void *)(sum <= n ? bytes + sum : at); \
  sum += (uint64_t)p->has.member * sizeof(type);
  TABLE(kinds, kind)
  TABLE(fragments, fragment)
  TABLE(names, name)
  TABLE(entries, entry)
  TABLE(groups, group)
  TABLE(spans, span)
  TABLE(edits, edit)
#undef TABLE
  if (p->has.size != n || sum > n || p->has.text != n - sum || p->has.zero) return "the file is incomplete";
  p->text = bytes + sum;
  const char *wrong = check_fragments(p);
  return wrong ? wrong : check_entries(p);
}

/* The content of the file, or NULL with the reason in `trouble`. */
static uint8_t *contents(int fd, size_t n, const char **trouble) {
  if (n > MAX_BYTES) {
    *trouble = "the file is too long";
    return NULL;
  }
  uint8_t *bytes = malloc(n + 1);
  size_t have = 0;
  while (bytes && have < n) {
    ssize_t got = read(fd, bytes + have, n - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += (size_t)got;
  }
  *trouble = bytes ? "the file is incomplete" : "no memory for the file";
  if (bytes && have == n) return bytes;
  free(bytes);
  return NULL;
}

static int load(ft_pool *p, int fd) {
  uint8_t *bytes = contents(fd, (size_t)p->status.st_size, &p->trouble);
  if (!bytes) return 0;
  ft_pool fresh = *p;
  if ((fresh.trouble = take(&fresh, bytes, (size_t)p->status.st_size))) {
    p->trouble = fresh.trouble;
    free(bytes);
    return 0;
  }
  free(p->bytes);
  fresh.bytes = bytes;
  fresh.trouble = "";
  *p = fresh;
  return 1;
}

static int same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int ft_pool_refresh(ft_pool *p) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  int64_t now = t.tv_sec * 1000000000LL + t.tv_nsec;
  if (p->looked && now - p->looked < LOOK_NS) return 0;
  p->looked = now ? now : 1;
  int fd = open(p->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return 0; /* no file yet, or not any more: the loaded pool is still valid */
  struct stat status;
  int fresh = 0;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !same_file(&status, &p->status)) {
    p->status = status;
    fresh = load(p, fd);
  }
  close(fd);
  return fresh;
}

const char *ft_pool_trouble(const ft_pool *p) { return p->trouble; }

ft_pool *ft_pool_open(const char *path) {
  ft_pool *p = calloc(1, sizeof *p);
  if (!p || !(p->path = strdup(path))) {
    free(p);
    return NULL;
  }
  p->trouble = "";
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    p->crc[i] = c;
  }
  ft_pool_refresh(p);
  return p;
}

void ft_pool_close(ft_pool *p) {
  if (!p) return;
  free(p->bytes);
  free(p->path);
  free(p);
}

/* ------------------------------------------------------------ keys of inputs */

static uint64_t key_of(const ft_pool *p, const uint8_t *data, size_t n) {
  uint32_t c = 0xFFFFFFFFu;
  for (size_t i = 0; i < n; i++) c = p->crc[(c ^ data[i]) & 255] ^ c >> 8;
  return (uint64_t)n << 32 | (c ^ 0xFFFFFFFFu);
}

void ft_host_reset(ft_host *h) {
  h->was = h->n;
  h->segments = 1;
  h->segment[0] = (ft_segment){0, h->n, 0};
}

int ft_pool_find(const ft_pool *p, const uint8_t *data, size_t n, ft_host *h) {
  h->data = data;
  h->n = n;
  h->entry = NULL;
  ft_host_reset(h);
  if (!p->bytes || n > MAX_INPUT) return 0;
  uint64_t key = key_of(p, data, n);
  const entry *low = p->entries, *high = low + p->has.entries;
  while (low < high) {
    const entry *middle = low + (high - low) / 2;
    if (middle->key < key)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < p->entries + p->has.entries && low->key == key) h->entry = low;
  return h->entry != NULL;
}

/* The number of equal bytes at the beginning. Compares smaller and smaller blocks: memcmp is some
   ten times as fast as a loop, but does not return the position. */
static size_t common_head(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  for (size_t block = 4096; block >= 8 && i < n; block /= 8)
    for (size_t m; i < n; i += m) {
      m = n - i < block ? n - i : block;
      if (memcmp(a + i, b + i, m)) break;
    }
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* The number of equal bytes before these positions. */
static size_t common_tail(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  for (size_t block = 4096; block >= 8 && i < n; block /= 8)
    for (size_t m; i < n; i += m) {
      m = n - i < block ? n - i : block;
      if (memcmp(a - i - m, b - i - m, m)) break;
    }
  while (i < n && *(a - i - 1) == *(b - i - 1)) i++;
  return i;
}

void ft_host_follow(ft_host *h, const ft_buffer *b) {
  ft_segment left[FT_SEGMENTS], right[FT_SEGMENTS];
  int lefts = 0, rights = 0, i = 0, j = h->segments;
  int64_t moved = (int64_t)b->n - (int64_t)h->was;
  size_t from = 0, at = 0; /* ends of the processed parts of the input and of the buffer */
  h->was = b->n;
  for (; i < h->segments; i++) {
    ft_segment s = h->segment[i];
    size_t room = s.at < b->n ? b->n - s.at : 0;
    size_t n = room && s.n ? common_head(h->data + s.from, b->at + s.at, s.n < room ? s.n : room) : 0;
    if (n) left[lefts++] = (ft_segment){s.from, n, s.at};
    if (n) from = s.from + n, at = s.at + n;
    if (n < s.n) break;
  }
  for (; j > i; j--) { /* the change may split the i-th */
    ft_segment s = h->segment[j - 1];
    int64_t end = (int64_t)(s.at + s.n) + moved;
    size_t room = s.from > from ? s.n : s.from + s.n - from;
    if (end <= (int64_t)at || end > (int64_t)b->n) break;
    if (room > (size_t)end - at) room = (size_t)end - at;
    size_t n = common_tail(h->data + s.from + s.n, b->at + end, room);
    if (n) right[rights++] = (ft_segment){s.from + s.n - n, n, (size_t)end - n};
    if (n < s.n) break;
  }
  memcpy(h->segment, left, (size_t)lefts * sizeof *left);
  h->segments = lefts;
  while (rights && h->segments < FT_SEGMENTS) h->segment[h->segments++] = right[--rights];
}

/* Find the current position of a part of the input; 0: the part has changed. */
static int place(const ft_host *h, size_t start, size_t n, size_t *at) {
  for (int i = 0; i < h->segments; i++) {
    const ft_segment *s = h->segment + i;
    if (start >= s->from && start + n <= s->from + s->n) {
      *at = s->at + (start - s->from);
      return 1;
    }
  }
  return 0;
}

/* ---------------------------------------------------------------- splicing */

/* A random identifier of this kind in the input; NULL: it has none. */
static const span *word(const ft_pool *p, const entry *e, uint16_t kind_, ft_rng *r) {
  const group *g = p->groups + e->group + e->groups;
  for (int i = 0; i < e->words; i++, g++)
    if (g->kind == kind_) return p->spans + g->span + ft_below(r, g->spans);
  return NULL;
}

/* Copy the fragment's text, with some identifiers renamed to identifiers of the input. */
static size_t renamed(const ft_pool *p, const fragment *f, const ft_host *h, ft_rng *r,
                      uint8_t *into) {
  const uint8_t *text = p->text + f->text;
  const span *called[MAX_NAMES];
  size_t n = 0, from = 0;
  int seen = 0;
  for (const name *w = p->names + f->name, *end = w + f->names; w < end; w++) {
    if (w->group == seen) called[seen++] = ft_below(r, 2) ? word(p, h->entry, w->kind, r) : NULL;
    memcpy(into + n, text + from, w->at - from);
    n += w->at - from;
    const span *to = called[w->group];
    const uint8_t *what = to ? h->data + to->start : text + w->at;
    size_t length = to ? to->length : w->length;
    memcpy(into + n, what, length);
    n += length;
    from = (size_t)w->at + w->length;
  }
  memcpy(into + n, text + from, f->length - from);
  return n + f->length - from;
}

static int put(ft_buffer *b, size_t at, size_t old, const uint8_t *with, size_t n, size_t limit) {
  if (n == old && !memcmp(b->at + at, with, n)) return 0;
  return ft_replace(b, at, old, with, n, limit);
}

int ft_pool_splice(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r) {
  const entry *e = h->entry;
  if (!e || !e->groups) return 0;
  ft_host_follow(h, b);
  for (int i = 0; i < TRIES; i++) {
    /* Draw the kind first: else nearly each splice would replace a name by a name. */
    const group *g = p->groups + e->group + ft_below(r, e->groups);
    const span *s = p->spans + g->span + ft_below(r, g->spans);
    const kind *k = p->kinds + g->kind;
    uint8_t text[MAX_SPAN + MAX_NAMES * MAX_NAME];
    size_t at, n;
    if (!k->fragments || !place(h, s->start, s->length, &at)) continue;
    n = renamed(p, p->fragments + k->fragment + ft_below(r, k->fragments), h, r, text);
    if (put(b, at, s->length, text, n, limit)) return 1;
  }
  return 0;
}

int ft_pool_template(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r) {
  const entry *e = h->entry;
  if (!e || !e->edits) return 0;
  ft_host_follow(h, b);
  for (int i = 0; i < TRIES; i++) {
    const edit *d = p->edits + e->edit + ft_below(r, e->edits);
    size_t at;
    if (!place(h, d->start, d->end - d->start, &at)) continue;
    if (put(b, at, d->end - d->start, p->text + d->text, d->length, limit)) return 1;
  }
  return 0;
}

/* --------------------------------------------------- delimiters, without a grammar */

enum { ROUND, CURLY, SQUARE, STRING, STATEMENT, LINE, FT_DELIMITERS };

typedef struct {
  size_t at, n;
} part;

static size_t seek(const uint8_t *s, size_t n, size_t from, uint8_t byte) {
  const uint8_t *found = from < n ? memchr(s + from, byte, n - from) : NULL;
  return found ? (size_t)(found - s) : n;
}

static size_t line_start(const uint8_t *s, size_t at) {
  const uint8_t *before = at ? memrchr(s, '\n', at) : NULL;
  return before ? (size_t)(before - s) + 1 : 0;
}

/* The part from the first opening bracket to its closing one. */
static int brackets(const uint8_t *s, size_t n, size_t from, uint8_t open, uint8_t close_, part *p) {
  size_t start = seek(s, n, from, open), depth = 1;
  size_t next_open = seek(s, n, start + 1, open), next_close = seek(s, n, start + 1, close_);
  for (; next_close < n; next_close = seek(s, n, next_close + 1, close_)) {
    for (; next_open < next_close; next_open = seek(s, n, next_open + 1, open)) depth++;
    if (--depth == 0) {
      *p = (part){start, next_close + 1 - start};
      return 1;
    }
  }
  return 0;
}

/* The first string that ends after `from`. Each line is scanned from its start, to know which
   quotes open a string. */
static int quoted(const uint8_t *s, size_t n, size_t from, part *p) {
  size_t start = seek(s, n, line_start(s, from), '"');
  while (start < n) {
    size_t i = start + 1;
    while (i < n && s[i] != '"' && s[i] != '\n') i += s[i] == '\\' ? 2 : 1;
    if (i < n && s[i] == '"' && i >= from) {
      *p = (part){start, i + 1 - start};
      return 1;
    }
    start = seek(s, n, i + 1, '"');
  }
  return 0;
}

static int statement(const uint8_t *s, size_t n, size_t from, part *p) {
  size_t start = seek(s, n, from, ';'), end = seek(s, n, start + 1, ';');
  *p = (part){start + 1, end - start};
  return end < n;
}

static int part_from(const uint8_t *s, size_t n, int what, size_t from, part *p) {
  size_t end;
  switch (what) {
    case ROUND: return brackets(s, n, from, '(', ')', p);
    case CURLY: return brackets(s, n, from, '{', '}', p);
    case SQUARE: return brackets(s, n, from, '[', ']', p);
    case STRING: return quoted(s, n, from, p);
    case STATEMENT: return statement(s, n, from, p);
    default:
      p->at = line_start(s, from);
      end = seek(s, n, from, '\n');
      p->n = (end < n ? end + 1 : n) - p->at;
      return 1;
  }
}

/* The first part at or after a random position, else the first part of all. */
static int draw_part(const uint8_t *s, size_t n, int what, ft_rng *r, part *p) {
  return part_from(s, n, what, ft_position(r, n), p) || part_from(s, n, what, 0, p);
}

int ft_balanced(ft_buffer *b, size_t limit, ft_rng *r, const uint8_t *other, size_t n) {
  if (!b->n || !n) return 0;
  int first = (int)ft_below(r, FT_DELIMITERS);
  for (int i = 0; i < FT_DELIMITERS; i++) {
    int what = (first + i) % FT_DELIMITERS;
    part here, there;
    if (!draw_part(b->at, b->n, what, r, &here) || !draw_part(other, n, what, r, &there)) continue;
    if (put(b, here.at, here.n, other + there.at, there.n, limit)) return 1;
  }
  return 0;
}
