// SPDX-License-Identifier: MIT
// A plugin that the victim `replacer` loads. The plugin is built twice, with different
// values of ROOM, which determines the size of its frame. So the same text address
// belongs to frames of different sizes. The frame contains only zeros (and one 1),
// which are not return addresses.
long plugin_call(long (*callback)(long), long n)
{
    volatile char room[ROOM] = {0};

    room[n & 63] = 1;
    return callback(n) + room[n & 63];
}
