/* Drives text.c as afl-fuzz does, and worse: odd buffers and limits, calls in any order, starts
   and ends, and files that anybody may have written to. Compiled with sanitizers:
   harness DIRECTORY ROUNDS SEED. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *afl_custom_init(void *, unsigned);
void afl_custom_deinit(void *);
size_t afl_custom_fuzz(void *, uint8_t *, size_t, uint8_t **, uint8_t *, size_t, size_t);
const char *afl_custom_describe(void *, size_t);
uint8_t afl_custom_queue_get(void *, const uint8_t *);
uint8_t afl_custom_queue_new_entry(void *, const uint8_t *, const uint8_t *);

static uint64_t state;
static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (uint32_t)((state >> 33) % n);
}

static const char *const pieces[] = {
    "int f(int a, int b) {\n", "  if (a == 0 && b > 1) { return a + 10 * b; }\n", ";", "}", "{",
    "(", ")", "(x, y, z)", "while (!done)", "\n", "\n\n", " ", "a b c ", "++", "--", "0", "1",
    "123456789012345678901234567890", "\0\0", "\"", "'", "\xff\xfe", "/* x */", "=", "!", ",",
};

/* What the pool of the test knows of. */
static const char *const known[] = {"int f(int a, int b) {\n", "a b c d e f g h"};

static uint8_t *input(size_t *n) {
  static const uint32_t sizes[] = {0, 1, 2, 8, 60, 500, 5000, 70000};
  if (!below(3)) {
    const char *text = known[below(2)];
    *n = strlen(text);
    return memcpy(malloc(*n), text, *n);
  }
  *n = below(1 + sizes[below(8)]);
  uint8_t *data = malloc(*n ? *n : 1); /* exactly: beyond it is a sanitizer's */
  int binary = !below(4);
  for (size_t at = 0; at < *n;) {
    const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
    size_t length = binary ? 1 : strlen(piece) ? strlen(piece) : 2;
    for (size_t i = 0; i < length && at < *n; i++)
      data[at++] = binary ? (uint8_t)below(256) : (uint8_t)piece[i];
  }
  return data;
}

static const char *const lines[] = {
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":0.2,\"text\":0.5,\"splice\":0.3}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":0,\"text\":0,\"splice\":1,"
    "\"adaptive\":true}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":1e999,\"text\":-1e999,\"splice\":nan}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":\"1\",\"text\":[0,{}],\"splice\":1}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":1.0000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000,\"text\":0,\"splice\":0}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\",\"havoc\":-1,\"text\":1,\"splice\":1}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"mixture\"}}\n", "{\"id\":\"%u\",\"command\":{\"c\":\"skip\"",
    "{\"id\":\"%u\",\"command\":{\"c\":\"weigh-mutator\",\"mutator\":\"swap-args\",\"weight\":7.5}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"weigh-mutator\",\"mutator\":7,\"weight\":1e999}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"weigh-mutator\",\"mutator\":\"template\",\"weight\":0}}\n",
    "{\"id\":\"%u\",\"command\":{\"c\":\"weigh-mutator\"}}\n",
    "kw@1 = \"a\\x4f\\\\b\"\n", "\"\\x\"\n", "\"\\x4\"\n", "\"\\\"\n",
    "\n", "{", "]]]}}}\n", "{\"k\":\"command_applied\",\"id\":\"%u\"}\n", "\\\"\n", "%u\n",
};

/* Somebody writes to a file, or puts something else in its place. */
static void spoil(const char *path, int json) {
  char line[400];
  uint8_t noise[700];
  int fd;
  switch (below(8)) {
    case 0:
      if (truncate(path, (off_t)below(9000))) return;
      return;
    case 1:
      unlink(path);
      if (!below(2)) (void)!symlink("elsewhere", path); /* truncate() follows it: no file of note */
      else if (!below(2)) mkfifo(path, 0600);
      return;
    case 2:
      if (remove(path) == 0 && !below(3)) mkdir(path, 0700);
      return;
    case 3:
      for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)below(256);
      fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW, 0600);
      if (fd < 0) return;
      (void)!pwrite(fd, noise, 1 + below(sizeof noise), (off_t)below(5000));
      close(fd);
      return;
    default:
      if (!json) { /* a bit or two of what is there */
        fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW);
        off_t at = (off_t)below(5000);
        if (fd < 0) return;
        if (pread(fd, noise, 1, at) == 1) {
          *noise ^= (uint8_t)(1 << below(8));
          (void)!pwrite(fd, noise, 1, at);
        }
        close(fd);
        return;
      }
      fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOFOLLOW, 0600);
      if (fd < 0) return;
      int n = snprintf(line, sizeof line, lines[below(sizeof lines / sizeof *lines)], below(1000));
      (void)!write(fd, line, (size_t)n);
      close(fd);
  }
}

