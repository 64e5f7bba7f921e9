int *__errno_location(void);
#define errno (*__errno_location())
#define ENOENT 2
#define EINVAL 22
