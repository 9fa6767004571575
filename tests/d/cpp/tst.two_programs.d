/*
 * Two programs in one session may include the same headers.
 * @flags: -qC -I . -s include/first.d
 */
#include <time.h>
#include "shapes.h"
#include <sys/epoll.h>
struct point there;
BEGIN { there.y = 2; printf("%d %d\n", there.y, EPOLLIN); exit(0); }
