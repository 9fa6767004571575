// SPDX-License-Identifier: MIT
// datagrams N M [6]: sends itself N datagrams of M bytes by IPv4 or IPv6. Prints how
// many bytes it has received.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static char bytes[1 << 16];

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 10, n_bytes = argc > 2 ? atol(argv[2]) : 100;
    int family = argc > 3 && strcmp(argv[3], "6") == 0 ? AF_INET6 : AF_INET;
    struct sockaddr_storage here = {.ss_family = family};
    socklen_t len = sizeof here;
    if (family == AF_INET6)
        ((struct sockaddr_in6 *)&here)->sin6_addr = in6addr_loopback;
    else
        ((struct sockaddr_in *)&here)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(family, SOCK_DGRAM, 0);
    if (bind(fd, (struct sockaddr *)&here, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&here, &len) != 0)
        return 1;
    long got = 0;
    for (long i = 0; i < n; i++) {
        if (sendto(fd, bytes, n_bytes, 0, (struct sockaddr *)&here, len) != n_bytes)
            return 1;
        got += recv(fd, bytes, sizeof bytes, 0);
    }
    printf("%ld\n", got);
    return 0;
}
