/* The callbacks of clang's SanitizerCoverage, for extension modules in CPython.

   An extension that was compiled with -fsanitize-coverage calls these functions when it is loaded, so
   this library is loaded before it, and globally. Each shared object has an array of counters, one for
   each edge; counters.py reads them after each trial. Only trace-pc-guard needs counters of ours:
   a guard contains the number of its counter.

   https://clang.llvm.org/docs/SanitizerCoverage.html */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_OBJECTS 256
#define MAX_GUARDS (1 << 24)

typedef struct {
  const char *file; /* of the shared object */
  uintptr_t begin;  /* its address */
  uint8_t *counters;
  size_t n;
  const uintptr_t *pcs; /* pairs of an address and flags; NULL: compiled without pc-table */
} object;

object ft_objects[MAX_OBJECTS];
size_t ft_count;

/* Guard 0 is that of objects for which there was no room. Pages that are not written need no memory. */
static uint8_t guarded[MAX_GUARDS];
static size_t guards = 1;

static void add(void *in, uint8_t *counters, size_t n) {
  Dl_info info;
  if (!n || ft_count == MAX_OBJECTS || !dladdr(in, &info)) return;
  for (size_t i = 0; i < ft_count; i++)
    if (ft_objects[i].counters == counters) return;
  ft_objects[ft_count++] = (object){info.dli_fname, (uintptr_t)info.dli_fbase, counters, n, NULL};
}

void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end) {
  add(begin, begin, (size_t)(end - begin));
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *begin, uint32_t *end) {
  size_t n = (size_t)(end - begin);
  if (!n || *begin || n > MAX_GUARDS - guards) return; /* called again, or no room */
  add(begin, guarded + guards, n);
  while (begin < end) *begin++ = (uint32_t)guards++;
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
  uint8_t *counter = guarded + *guard;
  *counter += *counter != UINT8_MAX;
}

/* Called after the counters of the same object were announced. */
void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end) {
  Dl_info info;
  if (begin == end || !dladdr(begin, &info)) return;
  for (size_t i = 0; i < ft_count; i++)
    if (ft_objects[i].begin == (uintptr_t)info.dli_fbase &&
        2 * ft_objects[i].n == (size_t)(end - begin))
      ft_objects[i].pcs = begin;
}

/* What -fsanitize=fuzzer-no-link, with which atheris' users compile, adds: not used here. */
#define UNUSED(name) \
  void __sanitizer_cov_trace_##name(void) {}
UNUSED(cmp1) UNUSED(cmp2) UNUSED(cmp4) UNUSED(cmp8) UNUSED(const_cmp1) UNUSED(const_cmp2)
UNUSED(const_cmp4) UNUSED(const_cmp8) UNUSED(switch) UNUSED(div4) UNUSED(div8) UNUSED(gep)
UNUSED(pc_indir)
__thread uintptr_t __sancov_lowest_stack __attribute__((tls_model("initial-exec")));

/* Write 1, or with `counting` its count, for each counter that was hit and is not `known`; else 0.
   Returns whether any was. Eight counters at a time, because a trial hits few of them. */
int ft_read(const uint8_t *counters, size_t n, const uint8_t *known, uint8_t *found, int counting) {
  int any = 0;
  for (size_t at = 0; at < n; at += 8) {
    size_t end = n - at < 8 ? n : at + 8;
    uint64_t hits = 1;
    if (end == at + 8) memcpy(&hits, counters + at, 8);
    if (!hits) {
      memset(found + at, 0, 8);
      continue;
    }
    for (size_t i = at; i < end; i++) {
      found[i] = known[i] || !counters[i] ? 0 : counting ? counters[i] : 1;
      any |= found[i];
    }
  }
  return any != 0;
}

static int trace = -1;
static struct sigaction before[NSIG];

/* Write the innermost place in an object with counters; then the earlier handler ends the process. */
static void crash(int number) {
  void *frames[64];
  Dl_info info;
  for (int i = 0, n = backtrace(frames, 64); i < n; i++)
    for (size_t o = 0; dladdr(frames[i], &info) && o < ft_count; o++)
      if (ft_objects[o].begin == (uintptr_t)info.dli_fbase) {
        const char *slash = strrchr(info.dli_fname, '/');
        dprintf(trace, "Compiled code: %s+0x%zx\n", slash ? slash + 1 : info.dli_fname,
                (size_t)frames[i] - (size_t)info.dli_fbase);
        i = n;
        break;
      }
  sigaction(number, &before[number], NULL);
  raise(number);
}

/* Have the place of a crash written to `fd`. */
void ft_trace(int fd) {
  static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
  struct sigaction action = {.sa_handler = crash, .sa_flags = SA_NODEFER | SA_ONSTACK};
  for (int i = 0; trace < 0 && i < 5; i++) sigaction(signals[i], &action, &before[signals[i]]);
  trace = fd;
  backtrace((void *[1]){0}, 1); /* loads what it needs, which a handler must not do */
}
