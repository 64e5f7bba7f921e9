/* Plain havoc: one edit of bytes, or of digits that look like a number. The weights are those of
   Havoc of in-process engines (engines/loop/mutate.py). Tokens come from AFL's dictionary files. */

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mutate.h"

#define MAX_TOKENS 8192
#define MAX_TOKEN 128           /* bytes; the limit of afl-fuzz */
#define MAX_DICTIONARY (4 << 20) /* bytes of a file */
#define MAX_DIGITS 18          /* of a number that is changed by arithmetic: fits into 64 bits */

typedef struct { /* the bytes of all tokens, concatenated */
  uint8_t *bytes;
  size_t n, room;
  uint32_t *at; /* the offset of each; the last one ends at `n` */
  size_t count, at_room;
} tokens;

/* -------------------------------------------------------------- dictionaries */

static int hex(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Add a token; left out if it is too long, or there are too many. */
static void add_token(tokens *t, const uint8_t *bytes, size_t n) {
  if (!n || n > MAX_TOKEN || t->count == MAX_TOKENS) return;
  if (!grow((void **)&t->bytes, &t->room, t->n + n, 1)) return;
  if (!grow((void **)&t->at, &t->at_room, t->count + 1, sizeof *t->at)) return;
  memcpy(t->bytes + t->n, bytes, n);
  t->at[t->count++] = (uint32_t)t->n;
  t->n += n;
}

/* Add the token of a line such as name@1="a\x00b", except if its level is above `level`. Other
   lines are left out: afl-fuzz reports them. */
static void take_token(tokens *t, text line, int level) {
  const char *p = line.at, *end = p + line.n;
  uint8_t token[MAX_TOKEN];
  size_t n = 0;
  while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  int own = 0;
  for (; p < end && *p != '"' && *p != '#'; p++)
    if (*p == '@') own = atoi(p + 1); /* ends at the quote */
  if (end - p < 3 || *p != '"' || end[-1] != '"' || own > level) return;
  for (p++, end--; p < end && n < MAX_TOKEN; p++) {
    uint8_t c = (uint8_t)*p;
    if (c == '\\' && end - p > 1) {
      c = (uint8_t)*++p;
      if (c == 'x' && end - p > 2 && hex((uint8_t)p[1]) >= 0 && hex((uint8_t)p[2]) >= 0) {
        c = (uint8_t)(hex((uint8_t)p[1]) << 4 | hex((uint8_t)p[2]));
        p += 2;
      }
    }
    token[n++] = c;
  }
  add_token(t, token, n);
}

/* Read a file of the user (links are followed). Returns bytes that the caller frees, or NULL. */
static char *slurp(int fd, size_t most, size_t *n) {
  struct stat st;
  char *all = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) ? malloc(most + 1) : NULL;
  ssize_t got = all ? read(fd, all, most) : 0;
  *n = got > 0 ? (size_t)got : 0;
  if (all) all[*n] = 0;
  if (fd >= 0) close(fd);
  return all;
}

#define READING (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Add the content of each file in a directory as a token, as afl-fuzz does. */
static void read_token_files(tokens *t, const char *path) {
  DIR *all = opendir(path);
  if (!all) return;
  for (struct dirent *file; (file = readdir(all));) {
    size_t n;
    char *token = slurp(openat(dirfd(all), file->d_name, READING), MAX_TOKEN + 1, &n);
    if (token) add_token(t, (const uint8_t *)token, n);
    free(token);
  }
  closedir(all);
}

/* Read an argument of -x: a file, with @LEVEL after it or without, or a directory. */
static void read_dictionary(tokens *t, char *path) {
  size_t before = t->count, n;
  char *level = strchr(path, '@');
  if (level) *level++ = 0;
  char *all = slurp(open(path, READING), MAX_DICTIONARY, &n);
  if (!all) read_token_files(t, path);
  for (const char *p = all, *end = p + n, *next; p && p < end; p = next + 1) {
    next = memchr(p, '\n', (size_t)(end - p));
    if (!next) next = end;
    take_token(t, (text){p, (size_t)(next - p)}, level ? atoi(level) : 0);
  }
  free(all);
  if (t->count == before) fprintf(stderr, "fuzztui: no tokens in %s\n", path);
}

/* Read the dictionaries of a list of paths, one a line. */
static void read_tokens(tokens *t, const char *paths) {
  for (const char *end; *paths; paths = *end ? end + 1 : end) {
    end = strchrnul(paths, '\n');
    char *path = strndup(paths, (size_t)(end - paths));
    if (path) read_dictionary(t, path);
    free(path);
  }
}

/* -------------------------------------------------------------------- blocks */

/* Insert `n` bytes at `at`, which the caller sets. 0: the input would be longer than `limit`. */
static int open_gap(ft_buffer *b, size_t at, size_t n, size_t limit) {
  if (n > limit || b->n > limit - n || !ft_room(b, b->n + n)) return 0;
  memmove(b->at + at + n, b->at + at, b->n - at);
  b->n += n;
  return 1;
}

