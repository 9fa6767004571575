/*
 * Headers of libc and Linux can be included.
 * Their definitions replace D's predefined ones.
 * @flags: -qC
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/types.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct stat file;
struct sockaddr_in address;

BEGIN
{
	file.st_size = 12;
	address.sin_port = 80;
	printf("%d %d %d %d\n", file.st_size, sizeof (struct stat), sizeof (pthread_mutex_t), sizeof (siginfo_t));
	printf("%d %d %x %d\n", address.sin_port, SIGKILL, S_IFDIR, EPOLLET > 0);
	exit(0);
}
