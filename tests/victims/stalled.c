// SPDX-License-Identifier: MIT
// A process that stays in execve(2), because no process serves the userfaultfd of
// argv[0]. Prints "ready", or "none" if userfaultfd is not available.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    int faults = (int)syscall(SYS_userfaultfd, 0);
    char* const args[] = {page, NULL};

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0) {
        puts("none");
        return 0;
    }
    puts("ready");
    fflush(stdout);
    execv("/bin/true", args);
    return 1;
}