static int insert(ft_buffer *b, size_t at, const uint8_t *with, size_t n, size_t limit) {
  if (!open_gap(b, at, n, limit)) return 0;
  memcpy(b->at + at, with, n);
  return 1;
}

/* 0: the bytes there are the same already. */
static int overwrite(ft_buffer *b, size_t at, const uint8_t *with, size_t n) {
  if (n > b->n - at) n = b->n - at;
  if (!memcmp(b->at + at, with, n)) return 0;
  memcpy(b->at + at, with, n);
  return 1;
}

static int change(ft_buffer *b, size_t at, uint8_t to) { return overwrite(b, at, &to, 1); }

/* Draw a block: returns its offset; `n`: its length, more often short than long. */
static size_t block(const ft_buffer *b, ft_rng *r, size_t *n) {
  static const size_t sizes[] = {4, 16, 64, SIZE_MAX};
  size_t most = sizes[ft_below(r, 4)];
  *n = 1 + ft_position(r, most < b->n ? most : b->n);
  return ft_position(r, b->n - *n + 1);
}

/* Insert a copy of a block. */
static int clone(ft_buffer *b, size_t limit, ft_rng *r) {
  size_t n, from = block(b, r, &n), at = ft_position(r, b->n + 1);
  if (!open_gap(b, at, n, limit)) return 0;
  /* The bytes after the gap have moved; the gap may have cut the block in two. */
  size_t before = at <= from ? 0 : at - from < n ? at - from : n;
  memcpy(b->at + at, b->at + from, before);
  memcpy(b->at + at + before, b->at + from + before + n, n - before);
  return 1;
}

/* Overwrite a position by a copy of a block; 0: nothing has changed. */
static int copy(ft_buffer *b, ft_rng *r) {
  size_t n, from = block(b, r, &n), to = ft_position(r, b->n - n + 1);
  if (!memcmp(b->at + to, b->at + from, n)) return 0;
  memmove(b->at + to, b->at + from, n);
  return 1;
}

/* Exchange two blocks of the same length that do not overlap; 0: they are equal. */
static int exchange(ft_buffer *b, ft_rng *r) {
  size_t n, from = block(b, r, &n), to = ft_position(r, b->n - n + 1);
  size_t apart = from < to ? to - from : from - to;
  if (n > apart) n = apart;
  if (!memcmp(b->at + from, b->at + to, n)) return 0;
  for (size_t i = 0; i < n; i++) {
    uint8_t byte = b->at[from + i];
    b->at[from + i] = b->at[to + i];
    b->at[to + i] = byte;
  }
  return 1;
}

/* ------------------------------------------------------------------- numbers */

static const int64_t interesting[] = {
    -128, -1, 0, 1, 16, 32, 64, 100, 127, /* of one byte */
    -32768, -129, 128, 255, 256, 512, 1000, 1024, 4096, 32767, /* of two */
    -2147483648LL, -100663046, -32769, 32768, 65535, 65536, 100663045, 2147483647, /* of four */
};

static const char *const numbers[] = {
    "0", "1", "-1", "127", "128", "255", "256", "65535", "65536", "2147483647", "2147483648",
    "4294967296", "9223372036854775808", "1e308", "1e-400", "0.1", "1e5", "nan", "inf",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Store the low bytes of a value, in either byte order. */
static void put(uint8_t *to, uint64_t value, size_t width, int big) {
  for (size_t i = 0; i < width; i++)
    to[big ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, size_t width, int big) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; i++)
    value |= (uint64_t)from[big ? width - 1 - i : i] << 8 * i;
  return value;
}

static void arithmetic(ft_buffer *b, ft_rng *r) {
  size_t width = (size_t)1 << ft_below(r, 3), at = ft_position(r, b->n);
  if (width > b->n - at) width = 1;
  uint64_t by = 1 + ft_below(r, 35);
  int big = (int)ft_below(r, 2), less = (int)ft_below(r, 2);
  uint64_t value = get(b->at + at, width, big);
  put(b->at + at, less ? value - by : value + by, width, big);
}

static int interest(ft_buffer *b, ft_rng *r) {
  uint32_t i = ft_below(r, COUNT(interesting));
  size_t width = i < 9 ? 1 : i < 19 ? 2 : 4, at = ft_position(r, b->n);
  uint8_t value[4];
  put(value, (uint64_t)interesting[i], width, (int)ft_below(r, 2));
  return overwrite(b, at, value, width);
}

static int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* Replace a number in the text: by one that is a little larger or smaller, by a well-known one, or
   by one with another digit. If there is none, insert a well-known one. */