/* The pool that Python has made, again whole. */
static void mend(const char *good, const char *path) {
  static uint8_t bytes[1 << 20];
  char fresh[4096];
  int fd = open(good, O_RDONLY);
  if (fd < 0) return;
  ssize_t n = read(fd, bytes, sizeof bytes);
  close(fd);
  snprintf(fresh, sizeof fresh, "%s.fresh", path);
  fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  (void)!write(fd, bytes, (size_t)(n > 0 ? n : 0));
  close(fd);
  (void)!rename(fresh, path);
}

static void *start(char paths[5][300]) {
  static const char *const settings[] = {
      "", "0,1,0,0", "1,0,0,1", "0,0,1,0", "0.2,0.3,0.5,1", "0.25,0.75,0,0", "nan,inf,-1,7",
      "1,1,1,1", "x", "0.1",
  };
  static const char *const without[] = {
      "", "swap-args", "swap-args,,x,insert-not,", ",", "eq-to-ne,ne-to-eq",
  };
  static const char *const names[] = {"FUZZTUI_CONTROL", "FUZZTUI_EVENTS", "FUZZTUI_TEXT_BLOCK",
                                      "FUZZTUI_TEXT_POOL", "FUZZTUI_TEXT_TOKENS"};
  for (int i = 0; i < 5; i++) setenv(names[i], below(8) ? paths[i] : "", 1);
  setenv("FUZZTUI_TEXT", settings[below(10)], 1);
  setenv("FUZZTUI_TEXT_WITHOUT", without[below(5)], 1);
  if (below(4)) unsetenv("AFL_SHA1_FILENAMES");
  else setenv("AFL_SHA1_FILENAMES", "1", 1);
  return afl_custom_init(NULL, below(1u << 31));
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  static const char *const files[] = {"control.jsonl", "events.jsonl", ".text", ".pool", "dict"};
  char paths[5][300], good[300];
  for (int i = 0; i < 5; i++) snprintf(paths[i], sizeof *paths, "%s/%s", argv[1], files[i]);
  snprintf(good, sizeof good, "%s/pool.good", argv[1]);
  state = strtoull(argv[3], NULL, 10);
  volatile unsigned sum = 0;
  void *m = start(paths);
  size_t n, more_n;
  uint8_t *data = input(&n), *more = input(&more_n);
  for (long rounds = strtol(argv[2], NULL, 10); rounds > 0; rounds--) {
    uint8_t *out = NULL;
    size_t limit = below(3) ? 1 << 20 : below(4) ? n + below(50) : below(20);
    size_t made = afl_custom_fuzz(m, data, n, &out, below(9) ? more : NULL, more_n, limit);
    if (!out || !made || made > (limit ? limit : 1)) {
      fprintf(stderr, "made %zu of %zu, limit %zu\n", made, n, limit);
      return 1;
    }
    for (size_t i = 0; i < made; i++) sum += out[i];
    if (!below(50)) {
      size_t most = below(2) ? below(300) : 180;
      const char *words = afl_custom_describe(m, most);
      if (words && (strlen(words) > most || strspn(words, "abcdefghijklmnopqrstuvwxyz0123456789-"
                                                          "+,:") != strlen(words))) {
        fprintf(stderr, "described as %s\n", words);
        return 1;
      }
    }
    if (!below(80)) afl_custom_queue_new_entry(m, (const uint8_t *)"x", below(2) ? NULL : data);
    if (!below(20)) {
      free(data);
      data = input(&n);
      if (below(9)) afl_custom_queue_get(m, (const uint8_t *)"out/queue/id:000001,x");
    }
    if (!below(20)) free(more), more = input(&more_n);
    if (!below(10)) {
      int which = (int)below(5);
      spoil(paths[which], which < 2 || which == 4);
    }
    if (!below(60)) mend(good, paths[3]);
    if (!below(200)) {
      afl_custom_deinit(m);
      m = start(paths);
    }
  }
  afl_custom_deinit(m);
  free(data);
  free(more);
  return 0;
}
