// SPDX-License-Identifier: MIT
// direct FILE BYTES: reads BYTES bytes with one read() that bypasses the page cache.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    const size_t n_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    int fd = argc > 2 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
    void* buffer;
    if (fd < 0 || posix_memalign(&buffer, 4096, n_bytes) != 0) {
        perror("direct");
        return 1;
    }
    ssize_t n = read(fd, buffer, n_bytes);
    printf("read %zd\n", n);
    return n == (ssize_t)n_bytes ? 0 : 1;
}
