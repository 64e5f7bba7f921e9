/* The statistics block: settings and counters of a text mutator, in a file of 64 KiB.

   Only the mutator writes the file, from an image in its own memory, so that changes of the file
   by others cannot harm the mutator. block.py is the same in Python. */

#ifndef FT_BLOCK_H
#define FT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "mutate.h"

#define FT_BLOCK_SIZE 65536
#define FT_BLOCK_MAGIC "fuzztui text 1\n" /* 16 bytes with its NUL */
#define FT_BLOCK_ADAPTIVE 1

/* The mutators with counters and weights: those of the table, then these. */
enum { FT_TEMPLATE = FT_MUTATORS, FT_FRAGMENT, FT_BALANCED, FT_HAVOC, FT_ARMS };

typedef struct {
  uint64_t tried;   /* drawn */
  uint64_t applied; /* inputs that the mutator changed */
  uint64_t found;   /* trials with it that became a queue entry */
  uint64_t crashes; /* trials with it that were saved as crash or hang */
  uint64_t weight;  /* of 1,000,000 within its class */
  uint64_t window_applied, window_found;
  uint64_t wish; /* 1 more than the weight that a user has set, in thousandths; 0: none */
} ft_arm;

typedef struct {
  char magic[16];
  uint64_t sequence; /* odd while settings are being changed */
  uint64_t flags;
  double havoc, text, splice; /* add to 1 */
  uint64_t trials;            /* inputs made since the directory was created */
  uint64_t arms;
  double wish[3]; /* the three as the user set them: the adaptive mode starts from them */
  /* Recent inputs with a step of each class (text, splice, havoc), and how many were kept. */
  uint32_t made[3], kept[3];
  uint8_t reserved[8];
  ft_arm arm[FT_ARMS];
} ft_block;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");
_Static_assert(sizeof(FT_BLOCK_MAGIC) == 16 && sizeof(ft_arm) == 64, "as block.py has it");
_Static_assert(offsetof(ft_block, sequence) == 16 && offsetof(ft_block, havoc) == 32 &&
                   offsetof(ft_block, trials) == 56 && offsetof(ft_block, arms) == 64 &&
                   offsetof(ft_block, wish) == 72 && offsetof(ft_block, made) == 96 &&
                   offsetof(ft_block, arm) == 128,
               "as block.py has it");
_Static_assert(sizeof(ft_block) <= FT_BLOCK_SIZE, "too many mutators");

#endif
