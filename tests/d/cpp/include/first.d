#include <time.h>
#include <shapes.h>
#include <sys/epoll.h>
struct point here;
BEGIN { printf("%d %d\n", sizeof (here), EPOLLIN); }
