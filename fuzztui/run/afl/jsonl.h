/* Files of JSON lines: reading lines that other processes append, appending lines.

   A process that appends may die or run out of disk in the middle of a line, and the target runs
   as the same user and may put anything in a file's place. */

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define MAX_SAID 1000      /* bytes of a line that is written */
#define MAX_OWED (1 << 20) /* bytes of lines that wait for space on the disk */
#define MAX_ID 200         /* bytes of a command's id */

typedef struct {
  const char *at;
  size_t n;
} text;

typedef struct { /* a file to which other processes append lines */
  char *path;
  off_t at;
  int endless; /* inside a line that is longer than the buffer, which is ignored */
  char buffer[1 << 16];
} inbox;

typedef struct { /* a file to which this process appends lines */
  char *path;
  char *owed; /* complete lines that are not written yet */
  size_t n, room;
} outbox;

/* Make room for `need` elements. 0: no memory; the caller then drops a command, and fuzzing
   continues. */
static int grow(void **array, size_t *room, size_t need, size_t size) {
  if (need <= *room) return 1;
  size_t more = need + need / 2 + 16;
  char *fresh = realloc(*array, more * size);
  if (!fresh) return 0;
  memset(fresh + *room * size, 0, (more - *room) * size);
  *array = fresh;
  *room = more;
  return 1;
}

/* Open a regular file, or return -1. The target runs as the same user and may have put a FIFO or a
   symbolic link there: opening must not block, and follows no link. */
static int open_regular(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  struct stat st;
  if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* Call `take` with each complete line after `file->at`. An incomplete last line is read later. */
static void read_lines(inbox *file, void (*take)(void *, text), void *whom) {
  int fd = open_regular(file->path, O_RDONLY);
  if (fd < 0) return;
  for (;;) {
    ssize_t n = pread(fd, file->buffer, sizeof file->buffer, file->at);
    if (n <= 0) break;
    char *start = file->buffer, *end = start + n, *newline;
    while (start < end && (newline = memchr(start, '\n', (size_t)(end - start)))) {
      if (!file->endless) take(whom, (text){start, (size_t)(newline - start)});
      file->endless = 0;
      start = newline + 1;
    }
    if (start == file->buffer && (size_t)n == sizeof file->buffer) {
      file->endless = 1;
      start = end;
    }
    if (start == file->buffer) break;
    file->at += start - file->buffer;
  }
  close(fd);
}

/* Write the lines that wait, each by one write(). If the disk is full, the rest waits. */
static void pay(outbox *file) {
  if (!file->n) return;
  int fd = open_regular(file->path, O_RDWR | O_APPEND | O_CREAT);
  if (fd < 0) return;
  char last = '\n';
  off_t size = lseek(fd, 0, SEEK_END);
  if (size > 0 && pread(fd, &last, 1, size - 1) != 1) last = 0;
  while (file->n) {
    /* End a line that another process, or an earlier write(), has left incomplete. */
    if (last != '\n' && write(fd, "\n", 1) != 1) break;
    last = '\n';
    size_t n = (size_t)((char *)memchr(file->owed, '\n', file->n) + 1 - file->owed);
    ssize_t written = write(fd, file->owed, n);
    if (written != (ssize_t)n) break;
    file->n -= n;
    memmove(file->owed, file->owed + n, file->n);
  }
  close(fd);
}

/* Append a line to those that wait for pay(). A line that is too long is dropped. */
__attribute__((format(printf, 2, 3))) static void say(outbox *file, const char *format, ...) {
  char line[MAX_SAID];
  va_list values;
  va_start(values, format);
  int n = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  if (n < 0 || (size_t)n >= sizeof line - 1) return;
  line[n++] = '\n';
  if (file->n + (size_t)n > MAX_OWED) return;
  if (!grow((void **)&file->owed, &file->room, file->n + (size_t)n, 1)) return;
  memcpy(file->owed + file->n, line, (size_t)n);
  file->n += (size_t)n;
}

/* -------------------------------------------------------------------- JSON */

static const char *blank(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
  return p;
}

/* The end of the value at p. NULL: it has no end, as in a torn line, which must have no effect. */
static const char *span(const char *p, const char *end) {
  int depth = 0;
  while (p < end) {
    char c = *p++;
    if (c == '"') {
      while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
      if (p >= end) return NULL;
      p++;
    } else if (c == '{' || c == '[') {
      depth++;
    } else if (c == '}' || c == ']') {
      depth--;
    } else if (depth == 0) {
      while (p < end && !strchr(",}] \t\r", *p)) p++;
    }
    if (depth <= 0) return depth ? NULL : p;
  }
  return NULL;
}

/* The value of `key` in an object, as JSON (strings with their quotes). */
static text member(text object, const char *key) {
  const char *p = object.at, *end = p + object.n;
  const text nothing = {"", 0};
  if (p == end || *p++ != '{') return nothing;
  for (;;) {
    const char *name = blank(p, end), *after = span(name, end);
    if (!after || *name != '"') return nothing;
    p = blank(after, end);
    if (p == end || *p++ != ':') return nothing;
    const char *value = blank(p, end), *stop = span(value, end);
    if (!stop) return nothing;
    size_t n = (size_t)(after - name) - 2;
    if (n == strlen(key) && !memcmp(name + 1, key, n))
      return (text){value, (size_t)(stop - value)};
    p = blank(stop, end);
    if (p == end || *p++ != ',') return nothing;
  }
}

/* The value of a line, without blanks around it; empty if the line is not exactly one value. */
static text whole(text line) {
  const char *end = line.at + line.n, *start = blank(line.at, end), *stop = span(start, end);
  if (!stop || blank(stop, end) != end) return (text){"", 0};
  return (text){start, (size_t)(stop - start)};
}

static int is(text value, const char *word) {
  return value.n == strlen(word) && !memcmp(value.at, word, value.n);
}

/* A number of up to seven digits at the start of a text, -1 if there is none. */
static inline long number(const char *p, size_t n) {
  long value = 0;
  size_t digits = 0;
  for (; digits < n && p[digits] >= '0' && p[digits] <= '9'; digits++) {
    if (digits == 7) return -1; /* longer than any queue, but a file can contain any number */
    value = 10 * value + (p[digits] - '0');
  }
  return digits ? value : -1;
}

/* ---------------------------------------------------------------- commands */

/* A command's id without its quotes. It stays escaped: the answer repeats it as it is. */
static text id_of(text object) {
  text id = member(object, "id");
  if (id.n < 2 || id.n > MAX_ID || *id.at != '"') return (text){"", 0};
  return (text){id.at + 1, id.n - 2};
}

typedef struct { /* hashes of texts */
  uint64_t *hash;
  size_t n, room;
} set;

static uint64_t hash(text value) {
  uint64_t h = 14695981039346656037ULL; /* FNV-1a */
  for (size_t i = 0; i < value.n; i++) h = (h ^ (uint8_t)value.at[i]) * 1099511628211ULL;
  return h;
}

static int has(const set *all, uint64_t h) {
  for (size_t i = all->n; i-- > 0;)
    if (all->hash[i] == h) return 1;
  return 0;
}

static void add(set *all, uint64_t h) {
  if (!has(all, h) && grow((void **)&all->hash, &all->room, all->n + 1, sizeof h))
    all->hash[all->n++] = h;
}
