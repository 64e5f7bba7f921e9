/* What configure makes: all features, bytes as characters. */
#include "tre-config.h"
#define HAVE_ISASCII 1
#define HAVE_ISBLANK 1
#define TRE_REGEX_T_FIELD value
