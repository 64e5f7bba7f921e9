void failed(const char *, const char *, int);
#undef assert
#define assert(x) ((x) ? (void)0 : failed(#x, __FILE__, __LINE__))
