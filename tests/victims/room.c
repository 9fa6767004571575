// SPDX-License-Identifier: MIT
// A plugin of `replacer`. It is built with two values of ROOM, the size in bytes of an
// array on the stack. The array is cleared, so it contains no old return addresses.
long plugin_call(long (*callback)(long), long n)
{
    volatile char room[ROOM] = {0};

    room[n & 63] = 1;
    return callback(n) + room[n & 63];
}
