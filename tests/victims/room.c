// SPDX-License-Identifier: MIT
// A plugin of `replacer`, built with two values of ROOM, the size of its frame. The
// frame contains no return addresses.
long plugin_call(long (*callback)(long), long n)
{
    volatile char room[ROOM] = {0};

    room[n & 63] = 1;
    return callback(n) + room[n & 63];
}
