/* A limit of executions per second (FUZZTUI_MAX_SPEED): a custom mutator that waits.

   afl-fuzz calls post_process before it gives any input to the target, also in calibration, trimming
   and CmpLog. The time limit of an execution begins after that, so no wait counts as a hang. A
   signal ends a wait. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SECOND 1000000000LL
#define LATE (SECOND / 10) /* what a slow execution may have lost and later ones make up for */

static int64_t period, due;

void *afl_custom_init(void *afl, unsigned seed) {
  (void)afl, (void)seed;
  const char *most = getenv("FUZZTUI_MAX_SPEED");
  long speed = most ? atol(most) : 0;
  period = speed > 0 ? SECOND / speed : 0;
  return &period;
}

void afl_custom_deinit(void *data) { (void)data; }

size_t afl_custom_post_process(void *data, uint8_t *buf, size_t size, uint8_t **out) {
  (void)data;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t at = now.tv_sec * SECOND + now.tv_nsec, wait = due - at;
  if (wait > 0) nanosleep(&(struct timespec){wait / SECOND, wait % SECOND}, NULL);
  due = (due > at - LATE ? due : at - LATE) + period;
  *out = buf;
  return size;
}

/* It makes no input; without these two afl-fuzz prints warnings. */
uint32_t afl_custom_fuzz_count(void *data, const uint8_t *buf, size_t size) {
  (void)data, (void)buf, (void)size;
  return 0;
}

size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *more,
                       size_t more_size, size_t max_size) {
  (void)data, (void)size, (void)more, (void)more_size, (void)max_size;
  *out = buf;
  return 0;
}
