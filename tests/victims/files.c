// SPDX-License-Identifier: MIT
// Calls look(WHAT, FD) for each kind of file, with open and closed descriptors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noinline)) void look(const char* what, long fd)
{
    __asm__ volatile("" ::"r"(what), "r"(fd) : "memory");
}

static void must(int good)
{
    if (!good) {
        perror("files");
        exit(1);
    }
}

// Gives this thread its own descriptor table. Then opens another file in this table, at
// the same descriptor number.
static void* alone(void* number)
{
    int fd = *(int*)number;
    must(unshare(CLONE_FILES) == 0);
    int other = open("/proc/self/maps", O_RDONLY);
    must(dup2(other, fd) == fd);
    look("of a thread", fd);
    return NULL;
}

int main(void)
{
    char name[] = "/tmp/files.XXXXXX";
    char text[8];
    must(mkdtemp(name) != NULL && chdir(name) == 0);

    int fd = open("a file", O_RDWR | O_CREAT | O_EXCL | O_TRUNC, 0600);
    must(fd >= 0 && write(fd, "hello", 5) == 5);
    look("written", fd);
    must(lseek(fd, 1, SEEK_SET) == 1);
    look("seeked", fd);
    must(read(fd, text, 2) == 2);
    look("read", fd);
    must(lseek(fd, 5000000000, SEEK_SET) == 5000000000);
    look("far", fd);
    must(rename("a file", "another") == 0);
    look("renamed", fd);
    must(unlink("another") == 0);
    look("deleted", fd);
    pthread_t thread;
    must(pthread_create(&thread, NULL, alone, &fd) == 0);
    must(pthread_join(thread, NULL) == 0);
    look("of the process", fd);
    look("as int", (1L << 32) | fd);
    close(fd);
    look("closed", fd);

    look("log", open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    look("directory", open(".", O_RDONLY | O_DIRECTORY));
    look("root", open("/", O_PATH));
    must(unlink("log") == 0 && rmdir(name) == 0);

    int ends[2];
    must(pipe2(ends, O_NONBLOCK) == 0);
    look("pipe", ends[0]);
    look("pipe", ends[1]);
    look("socket", socket(AF_UNIX, SOCK_STREAM, 0));
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    look("epoll", epoll);
    look("memory", memfd_create("some", 0));
    look("proc", open("/proc/self/status", O_RDONLY));
    look("null", open("/dev/null", O_RDWR));
    look("negative", -1);
    look("huge", 0x7fffffff);
    return 0;
}
