// SPDX-License-Identifier: MIT
// A plugin of replacer. ROOM is the size of its frame. Two of these plugins are
// otherwise identical, so the same address of the text belongs to a frame of another
// size. The frame contains only zeros (and one 1), which are no return addresses.
long plugin_call(long (*callback)(long), long n)
{
    volatile char room[ROOM] = {0};

    room[n & 63] = 1;
    return callback(n) + room[n & 63];
}