static int renumber(ft_buffer *b, size_t limit, ft_rng *r) {
  size_t start = ft_position(r, b->n), at = start, end;
  const char *known = numbers[ft_below(r, COUNT(numbers))];
  while (at < b->n && !is_digit(b->at[at])) at++;
  if (at == b->n)
    for (at = 0; at < start && !is_digit(b->at[at]);) at++;
  if (!is_digit(b->at[at])) return insert(b, start, (const uint8_t *)known, strlen(known), limit);
  while (at && is_digit(b->at[at - 1])) at--;
  for (end = at; end < b->n && is_digit(b->at[end]);) end++;
  uint32_t how = ft_below(r, 3);
  if (how == 0 || (how == 1 && end - at > MAX_DIGITS)) {
    at += ft_position(r, end - at);
    return change(b, at, (uint8_t)('0' + ft_below(r, 10)));
  }
  if (how == 2) {
    int same = strlen(known) == end - at && !memcmp(b->at + at, known, end - at);
    return !same && ft_replace(b, at, end - at, (const uint8_t *)known, strlen(known), limit);
  }
  int64_t value = 0;
  for (size_t i = at; i < end; i++) value = 10 * value + (b->at[i] - '0');
  int64_t by = 1 + (int64_t)ft_below(r, 35);
  value += ft_below(r, 2) ? by : -by;
  char words[24];
  int n = snprintf(words, sizeof words, "%lld", (long long)value);
  return ft_replace(b, at, end - at, (const uint8_t *)words, (size_t)n, limit);
}

/* --------------------------------------------------------------------- edits */

typedef enum {
  FLIP, RANDOM, PRINTABLE, ARITHMETIC, INTERESTING, NUMBER, DELETE, CLONE, COPY, EXCHANGE,
  INSERT_RANDOM, INSERT_PRINTABLE, INSERT_TOKEN, OVERWRITE_TOKEN,
} edit;

/* Each edit is drawn as often as it is listed. Those that need tokens are the last. */
static const uint8_t edits[] = {
    FLIP, FLIP, RANDOM, RANDOM, RANDOM, PRINTABLE, PRINTABLE, PRINTABLE,
    ARITHMETIC, ARITHMETIC, ARITHMETIC, INTERESTING, INTERESTING, NUMBER, NUMBER, NUMBER,
    DELETE, DELETE, DELETE, DELETE, CLONE, CLONE, CLONE, COPY, COPY, EXCHANGE, EXCHANGE,
    INSERT_RANDOM, INSERT_RANDOM, INSERT_PRINTABLE, INSERT_PRINTABLE,
    INSERT_TOKEN, INSERT_TOKEN, INSERT_TOKEN, INSERT_TOKEN, INSERT_TOKEN,
    OVERWRITE_TOKEN, OVERWRITE_TOKEN, OVERWRITE_TOKEN, OVERWRITE_TOKEN,
};
#define WITH_TOKENS 9

static uint8_t printable(ft_rng *r) { return (uint8_t)(32 + ft_below(r, 95)); }

static const uint8_t *token(const tokens *t, ft_rng *r, size_t *n) {
  uint32_t i = ft_below(r, (uint32_t)t->count);
  *n = (i + 1 < t->count ? t->at[i + 1] : t->n) - t->at[i];
  return t->bytes + t->at[i];
}

/* 0: the edit is impossible: the input would be too long, or unchanged. */
static int make_edit(ft_buffer *b, size_t limit, ft_rng *r, const tokens *t, edit what) {
  uint8_t bytes[4];
  const uint8_t *with;
  size_t n, at = ft_position(r, b->n);
  switch (what) {
    case FLIP:
      b->at[at] ^= (uint8_t)(1 << ft_below(r, 8));
      return 1;
    case RANDOM:
      return change(b, at, (uint8_t)ft_next(r));
    case PRINTABLE:
      return change(b, at, printable(r));
    case ARITHMETIC:
      arithmetic(b, r);
      return 1;
    case INTERESTING:
      return interest(b, r);
    case NUMBER:
      return renumber(b, limit, r);
    case DELETE:
      at = block(b, r, &n);
      return n < b->n && ft_replace(b, at, n, NULL, 0, limit);
    case CLONE:
      return clone(b, limit, r);
    case COPY:
      return copy(b, r);
    case EXCHANGE:
      return exchange(b, r);
    case INSERT_RANDOM:
      put(bytes, ft_next(r), sizeof bytes, 0);
      return insert(b, ft_position(r, b->n + 1), bytes, 1 + ft_below(r, sizeof bytes), limit);
    case INSERT_PRINTABLE:
      *bytes = printable(r);
      return insert(b, ft_position(r, b->n + 1), bytes, 1, limit);
    case INSERT_TOKEN:
      with = token(t, r, &n);
      return insert(b, ft_position(r, b->n + 1), with, n, limit);
    case OVERWRITE_TOKEN:
      with = token(t, r, &n);
      return overwrite(b, at, with, n);
  }
  return 0;
}

/* Make one edit. The input is not empty afterwards. 0: it is unchanged. */
static int havoc(ft_buffer *b, size_t limit, ft_rng *r, const tokens *t) {
  uint32_t there = COUNT(edits) - (t->count ? 0 : WITH_TOKENS);
  uint8_t first = printable(r);
  if (!b->n) return ft_set(b, &first, 1);
  for (int tries = 0; tries < 4; tries++)
    if (make_edit(b, limit, r, t, edits[ft_below(r, there)])) return 1;
  return make_edit(b, limit, r, t, FLIP);
}
